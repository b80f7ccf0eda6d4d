import { refuse } from './refusal.ts'

const longestUrl = 5000

/** An address of the web. The provider puts the id of a session where it finds this mark. */
export function checkUrl(param: string, url: string): void {
  const parsed = URL.parse(url.replaceAll(sessionMark, 'id'))
  if (url.length > longestUrl || !parsed || !['http:', 'https:'].includes(parsed.protocol))
    throw refuse(param, 'Not a valid URL', 'url_invalid')
}

export const sessionMark = '{CHECKOUT_SESSION_ID}'

const mostKeys = 50
const longestKey = 40
const longestValue = 500

/** Metadata after a change: what is not named stays, what is set to nothing goes, and nothing at all empties it. */
export function changeMetadata(
  before: Record<string, string>,
  given: Record<string, string | number | null> | '' | null | undefined,
  param = 'metadata',
): Record<string, string> {
  if (given === undefined) return before
  if (given === null || given === '') return {}
  const merged: Record<string, string | number | null> = { ...before, ...given }
  const after = Object.entries(merged).flatMap(([key, value]) =>
    value === null ? [] : [[key, String(value)] as const],
  )
  if (after.length > mostKeys) throw refuse(param, `Metadata can hold ${mostKeys} keys at most.`)
  for (const [key, value] of after) {
    if (key.length > longestKey)
      throw refuse(param, `Metadata keys can have ${longestKey} characters at most; this one is longer: ${key}`)
    if (value.length > longestValue)
      throw refuse(`${param}[${key}]`, `Metadata values can have ${longestValue} characters at most.`)
  }
  return Object.fromEntries(after)
}
