import type { StoredObject } from '../content/model.ts'
import type { GroupStore } from './groups.ts'
import { objectColumns, toStoredObject } from './objects.ts'

/** A large container never sits in memory as a whole. */
export const objectsPerRead = 500

/** The next objects of a container after an id, in the order of their ids. */
export function selectObjectsAfter({ groupId, database }: GroupStore, containerId: string, lastId: string) {
  return database.read
    .selectFrom('objects')
    .where('group_id', '=', groupId)
    .where('container_id', '=', containerId)
    .where('id', '>', lastId)
    .orderBy('id')
    .limit(objectsPerRead)
}

/** All objects of a container in the order of their ids, a few at a time. */
export async function* eachObject(group: GroupStore, containerId: string): AsyncGenerator<StoredObject> {
  for (let last = ''; ; ) {
    const rows = await selectObjectsAfter(group, containerId, last).select(objectColumns).execute()
    yield* rows.map(toStoredObject)
    const end = rows.at(-1)
    if (!end || rows.length < objectsPerRead) return
    last = end.id
  }
}
