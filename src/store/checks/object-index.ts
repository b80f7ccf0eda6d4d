import { jsonArrayFrom as arrayInPostgres } from 'kysely/helpers/postgres'
import { jsonArrayFrom as arrayInSqlite } from 'kysely/helpers/sqlite'
import { searchTextOf } from '../../content/index-keys.ts'
import type { Container, StoredObject } from '../../content/model.ts'
import { type Authoring, type ContentWriter, writeContent } from '../content/changes.ts'
import { findContainerById, readByContainer } from '../content/containers.ts'
import { indexBytesOf, insertIndexRows } from '../content/object-index.ts'
import { fieldRowsOf, objectColumns, toStoredObject } from '../content/objects.ts'
import { inBatches } from '../engine/database.ts'
import type { ObjectFieldRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'

const objectsPerRead = 200
const fieldColumns = ['object_id', 'field', 'filter_key', 'sort_key', 'container_id', 'archived', 'publish_ms'] as const

/** An object with its index. */
interface IndexedObject {
  object: StoredObject
  searchText: string
  indexBytes: number
  fieldRows: ObjectFieldRow[]
}

/** Objects after an id, or with given ids. One statement, so that objects and index are consistent. */
async function readIndexed(
  { groupId, database }: GroupStore,
  containerId: string,
  which: { after: string } | { ids: readonly string[] },
): Promise<IndexedObject[]> {
  const rows = await database.read
    .selectFrom('objects')
    .select([...objectColumns, 'search_text', 'index_bytes'])
    .select((eb) => {
      const fieldRows = eb
        .selectFrom('object_fields')
        .select(fieldColumns)
        .whereRef('object_fields.object_id', '=', 'objects.id')
      return (database.engine === 'postgres' ? arrayInPostgres(fieldRows) : arrayInSqlite(fieldRows)).as('field_rows')
    })
    .where('group_id', '=', groupId)
    .where('container_id', '=', containerId)
    .where((eb) => ('ids' in which ? eb('id', 'in', which.ids) : eb('id', '>', which.after)))
    .orderBy('id')
    .limit(objectsPerRead)
    .execute()
  return rows.map(({ search_text, index_bytes, field_rows, ...row }) => ({
    object: toStoredObject(row),
    searchText: search_text,
    indexBytes: index_bytes,
    // SQLite returns JSON as text.
    fieldRows: typeof field_rows === 'string' ? JSON.parse(field_rows) : field_rows,
  }))
}

const textOf = (rows: readonly ObjectFieldRow[]): string =>
  rows
    .map((row) => JSON.stringify(fieldColumns.map((column) => row[column])))
    .sort()
    .join('\n')

function isOutdated(container: Container, { object, searchText, indexBytes, fieldRows }: IndexedObject): boolean {
  return (
    indexBytes !== indexBytesOf(fieldRows) ||
    searchText !== searchTextOf(container.schema, object.value) ||
    textOf(fieldRows) !== textOf(fieldRowsOf(container, object))
  )
}

async function idsOfOutdated(group: GroupStore, container: Container, onRead: (count: number) => void) {
  const ids: string[] = []
  for (let after = ''; ; ) {
    const read = await readIndexed(group, container.id, { after })
    ids.push(...read.filter((one) => isOutdated(container, one)).map(({ object }) => object.id))
    onRead(read.length)
    const end = read.at(-1)
    if (!end || read.length < objectsPerRead) return ids
    after = end.object.id
  }
}

/** The ids of objects whose index does not match their value. */
export async function findOutdatedObjects(
  group: GroupStore,
  containerId: string,
  onRead: (count: number) => void,
): Promise<string[]> {
  const find = () => findContainerById(group, containerId)
  return (await readByContainer(group, find, (container) => idsOfOutdated(group, container, onRead))) ?? []
}

async function writeIndex(writer: ContentWriter, container: Container, object: StoredObject): Promise<void> {
  const { db, group } = writer
  const rows = fieldRowsOf(container, object)
  await db
    .updateTable('objects')
    .set({ search_text: searchTextOf(container.schema, object.value), index_bytes: indexBytesOf(rows) })
    .where('group_id', '=', group.groupId)
    .where('id', '=', object.id)
    .execute()
  await db.deleteFrom('object_fields').where('object_id', '=', object.id).execute()
  await insertIndexRows(writer, rows)
}

/** Rebuilds the index of those objects that are still outdated, and returns their number. */
export function rebuildIndex(
  outside: GroupStore,
  containerId: string,
  ids: readonly string[],
  authoring: Authoring,
): Promise<number> {
  return writeContent(outside, authoring, async (writer) => {
    const container = await findContainerById(writer.group, containerId)
    if (!container) return 0
    let rebuilt = 0
    for (const batch of inBatches(ids, objectsPerRead)) {
      const read = await readIndexed(writer.group, containerId, { ids: batch })
      for (const { object } of read.filter((one) => isOutdated(container, one))) {
        await writeIndex(writer, container, object)
        rebuilt += 1
      }
    }
    if (rebuilt === 0) return 0
    const { id, kind, version } = container
    writer.record({ type: `${kind}.updated`, subjectId: id, version, note: `index of ${rebuilt} objects rebuilt` })
    writer.bumpRevision()
    return rebuilt
  })
}
