import { type SelectQueryBuilder, sql } from 'kysely'
import type { StoredObject } from '../content/model.ts'
import { takePiece } from '../heavy-work.ts'
import type { GroupStore } from './groups.ts'
import { objectColumns, toStoredObject } from './objects.ts'
import type { ContentTables } from './tables.ts'

/** A large container never sits in memory as a whole, and no statement reads for long. */
const objectsPerRead = 250
const bytesPerRead = 256 * 1024

/** The first of these that are read at once: one at least, where there are any. */
export function withinOneRead<Row extends { bytes: number }>(rows: readonly Row[]): Row[] {
  let before = 0
  return rows.filter(({ bytes }) => {
    const isRead = before < bytesPerRead
    before += bytes
    return isRead
  })
}

/** Which objects of a container come next after an id, as many as are read at once: one at least, while there are any. */
async function findNextIds({ groupId, database }: GroupStore, containerId: string, lastId: string): Promise<string[]> {
  const rows = await database.read
    .selectFrom('objects')
    .select(['id', sql<number>`octet_length(value)`.as('bytes')])
    .where('group_id', '=', groupId)
    .where('container_id', '=', containerId)
    .where('id', '>', lastId)
    .orderBy('id')
    .limit(objectsPerRead)
    .execute()
  return withinOneRead(rows).map(({ id }) => id)
}

/** Parts of a container in the order of ids. `read` says which columns are wanted. */
export async function* eachPart<Row extends { id: string }>(
  group: GroupStore,
  containerId: string,
  read: (part: SelectQueryBuilder<ContentTables, 'objects', unknown>) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let last = ''; ; ) {
    const ids = await findNextIds(group, containerId, last)
    const end = ids.at(-1)
    if (end === undefined) return
    await takePiece()
    yield await read(group.database.read.selectFrom('objects').where('id', 'in', ids).orderBy('id'))
    last = end
  }
}

export async function* eachObjects(group: GroupStore, containerId: string): AsyncGenerator<StoredObject[]> {
  const parts = eachPart(group, containerId, (part) => part.select(objectColumns).execute())
  for await (const rows of parts) yield rows.map(toStoredObject)
}

/** All objects of a container in the order of their ids, a few at a time. */
export async function* eachObject(group: GroupStore, containerId: string): AsyncGenerator<StoredObject> {
  for await (const objects of eachObjects(group, containerId)) yield* objects
}
