import { isKeyOfGroup } from './media-keys.ts'
import { isMediaValue } from './media-uses.ts'
import { isRecord } from './schema.ts'
import { memberPath } from './shapes.ts'
import { isStorableText } from './texts.ts'

/** Rules for all of a site's settings, including those unknown to us. All values are parsed JSON. */

const maxDepth = 20
const maxCharacters = 200_000
export const limitsInWords = `At most ${maxCharacters} characters of JSON, nested at most ${maxDepth} deep.`
/** Names that reach prototypes in programs that read the settings. */
const dangerousKeys = ['__proto__', 'constructor', 'prototype']

const membersOf = (value: unknown): unknown[] =>
  typeof value === 'object' && value !== null ? Object.values(value) : []

/** Level by level, not by recursion: hostile nesting must not overflow the stack. */
function isDeeperThan(limit: number, value: unknown): boolean {
  let level = [value]
  for (let depth = 0; depth <= limit; depth++) level = level.flatMap(membersOf)
  return level.length > 0
}

/** Checked before anything walks the settings. */
export function limitProblem(settings: Record<string, unknown>): string | undefined {
  if (isDeeperThan(maxDepth, settings)) return `settings must be nested at most ${maxDepth} deep`
  const { length } = JSON.stringify(settings)
  return length > maxCharacters ? `settings must have at most ${maxCharacters} characters of JSON` : undefined
}

function mediaProblems(groupId: string, path: string, value: Record<string, unknown>): string[] {
  if (!isMediaValue(value)) return []
  const problems: string[] = []
  if (!isKeyOfGroup(groupId, value.key)) problems.push(`${path}.key does not belong to this group`)
  if (Object.hasOwn(value, 'currentFile')) problems.push(`${path}.currentFile is added on delivery: omit it`)
  return problems
}

function memberProblems(groupId: string, path: string, key: string, member: unknown): string[] {
  if (dangerousKeys.includes(key)) return [`${path} has the key ${key}, which cannot be used`]
  if (!isStorableText(key)) return [`${path} has a key with a character that cannot be stored`]
  return problemsAnywhere(groupId, memberPath(path, key), member)
}

/** Problems of a value and everything in it. `limitProblem` must have been checked. */
export function problemsAnywhere(groupId: string, path: string, value: unknown): string[] {
  if (typeof value === 'string')
    return isStorableText(value) ? [] : [`${path} contains a character that cannot be stored`]
  // JSON.parse reads 1e999 as Infinity, which JSON.stringify writes as null: a silent change.
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [`${path} is a number that cannot be stored`]
  if (Array.isArray(value)) {
    return value.flatMap((item, position) => problemsAnywhere(groupId, `${path}[${position}]`, item))
  }
  if (!isRecord(value)) return []
  const members = Object.entries(value)
  return [
    ...mediaProblems(groupId, path, value),
    ...members.flatMap(([key, member]) => memberProblems(groupId, path, key, member)),
  ]
}
