import { isPresentKey, rowsOfField } from './index-keys.ts'
import type { Field, Schema } from './schema.ts'

/** A value that no other object of the container may have. */
export interface UniqueValue {
  field: string
  /** Its filter key: values are equal here exactly when a filter finds both. */
  key: string
}

export const uniqueFieldsOf = (schema: Schema): [name: string, field: Field][] =>
  [...schema].filter(([, field]) => field.unique)

/** The unique values of an object; a missing value is never in the way of another. */
export const uniqueValuesOf = (schema: Schema, objectValue: Record<string, unknown>): UniqueValue[] =>
  uniqueFieldsOf(schema)
    .flatMap(([name, field]) => rowsOfField(name, field, objectValue[name]))
    .filter(({ filterKey }) => isPresentKey(filterKey))
    .map(({ field, filterKey }) => ({ field, key: filterKey }))

const maxCopies = 99

/** Values for a copy of an object, in order of preference; none for types whose values cannot be numbered. */
export function valuesForCopy(field: Field, value: unknown): string[] {
  if (typeof value !== 'string' || field.private || (field.type !== 'text' && field.type !== 'slug')) return []
  const { type, maxLength = Number.POSITIVE_INFINITY } = field
  return Array.from({ length: maxCopies }, (_, position) => {
    const suffix = type === 'slug' ? `-${position + 2}` : ` (${position + 2})`
    const kept = value.slice(0, Math.max(0, maxLength - suffix.length)).toWellFormed()
    return (type === 'slug' ? kept.replace(/[-/_.]+$/, '') : kept) + suffix
  })
}
