import type { Readable } from 'node:stream'
import type { S3Request, SendToS3 } from './s3-client.ts'
import { refused } from './s3-failure.ts'
import { readElement, writeParts } from './s3-xml.ts'

/** S3 takes no smaller ones than 5 MB and no more than 10,000 of them. */
export const partBytes = 16 * 1024 ** 2

/** Content in pieces of that size, one at a time. A full one is given when more has come, so the last is known as such. */
export async function* inParts(content: Buffer | Readable): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  let held: Uint8Array[] = []
  let room = partBytes
  for await (const chunk of Buffer.isBuffer(content) ? [content] : content) {
    let rest: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    while (rest.length > room) {
      const bytes = Buffer.concat([...held, rest.subarray(0, room)])
      rest = rest.subarray(room)
      held = []
      room = partBytes
      yield { bytes, isLast: false }
    }
    held.push(rest)
    room -= rest.length
  }
  yield { bytes: Buffer.concat(held), isLast: true }
}

/** A file that grows part by part and is there for nobody before it is complete. */
export interface MultipartUpload {
  add(bytes: Buffer): Promise<void>
  complete(): Promise<void>
  /** Does not fail: there is something worse to tell. A sweep clears away what stays behind. */
  abort(): Promise<void>
}

type FileName = Required<Pick<S3Request, 'bucketName' | 'key'>>

export async function abortUpload(send: SendToS3, file: FileName, uploadId: string): Promise<void> {
  const request: S3Request = { ...file, operation: 'abort an upload', method: 'DELETE', query: { uploadId } }
  await send(request, async (answer) => void (await answer.text()))
}

export async function startUpload(
  send: SendToS3,
  file: FileName,
  headers: Record<string, string>,
): Promise<MultipartUpload> {
  const start: S3Request = { ...file, operation: 'start an upload', method: 'POST', query: { uploads: '' }, headers }
  const uploadId = await send(start, async (answer) => {
    const id = readElement(await answer.text(), 'UploadId')
    if (!id) throw new Error('the answer names no upload')
    return id
  })
  const etags: string[] = []

  return {
    async add(body) {
      const query = { partNumber: String(etags.length + 1), uploadId }
      const part: S3Request = { ...file, operation: 'write a part of a file', method: 'PUT', query, body }
      const etag = await send(part, async (answer) => {
        await answer.text()
        return answer.headers.get('etag')
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
      await send(request, async (answer) => {
        const text = await answer.text()
        // S3 sends the status before it has begun to put the parts together.
        if (readElement(text, 'Error') !== undefined) throw refused(request, 500, text)
      })
    },

    abort: () => abortUpload(send, file, uploadId).catch(() => undefined),
  }
}
