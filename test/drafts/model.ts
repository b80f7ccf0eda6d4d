/** A model of objects with working copies: plain values, and what is due is applied by hand. */
export type Value = Record<string, string>

interface Copy {
  base: Value
  value: Value
  dueMs?: number | undefined
}

export interface ModelObject {
  live: Value
  archived: boolean
  archiveMs?: number | undefined
  copy?: Copy | undefined
}

const names = (...values: Value[]): string[] => [...new Set(values.flatMap(Object.keys))]

/** The fields that both sides changed, to different values. */
export const contradictions = (base: Value, live: Value, draft: Value): string[] =>
  names(base, live, draft).filter(
    (name) => base[name] !== live[name] && base[name] !== draft[name] && live[name] !== draft[name],
  )

/** Field by field: the draft's, unless only the live value was changed. */
export function mergeValues(base: Value, live: Value, draft: Value): Value {
  const merged: Value = {}
  for (const name of names(base, live, draft)) {
    const value = draft[name] === base[name] ? live[name] : draft[name]
    if (value !== undefined) merged[name] = value
  }
  return merged
}

export function patchValue(value: Value, changes: Record<string, string | null>): Value {
  const patched = { ...value, ...changes }
  return Object.fromEntries(Object.entries(patched).filter((entry): entry is [string, string] => entry[1] !== null))
}

/** Applies everything due up to a time. */
export function settle(objects: Iterable<ModelObject>, nowMs: number): void {
  for (const object of objects) {
    const { copy, archiveMs } = object
    if (copy?.dueMs !== undefined && copy.dueMs <= nowMs) {
      object.live = mergeValues(copy.base, object.live, copy.value)
      object.copy = undefined
    }
    if (archiveMs !== undefined && archiveMs <= nowMs) object.archived = true
  }
}
