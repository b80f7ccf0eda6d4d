import { isDeepStrictEqual } from 'node:util'

/** What fields said before, where they now say something else. */
export function differences<Item extends object>(before: Item, after: Item): Partial<Item> | undefined {
  const keys = (Object.keys(before) as (keyof Item)[]).filter((key) => !isDeepStrictEqual(before[key], after[key]))
  if (keys.length === 0) return undefined
  return Object.assign({}, ...keys.map((key) => ({ [key]: before[key] })))
}
