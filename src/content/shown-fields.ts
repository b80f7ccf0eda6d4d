import { invalid } from '../core/errors.ts'
import { namesWhere, unusable, withoutPrefix } from './filters.ts'
import type { StoredObject } from './model.ts'
import type { Field, Schema } from './schema.ts'

/**
 * The fields named by `fields=title,slug`, with or without the prefix `objectValue.`; undefined for all. `_id` is always shown and
 * may be named, too.
 */
export function parseFields(
  schema: Schema,
  text: string | undefined,
  isUsable: (field: Field) => boolean = ({ private: isPrivate }) => !isPrivate,
): Schema | undefined {
  if (text === undefined) return undefined
  const shown = new Map<string, Field>()
  for (const name of text.split(',').map(withoutPrefix)) {
    if (name === '') throw invalid('fields is written <field>,<field>, separated by commas without spaces.')
    const field = schema.get(name)
    if (field && isUsable(field)) shown.set(name, field)
    else if (name !== '_id') throw unusable('fields', name, ['_id', ...namesWhere(schema, isUsable)])
  }
  return shown
}

/** An object with the shown fields of its value. */
export const onlyFields = (object: StoredObject, shown: Schema | undefined): StoredObject =>
  shown
    ? { ...object, value: Object.fromEntries(Object.entries(object.value).filter(([name]) => shown.has(name))) }
    : object
