import type { StoredObject } from '../content/model.ts'
import type { GroupStore } from './groups.ts'
import { objectColumns, toStoredObject } from './objects.ts'

const objectsPerRead = 500

/** All objects of a container in the order of their ids, a few at a time: a large one never sits in memory as a whole. */
export async function* eachObject(
  { groupId, database }: GroupStore,
  containerId: string,
): AsyncGenerator<StoredObject> {
  for (let last = ''; ; ) {
    const rows = await database.read
      .selectFrom('objects')
      .select(objectColumns)
      .where('group_id', '=', groupId)
      .where('container_id', '=', containerId)
      .where('id', '>', last)
      .orderBy('id')
      .limit(objectsPerRead)
      .execute()
    yield* rows.map(toStoredObject)
    const end = rows.at(-1)
    if (!end || rows.length < objectsPerRead) return
    last = end.id
  }
}
