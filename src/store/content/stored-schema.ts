import { type Field, isMedia, isNested, isOrHolds, leafOf, mayHoldHtml, type Schema } from '../../content/schema.ts'

/** A field that is private to servers of version 0.7, with what it really is: `private: false`, or nothing (null). */
type StoredField = Field & { privateSince08?: false | null }

/** Whether a server that knows no nested values would deliver it wrongly: with private fields, and with unsigned files. */
const isAltered = (field: Field): boolean =>
  isNested(leafOf(field)) && isOrHolds(field, (inner) => inner.private === true || isMedia(inner) || mayHoldHtml(inner))

/** Older servers, which run beside this one during a rollout, must not deliver what they cannot. */
const toStored = (field: Field): StoredField =>
  !field.private && isAltered(field) ? { ...field, private: true, privateSince08: field.private ?? null } : field

function fromStored({ privateSince08: real, ...stored }: StoredField): Field {
  if (real === undefined) return stored
  const { private: _, ...field } = stored
  return real === null ? field : { ...stored, private: real }
}

export const schemaText = (schema: Schema): string =>
  JSON.stringify(Object.fromEntries([...schema].map(([name, field]) => [name, toStored(field)])))

/** Schemas are validated only on writing, so that stricter rules do not break stored ones. */
export const parseStoredSchema = (text: string): Schema =>
  new Map(
    Object.entries(JSON.parse(text) as Record<string, StoredField>).map(([name, field]) => [name, fromStored(field)]),
  )
