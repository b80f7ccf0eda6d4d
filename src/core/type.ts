import type { Type as Library } from 'typebox'

/**
 * What `typebox` makes of a description: a JSON Schema, and by its types what TypeScript knows of a value that fits. These are the
 * few of its functions that we use, with its types. The library reads five hundred files for them, a fifth of the time of a start.
 */
type Known = Pick<
  typeof Library,
  | 'Array' | 'Boolean' | 'Enum' | 'Integer' | 'Literal' | 'Null' | 'Object' | 'Omit' | 'Optional' | 'Partial' | 'Record'
  | 'Refine' | 'String' | 'Union' | 'Unknown'
> // biome-ignore format: three lines read better

type Schema = Record<string, unknown>
type Fields = Record<string, Schema>

/** What is known of a schema besides its JSON: that it may be left out, and rules that are functions. */
const hiddenNames = ['~optional', '~refine'] as const
type Hidden = Partial<Record<(typeof hiddenNames)[number], unknown>>

function withHidden(schema: Schema, hidden: Hidden): Schema {
  const made = { ...schema }
  for (const name of hiddenNames) {
    const value = hidden[name] ?? schema[name]
    if (value !== undefined) Object.defineProperty(made, name, { value, enumerable: false })
  }
  return made
}

function objectOf(properties: Fields, options: Schema = {}): Schema {
  const required = Object.keys(properties).filter((name) => properties[name]?.['~optional'] === undefined)
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

const optional = (schema: Schema): Schema => withHidden(schema, { '~optional': true })
const fieldsOf = ({ properties }: Schema): [string, Schema][] => Object.entries(properties as Fields)
const simple =
  (type?: string) =>
  (options?: Schema): Schema => ({ ...(type !== undefined && { type }), ...options })

const functions = {
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Boolean: simple('boolean'),
  Enum: (values: readonly unknown[], options?: Schema) => ({ enum: values, ...options }),
  Integer: simple('integer'),
  Literal: (value: unknown, options?: Schema) => ({ type: typeof value, const: value, ...options }),
  Null: simple('null'),
  Object: objectOf,
  Omit: (schema: Schema, names: readonly string[]) =>
    objectOf(Object.fromEntries(fieldsOf(schema).filter(([name]) => !names.includes(name)))),
  Optional: optional,
  Partial: (schema: Schema) =>
    objectOf(Object.fromEntries(fieldsOf(schema).map(([name, field]) => [name, optional(field)]))),
  // To look at each of a thousand members takes long, and where they may be anything there is nothing to see.
  Record: (_key: Schema, value: Schema, options?: Schema) => ({
    type: 'object',
    ...(Object.keys(value).length > 0 && { patternProperties: { '^.*$': value } }),
    ...options,
  }),
  Refine: (schema: Schema, check: (value: unknown) => boolean, error: () => string) =>
    withHidden(schema, { '~refine': [...((schema['~refine'] as object[] | undefined) ?? []), { check, error }] }),
  String: simple('string'),
  Union: (anyOf: readonly Schema[], options?: Schema) => ({ anyOf, ...options }),
  Unknown: simple(),
}

export const Type = functions as unknown as Known
