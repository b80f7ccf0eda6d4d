import type { Field, Fields, Schema } from './schema.ts'

/** The limits of a field, which a working copy may violate until it is published. */
const limits = ['required', 'minLength', 'maxLength', 'min', 'max', 'maxItems'] as const

function relaxField(field: Field): Field {
  const relaxed: Record<string, unknown> = { ...field }
  for (const limit of limits) delete relaxed[limit]
  // These are typed by hand, letter by letter.
  if (field.type === 'slug' || field.type === 'color') relaxed.type = 'text'
  if (field.type === 'list' || field.type === 'variant') relaxed.of = relaxField(field.of)
  if (field.type === 'object') relaxed.fields = relaxFields(field.fields)
  if (field.type === 'blocks')
    relaxed.blocks = Object.fromEntries(
      Object.entries(field.blocks).map(([name, block]) => [name, { ...block, fields: relaxFields(block.fields) }]),
    )
  return relaxed as unknown as Field
}

const relaxFields = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, relaxField(field)]))

/** The schema without its limits: an editor saves unfinished work, but no value of another type. */
export const relaxSchema = (schema: Schema): Schema =>
  new Map([...schema].map(([name, field]) => [name, relaxField(field)]))

type Value = Readonly<Record<string, unknown>>

/** The value that an edit began with, the live one, and the edited one. */
export interface ThreeValues {
  base: Value
  live: Value
  draft: Value
}

/** Names of fields by the sides that changed them since the base. Both made the same change: neither has it. */
export interface ThreeWayChanges {
  draft: string[]
  live: string[]
  both: string[]
}

export const isSameValue = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Whether no field differs; their order does not matter. */
export const haveSameFields = (one: Value, other: Value): boolean =>
  [...new Set([one, other].flatMap(Object.keys))].every((name) => isSameValue(one[name], other[name]))

/** Compares three values field by field. */
export function compareThreeWay({ base, live, draft }: ThreeValues): ThreeWayChanges {
  const changes: ThreeWayChanges = { draft: [], live: [], both: [] }
  for (const name of new Set([base, live, draft].flatMap(Object.keys))) {
    if (isSameValue(live[name], draft[name])) continue
    const isOfLive = !isSameValue(base[name], live[name])
    const isOfDraft = !isSameValue(base[name], draft[name])
    changes[isOfLive && isOfDraft ? 'both' : isOfDraft ? 'draft' : 'live'].push(name)
  }
  return changes
}

/** The draft with the fields that only the live value changed. */
export function mergeThreeWay(values: ThreeValues): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...values.draft }
  for (const name of compareThreeWay(values).live) {
    if (values.live[name] === undefined) delete merged[name]
    else merged[name] = values.live[name]
  }
  return merged
}
