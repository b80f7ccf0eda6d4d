import { hash } from 'node:crypto'
import type { MediaReference } from '../../content/media-uses.ts'
import type { StoredObject } from '../../content/model.ts'
import type { Origin } from '../../content/product-edits.ts'
import type { ContentWriter } from '../content/changes.ts'
import { objectColumns, toStoredObject } from '../content/objects.ts'
import { inBatches } from '../engine/database.ts'
import type { GroupStore } from '../store.ts'

/** A product of ours with its origin. */
export interface MirroredObject {
  object: StoredObject
  /** Undefined if it was imported and not mirrored. */
  origin: Origin | undefined
}

/** By key; unknown keys are left out. */
export async function findMirroredObjects(
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

export async function upsertOrigins(
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

/** A picture of the provider that was requested once. */
export interface KnownPicture {
  /** Undefined if the download failed, or the item was deleted from the library. */
  media: MediaReference | undefined
  /** Why the download failed. */
  problem: string | null
}

const hashOf = (url: string): string => hash('sha256', url)

export const pictureHash = (url: string | undefined): string | null => (url === undefined ? null : hashOf(url))

/** By URL. Pictures that were never requested are left out. */
export async function findPictures(
  { groupId, database }: GroupStore,
  urls: readonly string[],
): Promise<Map<string, KnownPicture>> {
  const found = new Map<string, KnownPicture>()
  for (const batch of inBatches([...new Set(urls)])) {
    const rows = await database.read
      .selectFrom('catalogue_pictures')
      .leftJoin('media', (join) =>
        join
          .onRef('media.id', '=', 'catalogue_pictures.media_id')
          .onRef('media.group_id', '=', 'catalogue_pictures.group_id'),
      )
      .select(['catalogue_pictures.url', 'catalogue_pictures.problem', 'media.name', 'media.key'])
      .where('catalogue_pictures.group_id', '=', groupId)
      .where('url_hash', 'in', batch.map(hashOf))
      .execute()
    for (const { url, problem, name, key } of rows)
      found.set(url, { media: name !== null && key !== null ? { name, key, type: 'image' } : undefined, problem })
  }
  return found
}

/** The keys of the products of ours that use a picture, whether or not it could be downloaded, in order. */
export async function findKeysShowing(
  { groupId, database }: GroupStore,
  integrationId: string,
  url: string,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await database.read
    .selectFrom('catalogue_products')
    .select('object_key')
    .distinct()
    .where('group_id', '=', groupId)
    .where('integration_id', '=', integrationId)
    .where('picture_hash', '=', hashOf(url))
    .where('object_key', '>', after)
    .orderBy('object_key')
    .limit(limit)
    .execute()
  return rows.map(({ object_key }) => object_key)
}

/** Saves the library item of a picture, or why there is none. */
export async function savePicture(
  { db, group }: ContentWriter,
  url: string,
  outcome: { mediaId: string } | { problem: string },
): Promise<void> {
  const found = {
    media_id: 'mediaId' in outcome ? outcome.mediaId : null,
    problem: 'problem' in outcome ? outcome.problem : null,
  }
  await db
    .insertInto('catalogue_pictures')
    .values({ group_id: group.groupId, url_hash: hashOf(url), url, ...found })
    .onConflict((conflict) => conflict.columns(['group_id', 'url_hash']).doUpdateSet(found))
    .execute()
}
