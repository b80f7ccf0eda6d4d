import { sql } from 'kysely'
import { jsonArrayFrom as arrayInPostgres } from 'kysely/helpers/postgres'
import { jsonArrayFrom as arrayInSqlite } from 'kysely/helpers/sqlite'
import { distinctWords, searchTextOf } from '../../content/index-keys.ts'
import type { Container, StoredObject } from '../../content/model.ts'
import { type Authoring, type ContentWriter, writeContent } from '../content/changes.ts'
import { findContainerById, readByContainer } from '../content/containers.ts'
import { insertSearchEntries } from '../content/fill-search-index.ts'
import { indexBytesOf, insertIndexRows } from '../content/object-index.ts'
import { fieldRowsOf, objectColumns, toStoredObject } from '../content/objects.ts'
import { inBatches } from '../engine/database.ts'
import type { ObjectFieldRow, SearchEntryRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'

const objectsPerRead = 200
const fieldColumns = ['object_id', 'field', 'filter_key', 'sort_key', 'container_id', 'archived', 'publish_ms'] as const

/** An object with its index. */
interface IndexedObject {
  object: StoredObject
  searchText: string
  /** In the search index. */
  entry: Pick<SearchEntryRow, 'words' | 'archived' | 'publish_ms'> | 'missing' | 'not yet'
  indexBytes: number
  fieldRows: ObjectFieldRow[]
}

/** Whether an entry is in SQLite's index. PostgreSQL's cannot lack one. */
const isFound = ({ engine }: GroupStore['database']) =>
  engine === 'sqlite'
    ? sql<number>`exists (select 1 from search_index_docsize as indexed where indexed.id = entry.id)`
    : sql<number>`1`

interface JoinedEntry {
  /** Of the container; null when it is filled. */
  filled_to: string | null
  known: string | null
  is_found: number
  words: string | null
  was_archived: number | null
  was_ms: number | null
}

function entryIn({ filled_to, known, is_found, words, was_archived, was_ms }: JoinedEntry): IndexedObject['entry'] {
  if (filled_to !== null && words === null) return 'not yet'
  if (known === null || is_found === 0 || words === null) return 'missing'
  return { words, archived: was_archived ?? 0, publish_ms: was_ms ?? 0 }
}

/** Objects after an id, or with given ids. One statement, so that objects and index are consistent. */
async function readIndexed(
  { groupId, database }: GroupStore,
  containerId: string,
  which: { after: string } | { ids: readonly string[] },
): Promise<IndexedObject[]> {
  const rows = await database.read
    .selectFrom('objects')
    .leftJoin('search_entries as entry', (join) =>
      join.onRef('entry.container_id', '=', 'objects.container_id').onRef('entry.object_id', '=', 'objects.id'),
    )
    .leftJoin('search_containers as filling', 'filling.container_id', 'objects.container_id')
    .select(objectColumns.map((column) => `objects.${column}` as const))
    .select(['search_text', 'index_bytes', 'filled_to', 'filling.container_id as known', 'entry.words'])
    .select(['entry.archived as was_archived', 'entry.publish_ms as was_ms'])
    .select(isFound(database).as('is_found'))
    .select((eb) => {
      const fieldRows = eb
        .selectFrom('object_fields')
        .select(fieldColumns)
        .whereRef('object_fields.object_id', '=', 'objects.id')
      return (database.engine === 'postgres' ? arrayInPostgres(fieldRows) : arrayInSqlite(fieldRows)).as('field_rows')
    })
    .where('objects.group_id', '=', groupId)
    .where('objects.container_id', '=', containerId)
    .where((eb) => ('ids' in which ? eb('objects.id', 'in', which.ids) : eb('objects.id', '>', which.after)))
    .orderBy('objects.id')
    .limit(objectsPerRead)
    .execute()
  return rows.map(({ search_text, index_bytes, field_rows, ...row }) => ({
    object: toStoredObject(row),
    searchText: search_text,
    entry: entryIn(row),
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

/** Former versions wrote the words in another order, some of them repeatedly. */
const haveSameWords = (one: string, other: string): boolean =>
  one === other || distinctWords(one).symmetricDifference(distinctWords(other)).size === 0

function isOutdated(container: Container, indexed: IndexedObject): boolean {
  const { object, searchText, entry, indexBytes, fieldRows } = indexed
  const words = searchTextOf(container.schema, object.value)
  const isEntered =
    entry === 'not yet' ||
    (entry !== 'missing' &&
      haveSameWords(entry.words, words) &&
      (entry.archived !== 0) === object.archived &&
      entry.publish_ms === object.publishMs)
  return (
    !isEntered ||
    indexBytes !== indexBytesOf(fieldRows) ||
    !haveSameWords(searchText, words) ||
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
  const words = searchTextOf(container.schema, object.value)
  await db
    .updateTable('objects')
    .set({ search_text: words, index_bytes: indexBytesOf(rows) })
    .where('group_id', '=', group.groupId)
    .where('id', '=', object.id)
    .execute()
  await db
    .insertInto('search_containers')
    .values({ container_id: container.id, filled_to: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await db
    .deleteFrom('search_entries')
    .where('container_id', '=', container.id)
    .where('object_id', '=', object.id)
    .execute()
  await insertSearchEntries(db, group, [
    {
      object_id: object.id,
      container_id: container.id,
      group_id: group.groupId,
      archived: object.archived ? 1 : 0,
      publish_ms: object.publishMs,
      created_ms: object.createdMs,
      words,
    },
  ])
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
