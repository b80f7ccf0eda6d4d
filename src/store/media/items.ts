import { filterKeyOfText, normaliseText } from '../../content/index-keys.ts'
import { mediaUsesAnywhere } from '../../content/media-uses.ts'
import type { MediaType } from '../../content/schema.ts'
import type { ContentWriter } from '../content/changes.ts'
import { listSites } from '../content/sites.ts'
import { findCopiesWithMedia } from '../content/working-copies.ts'
import { inBatches } from '../engine/database.ts'
import type { MediaRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import { type MediaFile, toFile } from './files.ts'
import { mediaField } from './uses.ts'

/** An item of the media library. Content refers to its key; its file can be replaced. */
export interface MediaItem {
  id: string
  key: string
  name: string
  type: MediaType
  version: number
  createdMs: number
  updatedMs: number
  file: MediaFile
}

const itemsPerRead = 500

const selectMedia = ({ groupId, database }: GroupStore) =>
  database.read
    .selectFrom('media')
    .innerJoin('media_files', 'media_files.id', 'media.file_id')
    .select(['media.id', 'media.key', 'media.name', 'media.type', 'media.version'])
    .select(['media.created_ms', 'media.updated_ms'])
    .select(['media.file_id', 'media_files.key as file_key', 'media_files.created_ms as file_created_ms'])
    .select(['media_files.sha256', 'media_files.bytes', 'media_files.content_type', 'media_files.problem'])
    .select(['media_files.width', 'media_files.height', 'media_files.color', 'media_files.placeholder'])
    .select('media_files.derivatives')
    .where('media.group_id', '=', groupId)

type SelectedMedia = Awaited<ReturnType<ReturnType<typeof selectMedia>['executeTakeFirstOrThrow']>>

function toMedia(row: SelectedMedia): MediaItem {
  return {
    id: row.id,
    key: row.key,
    name: row.name,
    type: row.type as MediaType, // checked when it was written
    version: row.version,
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
    file: toFile({ ...row, id: row.file_id, key: row.file_key, created_ms: row.file_created_ms }),
  }
}

export async function findMedia(group: GroupStore, id: string): Promise<MediaItem | undefined> {
  const row = await selectMedia(group).where('media.id', '=', id).executeTakeFirst()
  return row && toMedia(row)
}

/** The item with this file and name. */
export async function findMediaWithFile(
  group: GroupStore,
  fileId: string,
  name: string,
): Promise<MediaItem | undefined> {
  const row = await selectMedia(group)
    .where('media.file_id', '=', fileId)
    .where('media.name', '=', name)
    .executeTakeFirst()
  return row && toMedia(row)
}

/** In no particular order; unknown keys are left out. */
export async function findMediaByKeys(group: GroupStore, keys: readonly string[]): Promise<MediaItem[]> {
  const found: MediaItem[] = []
  for (const batch of inBatches(keys)) {
    const rows = await selectMedia(group).where('media.key', 'in', batch).execute()
    found.push(...rows.map(toMedia))
  }
  return found
}

/** The key by which content refers to each file: a preferred one, else that of the oldest item. */
export async function findKeysOfFiles(
  { groupId, database }: GroupStore,
  fileIds: readonly string[],
  preferred: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const keys = new Map<string, string>()
  for (const batch of inBatches(fileIds)) {
    const rows = await database.read
      .selectFrom('media')
      .select(['file_id', 'key'])
      .where('group_id', '=', groupId)
      .where('file_id', 'in', batch)
      .orderBy('id', 'desc')
      .execute()
    for (const { file_id, key } of rows)
      if (preferred.has(key) || !preferred.has(keys.get(file_id) ?? '')) keys.set(file_id, key)
  }
  return keys
}

export interface MediaQuery {
  type?: MediaType | undefined
  /** Part of the name. */
  search?: string | undefined
  limit: number
  skip: number
}

/** Newest first. */
export async function listMedia(
  group: GroupStore,
  { type, search, limit, skip }: MediaQuery,
): Promise<{ media: MediaItem[]; totalCount: number }> {
  const position = group.database.engine === 'sqlite' ? 'instr' : 'strpos'
  const matching = selectMedia(group)
    .$if(type !== undefined, (query) => query.where('media.type', '=', type ?? ''))
    .$if(search !== undefined, (query) =>
      query.where((eb) =>
        eb(eb.fn<number>(position, ['media.search_name', eb.val(normaliseText(search ?? ''))]), '>', 0),
      ),
    )
  const { total } = await matching
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  const rows = await matching.orderBy('media.id', 'desc').limit(limit).offset(skip).execute()
  return { media: rows.map(toMedia), totalCount: Number(total) }
}

/** All items by id, read in batches. */
export async function* iterateMediaItems(group: GroupStore): AsyncGenerator<MediaItem> {
  for (let last = ''; ; ) {
    const rows = await selectMedia(group).where('media.id', '>', last).orderBy('media.id').limit(itemsPerRead).execute()
    yield* rows.map(toMedia)
    const end = rows.at(-1)
    if (!end || rows.length < itemsPerRead) return
    last = end.id
  }
}

/** Incremented whenever delivered file data changes. */
export async function readMediaRevision({ groupId, database }: GroupStore): Promise<number> {
  const row = await database.read
    .selectFrom('group_revisions')
    .select('media_revision')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  return row?.media_revision ?? 0
}

function toRow({ group }: ContentWriter, media: MediaItem): MediaRow {
  const { file, createdMs, updatedMs, ...same } = media
  return {
    ...same,
    search_name: normaliseText(media.name),
    file_id: file.id,
    group_id: group.groupId,
    created_ms: createdMs,
    updated_ms: updatedMs,
  }
}

export async function insertMedia(writer: ContentWriter, media: MediaItem): Promise<void> {
  await writer.db.insertInto('media').values(toRow(writer, media)).execute()
  writer.record({ type: 'media.created', subjectId: media.id, version: media.version, note: media.name })
}

/** Changes the name or file of an item; references to it stay valid. */
export async function updateMedia(
  writer: ContentWriter,
  before: MediaItem,
  wanted: Partial<Pick<MediaItem, 'name' | 'file'>>,
): Promise<MediaItem> {
  const after = { ...before, ...wanted, version: before.version + 1, updatedMs: writer.nowMs }
  const differences = [
    ...(after.name !== before.name ? ['name'] : []),
    ...(after.file.id !== before.file.id ? ['file'] : []),
  ]
  if (differences.length === 0) return before
  const { name, search_name, file_id, version, updated_ms } = toRow(writer, after)
  await writer.db
    .updateTable('media')
    .set({ name, search_name, file_id, version, updated_ms })
    .where('group_id', '=', writer.group.groupId)
    .where('id', '=', before.id)
    .execute()
  writer.record({ type: 'media.updated', subjectId: before.id, version: after.version, note: differences.join(', ') })
  if (differences.includes('file')) writer.bumpMediaRevision()
  return after
}

/** Marks an item as just uploaded again, so that the sweep does not delete it before content refers to it. */
export async function refreshMedia({ db, group, nowMs }: ContentWriter, media: MediaItem): Promise<MediaItem> {
  await db
    .updateTable('media')
    .set({ updated_ms: nowMs })
    .where('group_id', '=', group.groupId)
    .where('id', '=', media.id)
    .execute()
  return { ...media, updatedMs: nowMs }
}

export async function deleteMedia(writer: ContentWriter, { id, name }: MediaItem): Promise<void> {
  const { db, group } = writer
  await db.deleteFrom('media').where('group_id', '=', group.groupId).where('id', '=', id).execute()
  writer.record({ type: 'media.deleted', subjectId: id, note: name })
  writer.bumpMediaRevision()
}

export interface MediaUsage {
  kind: 'object' | 'site'
  id: string
  /** Null for sites. */
  containerId: string | null
  /** Whether it is used in the working copy. */
  isDraft: boolean
}

/** The sites and objects that use a file, sites first and working copies last. Former versions of objects do not count. */
export async function findMediaUsages(
  group: GroupStore,
  key: string,
  { limit, skip }: { limit: number; skip: number } = { limit: 100, skip: 0 },
): Promise<{ users: MediaUsage[]; totalCount: number }> {
  const { groupId, database } = group
  const showing = database.read
    .selectFrom('object_fields')
    .innerJoin('containers', 'containers.id', 'object_fields.container_id')
    .where('containers.group_id', '=', groupId)
    .where('object_fields.field', '=', mediaField)
    .where('object_fields.filter_key', '=', filterKeyOfText(key))
  const { total } = await showing.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const sites = (await listSites(group)).filter(({ settings }) =>
    mediaUsesAnywhere(settings).some((use) => use.key === key),
  )
  const shownSites = sites.slice(skip, skip + limit)
  const objects = await showing
    .select(['object_fields.object_id as id', 'object_fields.container_id as containerId'])
    .orderBy('object_fields.object_id')
    .limit(limit - shownSites.length)
    .offset(Math.max(0, skip - sites.length))
    .execute()
  const live = sites.length + Number(total)
  const copies = await findCopiesWithMedia(group, key)
  const shown = shownSites.length + objects.length
  const copiesSkipped = Math.max(0, skip - live)
  const shownCopies = copies.slice(copiesSkipped, copiesSkipped + limit - shown)
  return {
    users: [
      ...shownSites.map(({ id }) => ({ kind: 'site' as const, id, containerId: null, isDraft: false })),
      ...objects.map((object) => ({ kind: 'object' as const, ...object, isDraft: false })),
      ...shownCopies.map(({ id, containerId }) => {
        const kind = containerId === null ? ('site' as const) : ('object' as const)
        return { kind, id, containerId, isDraft: true }
      }),
    ],
    totalCount: live + copies.length,
  }
}
