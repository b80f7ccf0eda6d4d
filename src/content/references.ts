import {
  type Field,
  type Fields,
  innerFieldsOf,
  isNested,
  isOrHolds,
  isRecord,
  leafOf,
  type NestedField,
  type ReferenceField,
  type Schema,
  schemaOf,
  schemaOfBlock,
} from './schema.ts'

/** Where a reference field is in a value. */
interface Way {
  /** With positions: `sections.2.author`. */
  path: string
  /** As in the schema, and as `expand` names it: `sections.author`, or `sections.quote.author` in a block of the type `quote`. */
  name: string
  /** Whether it or a field around it is private. */
  isPrivate: boolean
}

/** A reference field in a value; inside a list of objects there are several. */
export interface ReferenceSlot extends Way {
  field: ReferenceField
  isList: boolean
  /** The ids in it, in their order. */
  ids: string[]
}

function* slotsInField(field: Field, value: unknown, around: Way): Generator<ReferenceSlot> {
  const way = field.private ? { ...around, isPrivate: true } : around
  const leaf = leafOf(field)
  if (leaf.type === 'reference') {
    const ids = [value].flat().filter((id) => typeof id === 'string')
    yield { field: leaf, ...way, isList: field.type === 'list', ids }
  } else if (!isNested(leaf)) return
  else if (!Array.isArray(value)) yield* slotsInside(leaf, value, way)
  else
    for (const [position, item] of value.entries())
      yield* slotsInside(leaf, item, { ...way, path: `${way.path}.${position}` })
}

/** In one object, or in one block. */
function* slotsInside(field: NestedField, value: unknown, { path, name, isPrivate }: Way): Generator<ReferenceSlot> {
  if (!isRecord(value)) return
  const schema = field.type === 'object' ? schemaOf(field.fields) : schemaOfBlock(field, value.type)
  const prefix = field.type === 'object' ? name : `${name}.${value.type}`
  for (const [inner, innerField] of schema ?? [])
    yield* slotsInField(innerField, value[inner], { path: `${path}.${inner}`, name: `${prefix}.${inner}`, isPrivate })
}

const isReference = (field: Field): field is ReferenceField => field.type === 'reference'

/** Every reference field of a value, also where it is empty, in the order of the schema. */
export function* referenceSlotsIn(schema: Schema, objectValue: Record<string, unknown>): Generator<ReferenceSlot> {
  for (const [name, field] of schema)
    if (isOrHolds(field, isReference))
      yield* slotsInField(field, objectValue[name], { path: name, name, isPrivate: false })
}

/** One reference of a value. */
export interface ReferenceUse {
  field: ReferenceField
  path: string
  id: string
  /** Equal for references of one field to one object. */
  key: string
}

export const referencesIn = (schema: Schema, objectValue: Record<string, unknown>): ReferenceUse[] =>
  [...referenceSlotsIn(schema, objectValue)].flatMap(({ field, path, name, isList, ids }) =>
    ids.map((id, position) => ({ field, path: isList ? `${path}.${position}` : path, id, key: `${name} ${id}` })),
  )

/** The ids of all objects that a value refers to. */
export const referencedIdsIn = (schema: Schema, objectValue: Record<string, unknown>): string[] => [
  ...new Set([...referenceSlotsIn(schema, objectValue)].flatMap(({ ids }) => ids)),
]

export const holdsReferences = (schema: Schema): boolean =>
  schema.values().some((field) => isOrHolds(field, isReference))

function* namedReferences(name: string, field: Field): Generator<[name: string, field: ReferenceField]> {
  if (field.private) return
  const leaf = leafOf(field)
  if (isReference(leaf)) yield [name, leaf]
  for (const [inner, innerField] of innerFieldsOf(field)) yield* namedReferences(`${name}.${inner}`, innerField)
}

/** The reference fields that are delivered, by name; in several schemas, one name may have several. */
export function referenceFieldsOf(schemas: readonly Schema[]): Map<string, ReferenceField[]> {
  const found = new Map<string, ReferenceField[]>()
  for (const [name, field] of schemas.flatMap((schema) => [...schema]))
    for (const [path, reference] of namedReferences(name, field)) {
      const known = found.get(path)
      if (known) known.push(reference)
      else found.set(path, [reference])
    }
  return found
}

/** The schema's fields that are or hold references. */
export const referringPartOf = (schema: Schema): Schema =>
  new Map([...schema].filter(([, field]) => isOrHolds(field, isReference)))

type TargetKind = 'collection' | 'integration'

const namesIn = ({ collections = [], products = [] }: ReferenceField, kind: TargetKind): readonly string[] =>
  kind === 'collection' ? collections : products

/** Whether its targets may be of any collection and integration. */
const refersToAny = ({ collections = [], products = [] }: ReferenceField): boolean =>
  collections.length + products.length === 0

/** Whether objects of a container may be targets. */
export const mayReferTo = (field: ReferenceField, { kind, name }: { kind: TargetKind; name: string }): boolean =>
  refersToAny(field) || namesIn(field, kind).includes(name)

/** The containers whose objects may be targets of one of these fields. */
export function targetsOf<Target extends { kind: TargetKind; name: string }>(
  fields: readonly ReferenceField[],
  containers: readonly Target[],
): Target[] {
  if (fields.some(refersToAny)) return [...containers]
  const names = {
    collection: new Set(fields.flatMap((field) => namesIn(field, 'collection'))),
    integration: new Set(fields.flatMap((field) => namesIn(field, 'integration'))),
  }
  return containers.filter(({ kind, name }) => names[kind].has(name))
}

/** The fields of a schema that name a collection or an integration as their target. */
export const fieldsReferringTo = (schema: Schema, kind: TargetKind, name: string): string[] =>
  [...schema]
    .filter(([, field]) => isOrHolds(field, (inner) => isReference(inner) && namesIn(inner, kind).includes(name)))
    .map(([fieldName]) => fieldName)

/** A schema after a collection that it names was renamed. */
export function withRenamedCollection(schema: Schema, from: string, to: string): Schema {
  const inFields = (fields: Fields): Fields =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, inField(field)]))
  function inField<Given extends Field>(field: Given): Given
  function inField(field: Field): Field {
    if (field.type === 'reference' && field.collections)
      return { ...field, collections: field.collections.map((name) => (name === from ? to : name)) }
    if (field.type === 'list') return { ...field, of: inField(field.of) }
    if (field.type === 'object') return { ...field, fields: inFields(field.fields) }
    if (field.type !== 'blocks') return field
    const blocks = Object.entries(field.blocks).map(([name, block]) => [
      name,
      { ...block, fields: inFields(block.fields) },
    ])
    return { ...field, blocks: Object.fromEntries(blocks) }
  }
  return new Map([...schema].map(([name, field]) => [name, inField(field)]))
}
