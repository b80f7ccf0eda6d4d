import { once } from 'node:events'
import type { Readable } from 'node:stream'

/** A file as it lies in its bucket. */
export interface StoredFile {
  key: string
  bytes: number
  modifiedMs: number
}

/** An upload in parts that was begun, and neither completed nor aborted. Its parts take room, and no listing shows them. */
export interface UnfinishedUpload {
  key: string
  uploadId: string
  startedMs: number
}

/** Where the files of a bucket are kept: a folder of this machine, or a store that speaks S3. */
export interface MediaStorage {
  /** Afterwards the file is there as a whole and will stay, or it is not there at all. */
  write(bucketName: string, key: string, content: Buffer | Readable): Promise<void>
  /** A file that is not there is an error of the stream, with the code `ENOENT`. */
  read(bucketName: string, key: string): Readable
  /** All files whose key begins with the folder's name, in the order of their keys; also those that others have put there. */
  list(bucketName: string, folder: string): AsyncIterable<StoredFile>
  /** What is not there any more is not missed. */
  remove(bucketName: string, keys: readonly string[]): Promise<void>
  /** In a folder. Rejects with `UnfinishedUnknown` where the store does not say. */
  listUnfinished(bucketName: string, folder: string): AsyncIterable<UnfinishedUpload>
  removeUnfinished(bucketName: string, upload: UnfinishedUpload): Promise<void>
  /** Everything whose key begins with the folder's name. */
  removeFolder(bucketName: string, folder: string): Promise<void>
}

/** The store does not know how to list unfinished uploads, or we may not. */
export class UnfinishedUnknown extends Error {
  override readonly name = 'UnfinishedUnknown'
}

/** Whether a file can be read, without reading it. */
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
