import { readBoolean, readMoment } from './read-text.ts'

/** What a foreign file says about an object, beside the object's own fields. */
export interface Publishing {
  /** ISO, in UTC. */
  publishDate?: string
  draft?: boolean
  archived?: boolean
}

interface Taken {
  /** All fields but those that were taken out. */
  rest: Record<string, unknown>
  publishing: Publishing
  problems: string[]
}

/** `Draft: true` must not become a field, and the object public, for the sake of a capital letter. */
function findKey(value: Record<string, unknown>, names: readonly string[]): string | undefined {
  const keys = Object.keys(value)
  for (const name of names) {
    const key = keys.find((key) => key.toLowerCase() === name.toLowerCase())
    if (key !== undefined) return key
  }
  return undefined
}

const hasNoValue = (value: unknown): boolean => value === undefined || value === null || value === ''

function asMoment(value: unknown): string | undefined {
  return typeof value === 'string' ? readMoment(value.trim()) : undefined
}

function asBoolean(value: unknown): boolean | undefined {
  return typeof value === 'string' ? readBoolean(value.trim()) : value === true || value === false ? value : undefined
}

/** Enough of a value to find it. */
const show = (value: unknown): string => JSON.stringify(value).slice(0, 60).toWellFormed()

const aMoment = 'a date such as 2026-03-01 or a moment such as 2026-03-01T09:30:00Z'

/**
 * Takes the publish date, `draft` and `archived` out of the fields. The first of `dateKeys` that is there is the
 * publish date; the others stay fields, so that nothing an author wrote is lost.
 */
export function extractPublishing(fields: Record<string, unknown>, dateKeys: readonly string[]): Taken {
  const taken: Taken = { rest: fields, publishing: {}, problems: [] }

  const take = <Value>(names: readonly string[], read: (value: unknown) => Value | undefined, expected: string) => {
    const key = findKey(taken.rest, names)
    if (key === undefined) return undefined
    const { [key]: written, ...rest } = taken.rest
    taken.rest = rest
    if (hasNoValue(written)) return undefined
    const value = read(written)
    if (value === undefined) taken.problems.push(`${key} must be ${expected}, not ${show(written)}`)
    return value
  }

  const publishDate = take(dateKeys, asMoment, aMoment)
  const draft = take(['draft'], asBoolean, 'true or false')
  const archived = take(['archived'], asBoolean, 'true or false')
  if (publishDate !== undefined) taken.publishing.publishDate = publishDate
  if (draft !== undefined) taken.publishing.draft = draft
  if (archived !== undefined) taken.publishing.archived = archived
  return taken
}
