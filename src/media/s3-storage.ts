import { Readable } from 'node:stream'
import { isForeignKey, isMediaKey } from '../content/media-keys.ts'
import { createSlots } from '../slots.ts'
import { contentTypeOf, dispositionOf } from './content-types.ts'
import { createS3Client, type S3Options, type S3Request } from './s3-client.ts'
import { broken, S3Failure } from './s3-failure.ts'
import { abortUpload, inParts, type MultipartUpload, startUpload } from './s3-upload.ts'
import { readListing, readUploads, type UploadsMarker } from './s3-xml.ts'
import { type MediaStorage, type StoredFile, UnfinishedUnknown, type UnfinishedUpload } from './storage.ts'

/** Files are removed one by one, which every store understands; so that it does not take long, some at a time. */
const removalsAtOnce = 8
/** Each holds a part of its file in memory, twice. */
const writesAtOnce = 4

/** How stores say that they cannot list unfinished uploads, or that we may not. */
const unlistedStatus = [400, 403, 404, 405, 501]

function checkKeys(keys: readonly string[], isAllowed = isMediaKey): void {
  const bad = keys.find((key) => !isAllowed(key))
  if (bad !== undefined) throw new Error(`${JSON.stringify(bad)} cannot be a media key.`)
}

/** What the store tells the browser of a visitor. */
function headersOf(key: string): Record<string, string> {
  const type = contentTypeOf(key)
  return {
    'cache-control': 'max-age=31536000, immutable', // what lies under a key never changes
    'content-type': type,
    ...(dispositionOf(type) === 'attachment' && { 'content-disposition': 'attachment' }),
  }
}

const isMissingFile = (error: unknown): boolean => error instanceof S3Failure && error.s3Code === 'NoSuchKey'

/** Buckets of a store that speaks S3, such as Amazon's, R2 or MinIO. */
export function createS3Storage(options: S3Options): MediaStorage {
  const send = createS3Client(options)
  const writing = createSlots(writesAtOnce)

  async function* download(bucketName: string, key: string): AsyncGenerator<Uint8Array> {
    const request: S3Request = { operation: 'read a file', method: 'GET', bucketName, key }
    const body = await send(request, (answer) => answer.body).catch((error) => {
      if (!isMissingFile(error)) throw error
      const message = `There is no file ${JSON.stringify(key)} in the bucket "${bucketName}"`
      throw Object.assign(new Error(message), { code: 'ENOENT' })
    })
    try {
      if (body) yield* body
    } catch (error) {
      throw broken(request, error)
    }
  }

  async function* list(bucketName: string, folder: string): AsyncGenerator<StoredFile> {
    checkKeys([folder])
    const request: S3Request = { operation: 'list files', method: 'GET', bucketName }
    const query = { 'list-type': '2', prefix: `${folder}/` }
    let token: string | undefined
    do {
      const page = { ...request, query: { ...query, ...(token !== undefined && { 'continuation-token': token }) } }
      const { files, nextToken } = await send(page, async (answer) => readListing(await answer.text()))
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
      const page = await send({ ...request, query: { ...query, ...after } }, (answer) => answer.text()).catch(
        (error) => {
          if (error instanceof S3Failure && unlistedStatus.includes(error.httpStatus ?? 0))
            throw new UnfinishedUnknown(error.message, { cause: error })
          throw error
        },
      )
      const found = readUploads(page)
      if (!found) throw new UnfinishedUnknown('The store does not list unfinished uploads.')
      yield* found.uploads.filter(({ key }) => key.startsWith(`${folder}/`) && isForeignKey(key))
      marker = found.next
    } while (marker !== undefined)
  }

  async function removeOne(bucketName: string, key: string): Promise<void> {
    const request: S3Request = { operation: 'remove a file', method: 'DELETE', bucketName, key }
    await send(request, (answer) => answer.text()).catch((error) => {
      if (!isMissingFile(error)) throw error
    })
  }

  /** The removers share one row of keys: each takes the next when it is done with the last. */
  async function removeAll(bucketName: string, keys: AsyncGenerator<string>): Promise<void> {
    const remover = async (): Promise<void> => {
      for await (const key of keys) await removeOne(bucketName, key)
    }
    await Promise.all(Array.from({ length: removalsAtOnce }, remover))
  }

  return {
    list,

    read: (bucketName, key) => {
      checkKeys([key])
      return Readable.from(download(bucketName, key), { objectMode: false })
    },

    write: (bucketName, key, content) =>
      writing.use(async () => {
        checkKeys([key])
        const file = { bucketName, key }
        const headers = headersOf(key)
        let upload: MultipartUpload | undefined
        try {
          for await (const { bytes, isLast } of inParts(content)) {
            if (isLast && !upload) {
              const request: S3Request = { ...file, operation: 'write a file', method: 'PUT', headers, body: bytes }
              await send(request, (answer) => answer.text())
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
      await removeAll(
        bucketName,
        (async function* () {
          yield* keys
        })(),
      )
    },

    async removeFolder(bucketName, folder) {
      await removeAll(
        bucketName,
        (async function* () {
          for await (const { key } of list(bucketName, folder)) yield key
        })(),
      )
    },
  }
}
