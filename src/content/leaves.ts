import { type Field, isRecord, isVariantMap, type LeafField, type Schema, schemaOf, schemaOfBlock } from './schema.ts'

/** A value without other values in it, and its field. */
export interface Leaf {
  /** `sections.2.image`: positions in lists, names of variants and fields. */
  path: string
  field: LeafField
  value: unknown
}

const all = (): boolean => true

/**
 * The values at the end of all paths into a field's value, in order; missing ones are left out. `enters` tells which fields to
 * look into, the given one included.
 */
export function* leavesOf(
  path: string,
  field: Field,
  value: unknown,
  enters: (field: Field) => boolean = all,
): Generator<Leaf> {
  if (value === undefined || value === null || !enters(field)) return
  if (field.type === 'list') {
    for (const [position, item] of itemsIn(value)) yield* leavesOf(`${path}.${position}`, field.of, item, enters)
  } else if (field.type === 'variant') {
    if (!isVariantMap(field, value)) return yield* leavesOf(path, field.of, value, enters)
    for (const [name, item] of Object.entries(value)) yield* leavesOf(`${path}.${name}`, field.of, item, enters)
  } else if (field.type === 'object') {
    yield* leavesInFields(path, schemaOf(field.fields), value, enters)
  } else if (field.type === 'blocks') {
    for (const [position, item] of itemsIn(value)) {
      const schema = isRecord(item) ? schemaOfBlock(field, item.type) : undefined
      if (schema) yield* leavesInFields(`${path}.${position}`, schema, item, enters)
    }
  } else {
    yield { path, field, value }
  }
}

function* leavesInFields(
  path: string,
  schema: Schema,
  value: unknown,
  enters: (field: Field) => boolean,
): Generator<Leaf> {
  if (!isRecord(value)) return
  // Not the schema's fields: a list may have thousands of objects with few of them.
  for (const [name, item] of Object.entries(value)) {
    const field = schema.get(name)
    if (field) yield* leavesOf(`${path}.${name}`, field, item, enters)
  }
}

const itemsIn = (value: unknown): Iterable<[number, unknown]> => (Array.isArray(value) ? value.entries() : [])

/** The same for a whole `objectValue`. */
export function* leavesIn(
  schema: Schema,
  objectValue: Record<string, unknown>,
  enters: (field: Field) => boolean = all,
): Generator<Leaf> {
  for (const [name, field] of schema) yield* leavesOf(name, field, objectValue[name], enters)
}
