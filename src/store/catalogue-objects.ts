import type { StoredObject } from '../content/model.ts'
import type { Origin } from '../content/product-edits.ts'
import type { ContentWriter } from './changes.ts'
import type { GroupStore } from './groups.ts'
import { inBatches } from './in-batches.ts'
import { objectColumns, toStoredObject } from './objects.ts'

/** A product of ours, and how it came to be. */
export interface MirroredObject {
  object: StoredObject
  /** Undefined of one that the mirror has not made: it came by an import. */
  origin: Origin | undefined
}

/** By their keys; those that are not there are left out. */
export async function findMirrored(
  { groupId, database }: GroupStore,
  { containerId, accountHandle }: { containerId: string; accountHandle: string },
  keys: readonly string[],
): Promise<Map<string, MirroredObject>> {
  const found = new Map<string, MirroredObject>()
  for (const batch of inBatches(keys)) {
    const rows = await database.read
      .selectFrom('objects')
      .leftJoin('catalogue_objects', 'catalogue_objects.object_id', 'objects.id')
      .select(objectColumns.map((column) => `objects.${column}` as const))
      .select('catalogue_objects.origin')
      .where('objects.group_id', '=', groupId)
      .where('objects.container_id', '=', containerId)
      .where('objects.account_handle', '=', accountHandle)
      .where('objects.external_id', 'in', batch)
      .execute()
    for (const { origin, ...row } of rows)
      found.set(row.external_id ?? '', {
        object: toStoredObject(row),
        origin: origin === null ? undefined : JSON.parse(origin),
      })
  }
  return found
}

export interface NewOrigin {
  objectId: string
  origin: Origin
}

/** New ones, and over those that are there. */
export async function noteOrigins(
  { db, group }: ContentWriter,
  integrationId: string,
  origins: readonly NewOrigin[],
): Promise<void> {
  const rows = origins.map(({ objectId, origin }) => ({
    object_id: objectId,
    group_id: group.groupId,
    integration_id: integrationId,
    origin: JSON.stringify(origin),
  }))
  for (const batch of inBatches(rows)) {
    await db
      .insertInto('catalogue_objects')
      .values(batch)
      .onConflict((conflict) =>
        conflict.column('object_id').doUpdateSet((eb) => ({
          integration_id: integrationId,
          origin: eb.ref('excluded.origin'),
        })),
      )
      .execute()
  }
}
