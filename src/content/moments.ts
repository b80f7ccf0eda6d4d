const datePattern = /^\d{4}-\d{2}-\d{2}$/
const timePattern = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?$/
const dateTimePattern =
  /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/
const earliestMs = Date.parse('0001-01-01T00:00:00.000Z')
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

function isCalendarDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00.000Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

export const isDate = (text: string): boolean => datePattern.test(text) && isCalendarDate(text)

export const isTime = (text: string): boolean => timePattern.test(text)

/** Always with seconds and milliseconds, so that equal times are equal texts. */
export function canonicalTime(text: string): string {
  const withSeconds = text.length === 5 ? `${text}:00` : text
  return withSeconds.length === 8 ? `${withSeconds}.000` : withSeconds.padEnd(12, '0')
}

/** The milliseconds of an ISO 8601 date and time with offset, in the years 1 to 9999; undefined for anything else. */
export function parseDateTime(text: string): number | undefined {
  if (!dateTimePattern.test(text) || !isCalendarDate(text.slice(0, 10))) return undefined
  const ms = Date.parse(text)
  return ms >= earliestMs && ms <= latestMs ? ms : undefined
}

/** The same, or of a date: its first moment in UTC. */
export const momentOrDateMs = (text: string): number | undefined =>
  parseDateTime(isDate(text) ? `${text}T00:00:00Z` : text)

export const toIso = (ms: number): string => new Date(ms).toISOString()
