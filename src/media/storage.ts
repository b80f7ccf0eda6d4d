import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { isMediaKey } from '../content/media-keys.ts'

/** Files of a bucket in a local folder. */
export interface MediaStorage {
  folderOf(bucketName: string): string
  write(bucketName: string, key: string, content: Buffer | Readable): Promise<void>
  /** A file that is not there is an error of the stream. */
  read(bucketName: string, key: string): Readable
  /** The keys of all files that begin with the folder's name, in their order. */
  list(bucketName: string, folder: string): AsyncIterable<string>
  /** Everything whose key begins with the folder's name. */
  removeFolder(bucketName: string, folder: string): Promise<void>
}

/** Drafts and whatever else cannot be a key are passed over; links are not followed. */
async function* listKeys(root: string, folder: string): AsyncGenerator<string> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const names = entries
    .filter((entry) => entry.isDirectory() || entry.isFile())
    // With its slash, a folder takes the place that its files have among all keys.
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort()
  for (const name of names) {
    const key = `${folder}/${name}`
    if (!isMediaKey(key.replace(/\/$/, ''))) continue
    if (name.endsWith('/')) yield* listKeys(root, key.slice(0, -1))
    else yield key
  }
}

export function createLocalStorage(dataDir: string): MediaStorage {
  const folderOf = (bucketName: string): string => join(dataDir, 'media', bucketName)
  const pathOf = (bucketName: string, key: string): string => {
    if (!isMediaKey(key)) throw new Error(`The media key ${JSON.stringify(key)} cannot be stored.`)
    return join(folderOf(bucketName), key)
  }
  return {
    folderOf,
    async removeFolder(bucketName, folder) {
      if (!isMediaKey(folder)) throw new Error(`The media folder ${JSON.stringify(folder)} cannot be removed.`)
      await rm(join(folderOf(bucketName), folder), { recursive: true, force: true })
    },
    read: (bucketName, key) => createReadStream(pathOf(bucketName, key)),
    list: (bucketName, folder) => listKeys(folderOf(bucketName), folder),
    async write(bucketName, key, content) {
      const path = pathOf(bucketName, key)
      await mkdir(dirname(path), { recursive: true })
      // A reader sees the whole file or none. Each writer has a draft of its own, under a name that no key can have.
      const draft = join(dirname(path), `.${randomBytes(9).toString('base64url')}.part`)
      try {
        await writeFile(draft, content)
        await rename(draft, path)
      } finally {
        await rm(draft, { force: true })
      }
    },
  }
}
