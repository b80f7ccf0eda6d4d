/**
 * A schema defines the fields of a collection's objects or an integration's products: what is accepted on write, what is
 * delivered, and what a client may filter, sort and search by.
 */
export const mediaTypes = ['image', 'video', 'file'] as const
export const scalarTypes = [
  'text', 'longText', 'slug', 'integer', 'decimal', 'boolean', 'date', 'dateTime', 'time', 'enum', 'color',
] as const // biome-ignore format: one line reads better

export type MediaType = (typeof mediaTypes)[number]
export type ScalarType = (typeof scalarTypes)[number]

interface FieldRules {
  /** For editors only, as `help`, `placeholder`, `group` and `default`: never delivered. */
  label?: string
  help?: string
  placeholder?: string
  /** The heading under which a form shows the field. */
  group?: string
  /** What a form offers for a new object. The service never stores it by itself. */
  default?: unknown
  required?: boolean
  /** Never delivered, filtered, sorted or searched; a reviewer's e-mail, for example. */
  private?: boolean
  filterable?: boolean
  sortable?: boolean
  searchable?: boolean
  /** Whether no two objects of the container may have the same value. */
  unique?: boolean
}

export interface ScalarField extends FieldRules {
  type: ScalarType
  minLength?: number
  maxLength?: number
  min?: number
  max?: number
  /** The allowed values of an `enum`. */
  values?: string[]
}

export interface MediaField extends FieldRules {
  type: MediaType
}

/** The id of another object of the group. */
export interface ReferenceField extends FieldRules {
  type: 'reference'
  /** The names of the collections, and the types of the integrations, whose objects it may name. Without both: all. */
  collections?: string[]
  products?: string[]
}

/** Any JSON. It is stored and delivered as it is. */
export interface JsonField extends FieldRules {
  type: 'json'
}

export type Fields = Readonly<Record<string, Field>>

export interface ObjectField extends FieldRules {
  type: 'object'
  fields: Fields
}

/** A list whose items each name one of these types. */
export interface BlocksField extends FieldRules {
  type: 'blocks'
  blocks: Readonly<Record<string, BlockType>>
  maxItems?: number
}

export interface BlockType {
  label?: string
  fields: Fields
}

export interface ListField extends FieldRules {
  type: 'list'
  of: ScalarField | MediaField | ReferenceField | ObjectField
  maxItems?: number
}

/** One value for all, or a map of one value per variant. */
export interface VariantField extends FieldRules {
  type: 'variant'
  of: ScalarField | MediaField | VariantListField
}

type VariantListField = ListField & { of: ScalarField | MediaField }

/** A field without other fields in it. */
export type LeafField = ScalarField | MediaField | ReferenceField | JsonField
export type NestedField = ObjectField | BlocksField
export type Field = LeafField | NestedField | ListField | VariantField
export type Schema = ReadonlyMap<string, Field>

const filterable: ReadonlySet<string> = new Set([
  'text', 'slug', 'integer', 'decimal', 'boolean', 'date', 'dateTime', 'time', 'enum', 'color', 'reference',
]) // biome-ignore format: one line reads better
/** Types with more than a few values, of which an object has one. */
export const uniqueTypes: readonly string[] = [
  'text', 'slug', 'integer', 'decimal', 'date', 'dateTime', 'time', 'color', 'enum',
] // biome-ignore format: one line reads better
const searchable: ReadonlySet<string> = new Set(['text', 'longText', 'slug', 'enum'])

/** The field inside lists and variants. */
export const leafOf = (field: Field): LeafField | NestedField =>
  field.type === 'variant' || field.type === 'list' ? leafOf(field.of) : field

export const isMedia = (field: Field): field is MediaField => (mediaTypes as readonly string[]).includes(field.type)

export const isScalar = (field: Field): field is ScalarField => (scalarTypes as readonly string[]).includes(field.type)

/** Whether its values have fields of their own. */
export const isNested = (field: Field): field is NestedField => field.type === 'object' || field.type === 'blocks'

const schemas = new WeakMap<Fields, Schema>()

/** The fields in an object or a block. */
export function schemaOf(fields: Fields): Schema {
  const schema = schemas.get(fields) ?? new Map(Object.entries(fields))
  schemas.set(fields, schema)
  return schema
}

const blockSchemas = new WeakMap<BlockType, Schema>()

/** The fields of such a block, its type included; undefined if there is no such type. */
export function schemaOfBlock({ blocks }: BlocksField, type: unknown): Schema | undefined {
  const block = typeof type === 'string' && Object.hasOwn(blocks, type) ? blocks[type] : undefined
  if (typeof type !== 'string' || !block) return undefined
  const typeField: Field = { type: 'enum', values: [type], required: true, searchable: false }
  const schema = blockSchemas.get(block) ?? new Map([['type', typeField], ...Object.entries(block.fields)])
  blockSchemas.set(block, schema)
  return schema
}

/** The fields of one object or block. */
export const schemaOfValue = (field: Field, value: Record<string, unknown>): Schema | undefined => {
  if (field.type === 'object') return schemaOf(field.fields)
  return field.type === 'blocks' ? schemaOfBlock(field, value.type) : undefined
}

/** The fields directly in a field's values, each with its path: `title`, or `quote.author` in the block type `quote`. */
export function* innerFieldsOf(field: Field): Generator<[path: string, field: Field]> {
  const leaf = leafOf(field)
  if (leaf.type === 'object') yield* schemaOf(leaf.fields)
  if (leaf.type !== 'blocks') return
  for (const [type, { fields }] of Object.entries(leaf.blocks))
    for (const [name, inner] of schemaOf(fields)) yield [`${type}.${name}`, inner]
}

/** Whether this field, or one inside it, is such a field. */
export const isOrHolds = (field: Field, test: (field: Field) => boolean): boolean =>
  test(field) || test(leafOf(field)) || innerFieldsOf(field).some(([, inner]) => isOrHolds(inner, test))

/** Whether its text may be HTML that refers to files. */
export function mayHoldHtml(field: Field): boolean {
  const { type } = leafOf(field)
  return type === 'text' || type === 'longText'
}

export const isFilterable = (field: Field): boolean =>
  !field.private && (field.filterable ?? true) && filterable.has(leafOf(field).type)

export function isSortable(field: Field): boolean {
  const { type } = leafOf(field)
  const holdsList = field.type === 'list' || (field.type === 'variant' && field.of.type === 'list')
  return !field.private && !holdsList && (field.sortable ?? true) && type !== 'reference' && filterable.has(type)
}

/** Whether searches read the texts in it. */
export const isSearched = (field: Field): boolean => !field.private && (field.searchable ?? true)

export const isSearchable = (field: Field): boolean =>
  isSearched(field) &&
  (searchable.has(leafOf(field).type) || innerFieldsOf(field).some(([, inner]) => isSearchable(inner)))

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a variant field has one value per variant. A media value is an object too, recognised by its key. */
export const isVariantMap = (field: VariantField, value: unknown): value is Record<string, unknown> =>
  isRecord(value) && !(isMedia(field.of) && typeof value.key === 'string')
