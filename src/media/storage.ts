import { once } from 'node:events'
import type { Readable } from 'node:stream'

export interface StoredFile {
  key: string
  bytes: number
  modifiedMs: number
}

/** A multipart upload neither completed nor aborted. Its parts use storage, and listings do not show it. */
export interface UnfinishedUpload {
  key: string
  uploadId: string
  startedMs: number
}

/** Storage of files: a folder of this machine, or an S3 store. */
export interface MediaStorage {
  /** Atomic and durable. */
  write(bucketName: string, key: string, content: Buffer | Readable): Promise<void>
  /** A missing file is an error of the stream, with the code `ENOENT`. */
  read(bucketName: string, key: string): Readable
  /** All files in the folder, ordered by key; includes those that others put there. */
  list(bucketName: string, folder: string): AsyncIterable<StoredFile>
  /** Ignores missing files. */
  remove(bucketName: string, keys: readonly string[]): Promise<void>
  /** Rejects with `UnfinishedUploadsUnavailable` where the store does not list them. */
  listUnfinished(bucketName: string, folder: string): AsyncIterable<UnfinishedUpload>
  removeUnfinished(bucketName: string, upload: UnfinishedUpload): Promise<void>
  removeFolder(bucketName: string, folder: string): Promise<void>
}

/** The store cannot list unfinished uploads, or does not permit it. */
export class UnfinishedUploadsUnavailable extends Error {
  override readonly name = 'UnfinishedUploadsUnavailable'
}

export async function isStored(storage: MediaStorage, bucketName: string, key: string): Promise<boolean> {
  const stream = storage.read(bucketName, key)
  try {
    await once(stream, 'readable')
    return true
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  } finally {
    stream.destroy()
  }
}
