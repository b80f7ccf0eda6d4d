import { isRecord } from './schema.ts'

/** Returns the problems of the value at a path. */
export type Check = (path: string, value: unknown) => string[]

const maxKeyLengthShown = 60

/** The path of a member; a very long key is cut. */
export function memberPath(path: string, key: string): string {
  const isLong = key.length > maxKeyLengthShown
  return `${path}.${isLong ? `${key.slice(0, maxKeyLengthShown).toWellFormed()}…` : key}`
}

export const must =
  (rule: string, holds: (value: unknown) => boolean): Check =>
  (path, value) =>
    holds(value) ? [] : [`${path} must ${rule}`]

export const textThatMust = (rule: string, holds: (text: string) => boolean): Check =>
  must(rule, (value) => typeof value === 'string' && holds(value))

export const text = textThatMust('be a text', () => true)
export const flag = must('be true or false', (value) => typeof value === 'boolean')
export const count = must(
  'be a whole number from 0 on',
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
)

export function listOf(entry: Check, maxEntries = Number.POSITIVE_INFINITY): Check {
  return (path, value) => {
    if (!Array.isArray(value)) return [`${path} must be a list`]
    if (value.length > maxEntries) return [`${path} must have at most ${maxEntries} entries`]
    return value.flatMap((item, position) => entry(`${path}[${position}]`, item))
  }
}

/** An object with any keys, whose values all follow one rule. */
export function mapOf(member: Check): Check {
  return (path, value) => {
    if (!isRecord(value)) return [`${path} must be an object`]
    return Object.entries(value).flatMap(([key, item]) => member(memberPath(path, key), item))
  }
}

/** An object whose known members each follow a rule; others are not checked. */
export function objectOf(members: Readonly<Record<string, Check>>, required: readonly string[] = []): Check {
  return (path, value) => {
    if (!isRecord(value)) return [`${path} must be an object`]
    return Object.entries(members).flatMap(([key, check]) => {
      if (value[key] !== undefined) return check(`${path}.${key}`, value[key])
      return required.includes(key) ? [`${path}.${key} is required`] : []
    })
  }
}
