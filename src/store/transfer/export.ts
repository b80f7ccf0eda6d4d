import { sql } from 'kysely'
import { yieldForHeavyWork } from '../../concurrency/time-slicing.ts'
import type { StoredObject } from '../../content/model.ts'
import { type Order, toOrder } from '../commerce/orders.ts'
import { iterateBatches, objectColumns, toStoredObject, withinOneRead } from '../content/objects.ts'
import { type ObjectVersion, toVersion } from '../content/versions.ts'
import { findWorkingCopies } from '../content/working-copies.ts'
import type { ObjectVersionRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import { type ExportedCopy, toExportedCopy } from './working-copies.ts'

const rowsPerRead = 500

/** An object with the author and kind of its latest change. */
export interface ExportedObject extends StoredObject {
  changedBy: string
  change: string
  workingCopy?: ExportedCopy
}

/** An object, or a former version of the object before it. */
export type ExportedRow = { kind: 'object'; object: ExportedObject } | { kind: 'version'; version: ObjectVersion }

/** The former versions of some objects by id and version, read in batches: an object may have thousands. */
async function* eachVersion({ groupId, database }: GroupStore, objectIds: string[]): AsyncGenerator<ObjectVersionRow> {
  for (let last = { object_id: '', version: 0 }; ; ) {
    const { object_id, version } = last
    const after = database.read
      .selectFrom('object_versions')
      .where('group_id', '=', groupId)
      .where('object_id', 'in', objectIds)
      .where((eb) =>
        eb.or([
          eb('object_id', '>', object_id),
          eb.and([eb('object_id', '=', object_id), eb('version', '>', version)]),
        ]),
      )
      .orderBy('object_id')
      .orderBy('version')
    const sizes = await after
      .select(['version', sql<number>`octet_length(value)`.as('bytes')])
      .limit(rowsPerRead)
      .execute()
    if (sizes.length === 0) return
    await yieldForHeavyWork()
    const rows = await after.selectAll().limit(withinOneRead(sizes).length).execute()
    yield* rows
    const end = rows.at(-1)
    if (!end) return
    last = end
  }
}

/** All objects of a container by id, each followed by its former versions, read in batches. */
export async function* iterateExportRows(group: GroupStore, containerId: string): AsyncGenerator<ExportedRow> {
  const parts = iterateBatches(group, containerId, (part) =>
    part.select([...objectColumns, 'changed_by', 'change']).execute(),
  )
  for await (const rows of parts) {
    const copies = new Map((await findWorkingCopies(group, rows.map(({ id }) => id))).map((copy) => [copy.id, copy])) // biome-ignore format: one line reads better
    const objects = rows.map((row): ExportedObject => {
      const copy = copies.get(row.id)
      const object = { ...toStoredObject(row), changedBy: row.changed_by, change: row.change }
      return copy ? { ...object, workingCopy: toExportedCopy(copy) } : object
    })
    const changed = objects.filter(({ version }) => version > 1).map(({ id }) => id)
    const versions = changed.length > 0 ? eachVersion(group, changed) : undefined
    let next = await versions?.next()
    for (const object of objects) {
      yield { kind: 'object', object }
      for (; next?.done === false && next.value.object_id === object.id; next = await versions?.next())
        yield { kind: 'version', version: toVersion(next.value) }
    }
  }
}

/** All orders of a group by id, read in batches. */
export async function* iterateExportOrders({ groupId, database }: GroupStore): AsyncGenerator<Order> {
  for (let last = ''; ; ) {
    const rows = await database.read
      .selectFrom('orders')
      .selectAll()
      .where('group_id', '=', groupId)
      .where('id', '>', last)
      .orderBy('id')
      .limit(rowsPerRead)
      .execute()
    yield* rows.map(toOrder)
    const end = rows.at(-1)
    if (!end || rows.length < rowsPerRead) return
    last = end.id
  }
}
