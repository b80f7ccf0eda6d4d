import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isForeignKey, isMediaKey } from '../content/media-keys.ts'
import { dayMs } from '../core/clock.ts'
import { writeWhole } from '../core/write-file-atomically.ts'
import type { MediaStorage, StoredFile } from './storage.ts'

export interface LocalMediaStorage extends MediaStorage {
  folderOf(bucketName: string): string
  /** Removes what crashed processes left behind. */
  tidy(nowMs: number): Promise<void>
}

/** Files being written. No key can have this name. */
const draftsFolder = '.drafts'

/** Longer than any upload or job. */
const staleAfterMs = dayMs

/** Removes entries of a folder that no process can still be using. */
export async function removeStale(folder: string, nowMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const path = join(folder, name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: nowMs }))
    if (nowMs - mtimeMs > staleAfterMs) await rm(path, { recursive: true, force: true })
  }
}

const ifMissing =
  <Value>(value: Value) =>
  (error: NodeJS.ErrnoException): Value => {
    if (error.code === 'ENOENT') return value
    throw error
  }

/** Includes files that others put there. Symbolic links are not followed. */
async function* listFiles(root: string, folder: string): AsyncGenerator<StoredFile> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(ifMissing([]))
  const names = entries
    .filter((entry) => entry.isDirectory() || entry.isFile())
    // With its slash, a folder sorts as its files do among all keys.
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort()
  for (const name of names) {
    const key = `${folder}/${name}`
    if (!isForeignKey(key.replace(/\/$/, ''))) continue
    if (name.endsWith('/')) {
      yield* listFiles(root, key.slice(0, -1))
    } else {
      const file = await stat(join(root, key)).catch(ifMissing(undefined))
      if (file) yield { key, bytes: file.size, modifiedMs: file.mtimeMs }
    }
  }
}

/** One folder for each bucket. */
export function createLocalStorage(root: string): LocalMediaStorage {
  const folderOf = (bucketName: string): string => join(root, bucketName)
  const pathOf = (bucketName: string, key: string, isAllowed = isMediaKey): string => {
    if (!isAllowed(key)) throw new Error(`${JSON.stringify(key)} cannot be stored as a media key.`)
    return join(folderOf(bucketName), key)
  }
  return {
    folderOf,
    async removeFolder(bucketName, folder) {
      await rm(pathOf(bucketName, folder), { recursive: true, force: true })
    },
    async remove(bucketName, keys) {
      for (const key of keys) await rm(pathOf(bucketName, key, isForeignKey), { force: true })
    },
    async tidy(nowMs) {
      const buckets = await readdir(root).catch(ifMissing([]))
      for (const bucketName of buckets) await removeStale(join(folderOf(bucketName), draftsFolder), nowMs)
    },
    async *listUnfinished() {}, // drafts are removed by `tidy`
    async removeUnfinished() {},
    read: (bucketName, key) => createReadStream(pathOf(bucketName, key)),
    list: (bucketName, folder) => listFiles(folderOf(bucketName), folder),
    async write(bucketName, key, content) {
      const path = pathOf(bucketName, key)
      const drafts = join(folderOf(bucketName), draftsFolder)
      for (const folder of [dirname(path), drafts]) await mkdir(folder, { recursive: true })
      const draft = join(drafts, randomBytes(9).toString('hex')) // one for each writer
      await writeWhole({ path, content, draft })
    },
  }
}
