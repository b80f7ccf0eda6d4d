import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isMediaKey } from '../content/media-keys.ts'

/** Files of a bucket in a local folder. */
export interface MediaStorage {
  folderOf(bucketName: string): string
  write(bucketName: string, key: string, bytes: Buffer): Promise<void>
}

export function createLocalStorage(dataDir: string): MediaStorage {
  const folderOf = (bucketName: string): string => join(dataDir, 'media', bucketName)
  return {
    folderOf,
    async write(bucketName, key, bytes) {
      if (!isMediaKey(key)) throw new Error(`The media key ${JSON.stringify(key)} cannot be stored.`)
      const path = join(folderOf(bucketName), key)
      await mkdir(dirname(path), { recursive: true })
      // A reader sees the whole file or none. Each writer has a draft of its own, under a name that no key can have.
      const draft = join(dirname(path), `.${randomBytes(9).toString('base64url')}.part`)
      try {
        await writeFile(draft, bytes)
        await rename(draft, path)
      } finally {
        await rm(draft, { force: true })
      }
    },
  }
}
