import type { Type as Library } from 'typebox'

/**
 * The few functions of `typebox` that we use, with its types: each creates a JSON Schema, from which TypeScript infers the
 * type of a valid value. Loading the library itself reads five hundred files, a fifth of the startup time.
 */
type Known = Pick<
  typeof Library,
  | 'Array' | 'Boolean' | 'Enum' | 'Integer' | 'Literal' | 'Null' | 'Object' | 'Omit' | 'Optional' | 'Partial' | 'Record'
  | 'String' | 'Union' | 'Unknown'
> // biome-ignore format: three lines read better

type Schema = Record<string | symbol, unknown>
type Fields = Record<string, Schema>

/** Marks a field as optional. A symbol, since it is not part of the JSON Schema, which lists the required fields instead. */
const isOptional = Symbol('optional')

function objectOf(properties: Fields, options: Schema = {}): Schema {
  const required = Object.keys(properties).filter((name) => !properties[name]?.[isOptional])
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

const optional = (schema: Schema): Schema => ({ ...schema, [isOptional]: true })
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
  // A value of any type needs no pattern, which would be matched against every name.
  Record: (_key: Schema, value: Schema, options?: Schema) => ({
    type: 'object',
    ...(Object.keys(value).length > 0 && { patternProperties: { '^.*$': value } }),
    ...options,
  }),
  String: simple('string'),
  Union: (anyOf: readonly Schema[], options?: Schema) => ({ anyOf, ...options }),
  Unknown: simple(),
}

export const Type = functions as unknown as Known
