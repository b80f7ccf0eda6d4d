import { fileIdIn } from '../../content/media-keys.ts'
import type { ContentWriter } from '../content/changes.ts'
import type { MediaFileRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'

/** A scaled version of a picture. */
export interface Derivative {
  width: number
  format: 'webp' | 'avif'
  key: string
  bytes: number
}

/** Results of decoding a picture. */
export interface ImageDetails {
  width: number
  height: number
  /** The dominant color. */
  color: string
  /** A tiny blurred picture as a data URL; none for transparent pictures. */
  placeholder: string | null
  derivatives: Derivative[]
}

/** A stored file. */
export interface MediaFile {
  id: string
  key: string
  sha256: string
  bytes: number
  contentType: string
  width: number | null
  height: number | null
  color: string | null
  placeholder: string | null
  derivatives: Derivative[]
  problem: string | null
  createdMs: number
}

const filesPerRead = 500
const fileColumns = [
  'id', 'key', 'sha256', 'bytes', 'content_type', 'width', 'height', 'color', 'placeholder', 'derivatives', 'problem',
  'created_ms',
] as const // biome-ignore format: two lines read better

export function toFile(row: Pick<MediaFileRow, (typeof fileColumns)[number]>): MediaFile {
  const { id, key, sha256, bytes, width, height, color, placeholder, problem } = row
  const contentType = row.content_type
  const derivatives = JSON.parse(row.derivatives)
  const createdMs = row.created_ms
  return { id, key, sha256, bytes, contentType, width, height, color, placeholder, derivatives, problem, createdMs }
}

/** The keys of a file and its derivatives. */
export const keysOfFile = ({ key, derivatives }: Pick<MediaFile, 'key' | 'derivatives'>): string[] => [
  key,
  ...derivatives.map((derivative) => derivative.key),
]

async function findFile(
  { groupId, database }: GroupStore,
  where: Partial<Pick<MediaFileRow, 'id' | 'key' | 'sha256'>>,
): Promise<MediaFile | undefined> {
  const row = await database.read
    .selectFrom('media_files')
    .select(fileColumns)
    .where((eb) => eb.and({ group_id: groupId, ...where }))
    .executeTakeFirst()
  return row && toFile(row)
}

export const findFileById = (group: GroupStore, id: string): Promise<MediaFile | undefined> => findFile(group, { id })

export const findFileByKey = (group: GroupStore, key: string): Promise<MediaFile | undefined> =>
  findFile(group, { key })

/** The group's file with the same bytes. */
export const findFileByContent = (group: GroupStore, sha256: string): Promise<MediaFile | undefined> =>
  findFile(group, { sha256 })

/** Those of these keys that belong to an existing file or one of its derivatives. */
export async function findKeysInUse({ groupId, database }: GroupStore, keys: readonly string[]): Promise<Set<string>> {
  const ids = keys.flatMap((key) => fileIdIn(key) ?? [])
  const rows = await database.read
    .selectFrom('media_files')
    .select(['id', 'key'])
    .where('group_id', '=', groupId)
    .where((eb) => eb.or([eb('key', 'in', keys), ...(ids.length > 0 ? [eb('id', 'in', ids)] : [])]))
    .execute()
  const used = new Set(rows.flatMap(({ id, key }) => [id, key]))
  return new Set(keys.filter((key) => used.has(key) || used.has(fileIdIn(key) ?? '')))
}

/** All files by id, read in batches. */
export async function* iterateMediaFiles({ groupId, database }: GroupStore): AsyncGenerator<MediaFile> {
  for (let last = ''; ; ) {
    const rows = await database.read
      .selectFrom('media_files')
      .select(fileColumns)
      .where('group_id', '=', groupId)
      .where('id', '>', last)
      .orderBy('id')
      .limit(filesPerRead)
      .execute()
    yield* rows.map(toFile)
    const end = rows.at(-1)
    if (!end || rows.length < filesPerRead) return
    last = end.id
  }
}

export async function insertFile({ db, group }: ContentWriter, file: MediaFile): Promise<void> {
  const { contentType, derivatives, createdMs, ...same } = file
  await db
    .insertInto('media_files')
    .values({
      ...same,
      group_id: group.groupId,
      content_type: contentType,
      derivatives: JSON.stringify(derivatives),
      created_ms: createdMs,
    })
    .execute()
}

/** Deletes a file that no item uses. Returns whether it did: the caller then removes the bytes from storage. */
export async function deleteFileIfUnused({ db, group }: ContentWriter, file: MediaFile): Promise<boolean> {
  const { groupId } = group
  const user = await db
    .selectFrom('media')
    .select('id')
    .where('group_id', '=', groupId)
    .where('file_id', '=', file.id)
    .executeTakeFirst()
  if (user) return false
  await db.deleteFrom('media_files').where('group_id', '=', groupId).where('id', '=', file.id).execute()
  return true
}

/** Saves the details of a picture, or why it could not be decoded. False if the file is gone. */
export async function saveImageDetails(
  writer: ContentWriter,
  file: MediaFile,
  found: ImageDetails | { problem: string },
): Promise<boolean> {
  const columns =
    'problem' in found
      ? found
      : { ...found, derivatives: JSON.stringify(found.derivatives), problem: null as string | null }
  const { numUpdatedRows } = await writer.db
    .updateTable('media_files')
    .set(columns)
    .where('group_id', '=', writer.group.groupId)
    .where('id', '=', file.id)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  writer.bumpMediaRevision()
  return true
}
