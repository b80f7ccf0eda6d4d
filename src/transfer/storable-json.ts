import { isRecord } from '../content/schema.ts'
import { isStorableText } from '../content/validate.ts'

const maxDepth = 40

function problemOf(value: unknown): string | undefined {
  if (typeof value === 'string' && !isStorableText(value)) return 'holds a character that cannot be stored'
  // JSON reads 1e999 as infinity and writes that as null: it would be changed without a word.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'holds a number that cannot be stored'
  if (!isRecord(value)) return undefined
  if (Object.hasOwn(value, '__proto__')) return 'has the key __proto__, which cannot be used'
  return Object.keys(value).every(isStorableText) ? undefined : 'has a key with a character that cannot be stored'
}

/** Why parsed JSON of any shape cannot be stored; undefined when it can. Level by level: no depth exhausts the stack. */
export function storageProblem(value: unknown): string | undefined {
  let level = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return `is nested more than ${maxDepth} deep`
    for (const item of level) {
      const problem = problemOf(item)
      if (problem !== undefined) return problem
    }
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []))
  }
  return undefined
}
