import { isRecord } from './schema.ts'
import { isStorableText } from './texts.ts'

/** Rules for JSON of any shape. All values are parsed JSON. */

/** Names that reach prototypes in programs that read the JSON. */
const dangerousKeys = ['__proto__', 'constructor', 'prototype']

const membersOf = (value: unknown): unknown[] =>
  typeof value === 'object' && value !== null ? Object.values(value) : []

/** Level by level, not by recursion: hostile nesting must not overflow the stack. */
export function isDeeperThan(limit: number, value: unknown): boolean {
  let level = [value]
  for (let depth = 0; depth <= limit && level.length > 0; depth++) level = level.flatMap(membersOf)
  return level.length > 0
}

export function keyProblem(key: string): string | undefined {
  if (dangerousKeys.includes(key)) return `has the key ${key}, which cannot be used`
  return isStorableText(key) ? undefined : 'has a key with a character that cannot be stored'
}

/** Of a value without members. */
export function scalarProblem(value: unknown): string | undefined {
  if (typeof value === 'string') return isStorableText(value) ? undefined : 'contains a character that cannot be stored'
  // JSON.parse reads 1e999 as Infinity, which JSON.stringify writes as null: a silent change.
  return typeof value === 'number' && !Number.isFinite(value) ? 'is a number that cannot be stored' : undefined
}

/** The first problem in a value that `isDeeperThan` has found shallow enough. */
export function problemInJson(value: unknown): string | undefined {
  if (Array.isArray(value)) return firstProblem(value, problemInJson)
  if (!isRecord(value)) return scalarProblem(value)
  return firstProblem(Object.keys(value), keyProblem) ?? firstProblem(Object.values(value), problemInJson)
}

function firstProblem<Part>(parts: readonly Part[], problemOf: (part: Part) => string | undefined): string | undefined {
  for (const part of parts) {
    const problem = problemOf(part)
    if (problem !== undefined) return problem
  }
  return undefined
}
