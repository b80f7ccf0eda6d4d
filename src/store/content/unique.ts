import { textOfFilterKey } from '../../content/index-keys.ts'
import type { Container } from '../../content/model.ts'
import { type UniqueValue, uniqueFieldsOf, uniqueValuesOf, valuesForCopy } from '../../content/unique.ts'
import { AppError, conflict } from '../../core/errors.ts'
import { inBatches } from '../engine/database.ts'
import { createSqlBuilder, runStatement } from '../engine/statement.ts'
import type { GroupStore } from '../store.ts'
import type { ContentWriter } from './changes.ts'
import { selectByKeys } from './object-index.ts'

const maxShownCharacters = 100

/** A value that must be unique, and that another object has. */
export class ValueTaken extends AppError {
  readonly field: string

  constructor(field: string, value: unknown, objectId: string) {
    const shown = String(value)
    const cut = shown.length > maxShownCharacters ? `${shown.slice(0, maxShownCharacters).toWellFormed()}…` : shown
    super(
      'Conflict',
      `objectValue.${field} must be unique, and the object ${objectId} already has the value "${cut}".`,
      { details: { field, objectId } },
    )
    this.field = field
  }
}

/** An object about to be written. */
interface WrittenObject {
  id: string
  /** Its former value; undefined for a new object. */
  before?: Record<string, unknown>
  value: Record<string, unknown>
}

const keyOf = ({ field, key }: UniqueValue): string => `${field} ${key}`

/** The ids of objects with one of these values, in any state. */
export async function findHolders(
  group: GroupStore,
  container: Container,
  field: string,
  keys: readonly string[],
): Promise<{ id: string; key: string }[]> {
  const holders: { id: string; key: string }[] = []
  for (const batch of inBatches(keys)) {
    const draft = createSqlBuilder(group.database)
    const text = selectByKeys(draft, { containerIds: [container.id], field, filterKeys: batch })
    const rows = await runStatement<{ object_id: string; filter_key: string }>(group, text, draft)
    holders.push(...rows.map(({ object_id: id, filter_key: key }) => ({ id, key })))
  }
  return holders
}

/**
 * Refuses values of unique fields that another object has. Unchanged values are not checked, so that an object can be edited
 * even if an older server has stored its value twice. Called under the group's lock, before anything is written.
 */
export async function refuseTaken(
  { group, checksUniqueLater = false }: ContentWriter,
  container: Container,
  objects: readonly WrittenObject[],
): Promise<void> {
  if (checksUniqueLater || uniqueFieldsOf(container.schema).length === 0) return
  const { schema } = container
  const valuesOf = new Map(objects.map(({ id, value }) => [id, value]))
  const written = new Map<string, { id: string; isNew: boolean }>()
  const fresh: UniqueValue[] = []
  for (const { id, before, value } of objects) {
    const kept = new Set(before ? uniqueValuesOf(schema, before).map(keyOf) : [])
    for (const unique of uniqueValuesOf(schema, value)) {
      const isNew = !kept.has(keyOf(unique))
      const other = written.get(keyOf(unique))
      if (other && (isNew || other.isNew)) throw new ValueTaken(unique.field, value[unique.field], other.id)
      written.set(keyOf(unique), { id, isNew })
      if (isNew) fresh.push(unique)
    }
  }
  for (const [field, values] of Map.groupBy(fresh, (unique) => unique.field)) {
    const keys = values.map(({ key }) => key)
    const others = (await findHolders(group, container, field, keys)).filter(({ id }) => !valuesOf.has(id))
    for (const batch of inBatches(others)) {
      const keyById = new Map(batch.map(({ id, key }) => [id, key]))
      for (const { id, value } of await readValues(group, [...keyById.keys()])) {
        // An older server does not keep these index rows up to date.
        const isCurrent = uniqueValuesOf(schema, value).some(
          (unique) => unique.field === field && unique.key === keyById.get(id),
        )
        if (isCurrent) throw new ValueTaken(field, value[field], id)
      }
    }
  }
}

async function readValues({ groupId, database }: GroupStore, ids: readonly string[]) {
  const rows = await database.read
    .selectFrom('objects')
    .select(['id', 'value'])
    .where('group_id', '=', groupId)
    .where('id', 'in', ids)
    .execute()
  return rows.map(({ id, value }): { id: string; value: Record<string, unknown> } => ({ id, value: JSON.parse(value) }))
}

interface Duplicate {
  key: string
  /** Two of the objects that have it. */
  ids: string[]
}

/** The first value that several objects of a container have, found in the index. */
export async function findDuplicate(
  { database }: GroupStore,
  container: Container,
  field: string,
): Promise<Duplicate | undefined> {
  const rows = database.read
    .selectFrom('object_fields')
    .where('container_id', '=', container.id)
    .where('field', '=', field)
  const found = await rows
    .select('filter_key as key')
    .where('filter_key', '!=', '')
    .groupBy('filter_key')
    .having(({ fn }) => fn.countAll(), '>', 1)
    .orderBy('filter_key')
    .limit(1)
    .executeTakeFirst()
  if (!found) return undefined
  const ids = await rows
    .select('object_id as id')
    .where('filter_key', '=', found.key)
    .orderBy('object_id')
    .limit(2)
    .execute()
  return { key: found.key, ids: ids.map(({ id }) => id) }
}

/** For writes in several steps, in which a value may move from one object to another: checks the whole container at the end. */
export async function refuseDuplicates({ group }: ContentWriter, container: Container): Promise<void> {
  for (const [field] of uniqueFieldsOf(container.schema)) {
    const duplicate = await findDuplicate(group, container, field)
    if (!duplicate) continue
    const shown = textOfFilterKey(duplicate.key)?.slice(0, maxShownCharacters).toWellFormed()
    const value = shown === undefined ? 'the same value' : `the value "${shown}"`
    throw conflict(
      `objectValue.${field} must be unique, and two objects of "${container.name}" would have ${value}: ${duplicate.ids.join(' and ')}. Nothing was changed.`,
    )
  }
}

/**
 * Values for copies of objects. Texts and slugs get the first free number; other unique values are left out, unless they are
 * required: then the copy is refused.
 */
export async function uniqueCopies(
  { group }: ContentWriter,
  container: Container,
  values: readonly Record<string, unknown>[],
): Promise<Record<string, unknown>[]> {
  const given = new Set<string>()
  const copies: Record<string, unknown>[] = []
  for (const value of values) {
    const copy = { ...value }
    for (const [name, field] of uniqueFieldsOf(container.schema)) {
      if (copy[name] === undefined || copy[name] === null) continue
      const wanted = valuesForCopy(field, copy[name]).map((text) => ({ text, key: keyIn(container, name, text) }))
      const taken = new Set(
        (await findHolders(group, container, name, wanted.map(({ key }) => key))).map(({ key }) => key),
      ) // biome-ignore format: reads as one step
      const free = wanted.find(({ key }) => !taken.has(key) && !given.has(keyOf({ field: name, key })))
      if (free) {
        copy[name] = free.text
        given.add(keyOf({ field: name, key: free.key }))
      } else if (!field.required) delete copy[name]
    }
    copies.push(copy)
  }
  return copies
}

const keyIn = ({ schema }: Container, name: string, text: string): string =>
  uniqueValuesOf(schema, { [name]: text })[0]?.key ?? ''
