import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { RawAnswer } from './instances.ts'
import type { CorrectAnswer } from './reference.ts'

export interface Question {
  method: 'GET' | 'HEAD'
  acceptEncoding: string | undefined
  ifNoneMatch: string | undefined
}

/** The tag of the same content in each encoding. */
export function tagsOf(etag: string): string[] {
  return [etag, ...['gz', 'br'].map((encoding) => `${etag.slice(0, -1)}-${encoding}"`)]
}

function isNotModified({ etag }: CorrectAnswer, ifNoneMatch: string | undefined): boolean {
  if (etag === undefined || ifNoneMatch === undefined) return false
  return ifNoneMatch === '*' || tagsOf(etag).some((tag) => ifNoneMatch.includes(tag))
}

function decode({ headers, body }: RawAnswer): string {
  const encoding = headers['content-encoding']
  if (encoding === 'gzip') return gunzipSync(body).toString()
  if (encoding === 'br') return brotliDecompressSync(body).toString()
  if (encoding === undefined) return body.toString()
  throw new Error(`An answer came in the encoding ${encoding}.`)
}

function isTagRight({ headers }: RawAnswer, { etag }: CorrectAnswer): boolean {
  if (etag === undefined) return headers.etag === undefined
  const [plain, gzip, br] = tagsOf(etag)
  const encoding = headers['content-encoding']
  if (encoding === 'gzip') return headers.etag === gzip
  if (encoding === 'br') return headers.etag === br
  return headers.etag === plain
}

function isBodyRight(answer: RawAnswer, expected: CorrectAnswer, { method }: Question): boolean {
  if (method === 'GET') return decode(answer) === expected.body
  const isPlain = answer.headers['content-encoding'] === undefined
  const isLengthRight = Number(answer.headers['content-length']) === Buffer.byteLength(expected.body)
  return answer.body.length === 0 && (isLengthRight || !isPlain)
}

/** Whether an answer equals that of the reference: status, ETag and every byte of the content, in any encoding. */
export function matches(answer: RawAnswer, expected: CorrectAnswer, question: Question): boolean {
  const { status, headers } = answer
  if (headers['cache-control'] !== expected.cacheControl) return false
  if (isNotModified(expected, question.ifNoneMatch)) {
    const isKnownTag = expected.etag !== undefined && tagsOf(expected.etag).includes(headers.etag ?? '')
    return status === 304 && isKnownTag && answer.body.length === 0
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && !question.acceptEncoding?.includes(encoding === 'gzip' ? 'gzip' : 'br')) return false
  return status === expected.status && isTagRight(answer, expected) && isBodyRight(answer, expected, question)
}
