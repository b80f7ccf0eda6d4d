import { isDate, parseDateTime, toIso } from '../../content/moments.ts'

/** ISO 8601 or YAML: `2024-05-01 10:00:00 +0200`, where everything after the minutes is optional. */
const momentPattern =
  /^(\d{4}-\d{2}-\d{2})(?:T| +)(\d{1,2})(:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) *(?:Z|([+-]\d{2})(?::?(\d{2}))?)?$/i

/** Returns ISO text in UTC. A date means its midnight, and a time without a zone is UTC, as in YAML. */
export function readMoment(text: string): string | undefined {
  if (isDate(text)) return `${text}T00:00:00.000Z`
  const parts = momentPattern.exec(text)
  if (parts === null) return undefined
  const [, date, hour = '', minutes, zoneHour = '+00', zoneMinutes = '00'] = parts
  const ms = parseDateTime(`${date}T${hour.padStart(2, '0')}${minutes}${zoneHour}:${zoneMinutes}`)
  return ms === undefined ? undefined : toIso(ms)
}

/** Spreadsheets write TRUE and FALSE. */
export function readBoolean(text: string): boolean | undefined {
  const lower = text.toLowerCase()
  return lower === 'true' || lower === 'false' ? lower === 'true' : undefined
}

/** Only what prints the same again: "007" is a code rather than a 7. */
export function readInteger(text: string): number | undefined {
  const value = Number(text)
  return Number.isSafeInteger(value) && String(value) === text ? value : undefined
}
