import { hash } from 'node:crypto'
import type { MediaReference } from '../content/media-values.ts'
import type { ContentWriter } from './changes.ts'
import type { GroupStore } from './groups.ts'
import { inBatches } from './in-batches.ts'

/** A picture of the provider's that was asked for once. */
export interface KnownPicture {
  /** Undefined where it could not be had, or was deleted from the library since. */
  media: MediaReference | undefined
  /** Why it could not be had. */
  problem: string | null
}

const hashOf = (url: string): string => hash('sha256', url)

export const pictureHash = (url: string | undefined): string | null => (url === undefined ? null : hashOf(url))

/** By their addresses. One that is not there was not asked for yet. */
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

/** The products of ours that show a picture, or would if it were there, in the order of their keys. */
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

/** What became of a picture: the library's item, or why there is none. */
export async function notePicture(
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
