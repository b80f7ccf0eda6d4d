import type { Readable } from 'node:stream'
import type { S3Request, SendToS3 } from './client.ts'
import { responseFailure } from './failure.ts'
import { readElement, writeParts } from './xml.ts'

/** S3 accepts parts from 5 MB, and at most 10,000. */
export const partBytes = 16 * 1024 ** 2

/** Splits content into parts. A full part is yielded when more has arrived, so that the last one is known as such. */
export async function* inParts(content: Buffer | Readable): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  let chunks: Uint8Array[] = []
  let room = partBytes
  for await (const chunk of Buffer.isBuffer(content) ? [content] : content) {
    let rest: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    while (rest.length > room) {
      const bytes = Buffer.concat([...chunks, rest.subarray(0, room)])
      rest = rest.subarray(room)
      chunks = []
      room = partBytes
      yield { bytes, isLast: false }
    }
    chunks.push(rest)
    room -= rest.length
  }
  yield { bytes: Buffer.concat(chunks), isLast: true }
}

/** A file uploaded part by part, invisible until it is complete. */
export interface MultipartUpload {
  add(bytes: Buffer): Promise<void>
  complete(): Promise<void>
  /** Never fails, so as not to hide the cause. A sweep removes what remains. */
  abort(): Promise<void>
}

type FileName = Required<Pick<S3Request, 'bucketName' | 'key'>>

export async function abortUpload(send: SendToS3, file: FileName, uploadId: string): Promise<void> {
  const request: S3Request = { ...file, operation: 'abort an upload', method: 'DELETE', query: { uploadId } }
  await send(request, async (response) => void (await response.text()))
}

export async function startUpload(
  send: SendToS3,
  file: FileName,
  headers: Record<string, string>,
): Promise<MultipartUpload> {
  const start: S3Request = { ...file, operation: 'start an upload', method: 'POST', query: { uploads: '' }, headers }
  const uploadId = await send(start, async (response) => {
    const id = readElement(await response.text(), 'UploadId')
    if (!id) throw new Error('the response has no upload id')
    return id
  })
  const etags: string[] = []

  return {
    async add(body) {
      const query = { partNumber: String(etags.length + 1), uploadId }
      const part: S3Request = { ...file, operation: 'write a part of a file', method: 'PUT', query, body }
      const etag = await send(part, async (response) => {
        await response.text()
        return response.headers.get('etag')
      })
      etags.push(etag ?? '')
    },

    async complete() {
      const body = Buffer.from(writeParts(etags))
      const request: S3Request = {
        ...file,
        operation: 'complete an upload',
        method: 'POST',
        query: { uploadId },
        headers: { 'content-type': 'application/xml' },
        body,
      }
      await send(request, async (response) => {
        const text = await response.text()
        // S3 sends the status before it begins to assemble the parts.
        if (readElement(text, 'Error') !== undefined) throw responseFailure(request, 500, text)
      })
    },

    abort: () => abortUpload(send, file, uploadId).catch(() => undefined),
  }
}
