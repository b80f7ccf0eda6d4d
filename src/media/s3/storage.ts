import { Readable } from 'node:stream'
import { createSemaphore } from '../../concurrency/semaphore.ts'
import { isForeignKey, isMediaKey } from '../../content/media-keys.ts'
import { contentTypeOf, dispositionOf } from '../content-types.ts'
import { type MediaStorage, type StoredFile, type UnfinishedUpload, UnfinishedUploadsUnavailable } from '../storage.ts'
import { createS3Client, type S3Options, type S3Request } from './client.ts'
import { connectionFailure, S3Failure } from './failure.ts'
import { abortUpload, inParts, type MultipartUpload, startUpload } from './multipart-upload.ts'
import { readListing, readUploads, type UploadsMarker } from './xml.ts'

/** Files are removed by single requests, which every store supports, this many in parallel. */
const maxParallelRemovals = 8
/** Each keeps a part of its file in memory, twice. */
const maxConcurrentWrites = 4

/** Responses of stores that cannot list unfinished uploads, or do not permit it. */
const unlistedStatus = [400, 403, 404, 405, 501]

function checkKeys(keys: readonly string[], isAllowed = isMediaKey): void {
  const bad = keys.find((key) => !isAllowed(key))
  if (bad !== undefined) throw new Error(`${JSON.stringify(bad)} cannot be a media key.`)
}

/** Headers with which the store serves the file to browsers. */
function headersOf(key: string): Record<string, string> {
  const type = contentTypeOf(key)
  return {
    'cache-control': 'max-age=31536000, immutable', // the content of a key never changes
    'content-type': type,
    ...(dispositionOf(type) === 'attachment' && { 'content-disposition': 'attachment' }),
  }
}

async function* eachKey(keys: readonly string[]): AsyncGenerator<string> {
  yield* keys
}

async function* keysIn(files: AsyncIterable<StoredFile>): AsyncGenerator<string> {
  for await (const { key } of files) yield key
}

const isMissingFile = (error: unknown): boolean => error instanceof S3Failure && error.s3Code === 'NoSuchKey'

/** Buckets of a store that speaks S3, such as Amazon's, R2 or MinIO. */
export function createS3Storage(options: S3Options): MediaStorage {
  const send = createS3Client(options)
  const writes = createSemaphore({ maxPerKey: maxConcurrentWrites })

  async function* download(bucketName: string, key: string): AsyncGenerator<Uint8Array> {
    const request: S3Request = { operation: 'read a file', method: 'GET', bucketName, key }
    const body = await send(request, (response) => response.body).catch((error) => {
      if (!isMissingFile(error)) throw error
      const message = `There is no file ${JSON.stringify(key)} in the bucket "${bucketName}"`
      throw Object.assign(new Error(message), { code: 'ENOENT' })
    })
    try {
      if (body) yield* body
    } catch (error) {
      throw connectionFailure(request, error)
    }
  }

  async function* list(bucketName: string, folder: string): AsyncGenerator<StoredFile> {
    checkKeys([folder])
    const request: S3Request = { operation: 'list files', method: 'GET', bucketName }
    const query = { 'list-type': '2', prefix: `${folder}/` }
    let token: string | undefined
    do {
      const page = { ...request, query: { ...query, ...(token !== undefined && { 'continuation-token': token }) } }
      const { files, nextToken } = await send(page, async (response) => readListing(await response.text()))
      yield* files.filter(({ key }) => isForeignKey(key))
      token = nextToken
    } while (token !== undefined)
  }

  async function* listUnfinished(bucketName: string, folder: string): AsyncGenerator<UnfinishedUpload> {
    checkKeys([folder])
    const request: S3Request = { operation: 'list unfinished uploads', method: 'GET', bucketName }
    const query = { uploads: '', prefix: `${folder}/` }
    let marker: UploadsMarker | undefined
    do {
      const after = marker && { 'key-marker': marker.key, 'upload-id-marker': marker.uploadId }
      const page = await send({ ...request, query: { ...query, ...after } }, (response) => response.text()).catch(
        (error) => {
          if (error instanceof S3Failure && unlistedStatus.includes(error.httpStatus ?? 0))
            throw new UnfinishedUploadsUnavailable(error.message, { cause: error })
          throw error
        },
      )
      const found = readUploads(page)
      if (!found) throw new UnfinishedUploadsUnavailable('The store does not list unfinished uploads.')
      yield* found.uploads.filter(({ key }) => key.startsWith(`${folder}/`) && isForeignKey(key))
      marker = found.next
    } while (marker !== undefined)
  }

  async function removeOne(bucketName: string, key: string): Promise<void> {
    const request: S3Request = { operation: 'remove a file', method: 'DELETE', bucketName, key }
    await send(request, (response) => response.text()).catch((error) => {
      if (!isMissingFile(error)) throw error
    })
  }

  /** All workers draw from the same iterator. */
  async function removeAll(bucketName: string, keys: AsyncGenerator<string>): Promise<void> {
    const worker = async (): Promise<void> => {
      for await (const key of keys) await removeOne(bucketName, key)
    }
    await Promise.all(Array.from({ length: maxParallelRemovals }, worker))
  }

  return {
    list,

    read: (bucketName, key) => {
      checkKeys([key])
      return Readable.from(download(bucketName, key), { objectMode: false })
    },

    write: (bucketName, key, content) =>
      writes.run('write', async () => {
        checkKeys([key])
        const file = { bucketName, key }
        const headers = headersOf(key)
        let upload: MultipartUpload | undefined
        try {
          for await (const { bytes, isLast } of inParts(content)) {
            if (isLast && !upload) {
              const request: S3Request = { ...file, operation: 'write a file', method: 'PUT', headers, body: bytes }
              await send(request, (response) => response.text())
              return
            }
            upload ??= await startUpload(send, file, headers)
            await upload.add(bytes)
          }
          await upload?.complete()
        } catch (error) {
          await upload?.abort()
          throw error
        }
      }),

    listUnfinished,

    async removeUnfinished(bucketName, { key, uploadId }) {
      checkKeys([key], isForeignKey)
      await abortUpload(send, { bucketName, key }, uploadId).catch((error) => {
        if (!(error instanceof S3Failure && error.s3Code === 'NoSuchUpload')) throw error
      })
    },

    async remove(bucketName, keys) {
      checkKeys(keys, isForeignKey)
      await removeAll(bucketName, eachKey(keys))
    },

    removeFolder: (bucketName, folder) => removeAll(bucketName, keysIn(list(bucketName, folder))),
  }
}
