import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isMediaKey } from '../../content/media-keys.ts'
import { conflict } from '../../core/errors.ts'
import type { MediaStorage } from '../../media/storage.ts'
import { countObjects, listContainers } from '../../store/content/containers.ts'
import { listSites } from '../../store/content/sites.ts'
import { findWorkingCopy } from '../../store/content/working-copies.ts'
import { type Group, openContentOf } from '../../store/control/groups.ts'
import { insideTransaction } from '../../store/engine/database.ts'
import { iterateMediaItems } from '../../store/media/items.ts'
import type { GroupStore, Store } from '../../store/store.ts'
import { iterateExportOrders, iterateExportRows } from '../../store/transfer/export.ts'
import { toExportedCopy } from '../../store/transfer/working-copies.ts'
import { type Counts, linesFile, type MediaLine, mediaFolder } from '../export-format.ts'
import {
  containerLine,
  headLine,
  libraryItemLine,
  objectLine,
  orderLine,
  siteLine,
  versionLine,
} from '../line-models.ts'
import type { OnProgress } from '../progress.ts'
import { fillFolder } from './folder.ts'
import { createLineWriter, type LineWriter } from './line-writer.ts'

export interface ExportDeps {
  store: Store
  storage: MediaStorage
  nowMs: number
  onProgress: OnProgress
}

async function writeContent(lines: LineWriter, group: GroupStore, onProgress: OnProgress): Promise<void> {
  for (const site of await listSites(group)) {
    const copy = await findWorkingCopy(group, site.id)
    await lines.write(siteLine(site, copy && toExportedCopy(copy)))
  }
  const containers = await listContainers(group)
  const total = [...(await countObjects(group)).values()].reduce((sum, count) => sum + count, 0)
  for (const container of containers) {
    await lines.write(containerLine(container))
    for await (const row of iterateExportRows(group, container.id)) {
      await lines.write(row.kind === 'object' ? objectLine(row.object) : versionLine(row.version))
      onProgress({ stage: 'Writing objects', done: lines.counts.objects, total })
    }
  }
}

/** Copies one file and returns its line; undefined if it was deleted in the meantime. */
async function copyFile(
  storage: MediaStorage,
  { id, bucketName }: Group,
  key: string,
  folder: string,
): Promise<MediaLine | undefined> {
  const path = join(folder, mediaFolder, key.slice(id.length + 1))
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const digest = createHash('sha256')
  let bytes = 0
  const measure = async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      digest.update(chunk)
      bytes += chunk.length
      yield chunk
    }
  }
  try {
    await pipeline(storage.read(bucketName, key), measure, createWriteStream(path, { mode: 0o600 }))
  } catch (error) {
    const { code, path: missing } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' || missing === path) throw error
    await rm(path, { force: true })
    return undefined
  }
  return { type: 'media', key, bytes, sha256: digest.digest('hex') }
}

async function writeMedia(
  lines: LineWriter,
  group: Group,
  folder: string,
  { storage, onProgress }: ExportDeps,
): Promise<void> {
  for await (const { key } of storage.list(group.bucketName, group.id)) {
    if (!isMediaKey(key)) continue // not one of our files: no content can refer to it
    const copied = await copyFile(storage, group, key, folder)
    if (copied) await lines.write(copied)
    onProgress({ stage: 'Copying files', done: lines.counts.media, total: 0 })
  }
}

/**
 * Exports a group from one database snapshot, while others may keep writing. Files are copied afterwards, outside of the
 * snapshot: that may take long, and must not keep a transaction idle.
 */
export async function exportGroup(deps: ExportDeps, group: Group, folder: string): Promise<Counts> {
  if (group.deletingMs !== null) throw conflict('This group is being deleted and can no longer be exported.')
  const { groupId, database } = await openContentOf(deps.store, group)
  return fillFolder(folder, group.id, async (draft) => {
    const lines = await createLineWriter(join(draft, linesFile))
    try {
      await lines.write(headLine(group, deps.nowMs))
      await database.snapshot(async (read) => {
        const content = { groupId, database: insideTransaction(read, database) }
        await writeContent(lines, content, deps.onProgress)
        for await (const item of iterateMediaItems(content)) await lines.write(libraryItemLine(item))
        for await (const order of iterateExportOrders(content)) await lines.write(orderLine(order))
      })
      await writeMedia(lines, group, draft, deps)
      await lines.finish()
    } finally {
      await lines.close()
    }
    return lines.counts
  })
}
