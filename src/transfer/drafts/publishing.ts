import { readBoolean, readMoment } from './read-text.ts'

/** The publishing state in a foreign file, apart from the object's own fields. */
export interface Publishing {
  /** ISO, in UTC. */
  publishDate?: string
  draft?: boolean
  archived?: boolean
  /** ISO, in UTC. */
  archiveDate?: string
}

interface Extracted {
  /** All other fields. */
  rest: Record<string, unknown>
  publishing: Publishing
  problems: string[]
}

/** Ignores case: `Draft: true` must not become a field and leave the object public. */
function findKey(value: Record<string, unknown>, names: readonly string[]): string | undefined {
  const keys = Object.keys(value)
  for (const name of names) {
    const key = keys.find((key) => key.toLowerCase() === name.toLowerCase())
    if (key !== undefined) return key
  }
  return undefined
}

const hasNoValue = (value: unknown): boolean => value === undefined || value === null || value === ''

const asMoment = (value: unknown): string | undefined =>
  typeof value === 'string' ? readMoment(value.trim()) : undefined

const asBoolean = (value: unknown): boolean | undefined =>
  typeof value === 'string' ? readBoolean(value.trim()) : value === true || value === false ? value : undefined

const show = (value: unknown): string => JSON.stringify(value).slice(0, 60).toWellFormed()

const aMoment = 'a date such as 2026-03-01 or a moment such as 2026-03-01T09:30:00Z'

/**
 * Extracts the publish date, `draft`, `archived` and the archive date from the fields. The first of `dateKeys` present is the publish date;
 * the others stay fields, so that nothing is lost.
 */
export function extractPublishing(fields: Record<string, unknown>, dateKeys: readonly string[]): Extracted {
  const extracted: Extracted = { rest: fields, publishing: {}, problems: [] }

  const take = <Value>(names: readonly string[], read: (value: unknown) => Value | undefined, expected: string) => {
    const key = findKey(extracted.rest, names)
    if (key === undefined) return undefined
    const { [key]: written, ...rest } = extracted.rest
    extracted.rest = rest
    if (hasNoValue(written)) return undefined
    const value = read(written)
    if (value === undefined) extracted.problems.push(`${key} must be ${expected}, not ${show(written)}`)
    return value
  }

  const publishDate = take(dateKeys, asMoment, aMoment)
  const draft = take(['draft'], asBoolean, 'true or false')
  const archived = take(['archived'], asBoolean, 'true or false')
  const archiveDate = take(['archiveDate'], asMoment, aMoment)
  if (publishDate !== undefined) extracted.publishing.publishDate = publishDate
  if (draft !== undefined) extracted.publishing.draft = draft
  if (archived !== undefined) extracted.publishing.archived = archived
  if (archiveDate !== undefined) extracted.publishing.archiveDate = archiveDate
  return extracted
}
