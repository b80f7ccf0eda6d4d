/** Dates and times as they are written in content. */
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

export function isDate(text: string): boolean {
  return datePattern.test(text) && isCalendarDate(text)
}

export function isTime(text: string): boolean {
  return timePattern.test(text)
}

/** With seconds and milliseconds always written out, so that equal times are equal texts. */
export function canonicalTime(text: string): string {
  const withSeconds = text.length === 5 ? `${text}:00` : text
  return withSeconds.length === 8 ? `${withSeconds}.000` : withSeconds.padEnd(12, '0')
}

/** Milliseconds of an ISO 8601 moment with its offset, in the years 1 to 9999; undefined for anything else. */
export function parseDateTime(text: string): number | undefined {
  if (!dateTimePattern.test(text) || !isCalendarDate(text.slice(0, 10))) return undefined
  const ms = Date.parse(text)
  return ms >= earliestMs && ms <= latestMs ? ms : undefined
}

const dayMs = 86_400_000
const twoDigits = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))
const daysKept = 5000
const dayTexts = new Map<number, string>()

/** `2026-03-01T`. To write a date takes several times as long as to look it up, and content has few different ones. */
function dayText(day: number): string {
  let text = dayTexts.get(day)
  if (text === undefined) {
    text = new Date(day * dayMs).toISOString().slice(0, -'00:00:00.000Z'.length)
    if (dayTexts.size >= daysKept) dayTexts.clear()
    dayTexts.set(day, text)
  }
  return text
}

export function toIso(ms: number): string {
  const whole = Math.trunc(ms)
  const day = Math.floor(whole / dayMs)
  const rest = whole - day * dayMs
  const seconds = Math.floor(rest / 1000)
  const minutes = Math.floor(seconds / 60)
  const thousandths = rest % 1000
  const fraction = `${Math.floor(thousandths / 100)}${twoDigits[thousandths % 100]}`
  return `${dayText(day)}${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}.${fraction}Z`
}
