import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { answerTooLong } from '../content/answer-limit.ts'
import { contentHeaders, securityHeaders } from './answer-headers.ts'
import type { Content, Validity } from './content.ts'
import { type Encoding, encodings } from './encodings.ts'

/** Smaller bodies gain nothing that anybody would notice. */
export const leastCompressedBytes = 1024
const brotliQuality = 5
/** Some 60 tags. A longer list only costs time: who sends it gets the answer instead. */
const longestTagList = 2000

/** One way to send an answer: its bytes, and the tag that names exactly these. */
export interface Form {
  encoding: Encoding
  body: Buffer
  etag: string
  /** All headers that are the same whenever it is sent. */
  headers: Readonly<Record<string, string>>
  /** The same as the beginning of what goes over the wire. */
  head: string
}

/** The answer of a content endpoint, made once and sent as often as it is right. */
export interface Answer {
  /** It is right for one revision of the group's content and in this span of time. */
  revision: number
  fromMs: number
  untilMs: number
  /** As it was made; compressed ones when they are wanted. */
  forms: { identity: Form } & Partial<Record<Encoding, Form>>
}

/** The beginning of an answer as it goes over the wire. */
export const writeHead = (statusLine: string, headers: Readonly<Record<string, string>>): string =>
  [statusLine, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), ''].join('\r\n')

const tagEnds: Record<Encoding, string> = { identity: '"', gzip: '-gz"', br: '-br"' }

/** On every form. */
const sameHeaders = { ...securityHeaders, ...contentHeaders, 'content-type': 'application/json; charset=utf-8' }
const sameHead = writeHead('HTTP/1.1 200 OK', sameHeaders)

function makeForm(encoding: Encoding, body: Buffer, etag: string): Form {
  const packed = encoding !== 'identity'
  const headers = {
    ...sameHeaders,
    etag,
    'content-length': String(body.length),
    ...(packed && { 'content-encoding': encoding }),
  }
  const head = `${sameHead}etag: ${etag}\r\ncontent-length: ${body.length}\r\n${packed ? `content-encoding: ${encoding}\r\n` : ''}`
  return { encoding, body, etag, headers, head }
}

/** In memory of its own: a part of a larger piece would keep all of that alive. */
function bytesOf(text: string): Buffer {
  if (text.length > Buffer.poolSize) return Buffer.from(text)
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  bytes.write(text)
  return bytes
}

/** Content as it is sent, and the tag that names these bytes. */
export interface EncodedContent extends Validity {
  body: Buffer
  etag: string
}

export function encodeContent(
  { json, revision, untilMs }: Content,
  maxBytes = Number.POSITIVE_INFINITY,
): EncodedContent {
  const body = bytesOf(['{"success":true,"data":', ...json, ',"error":null}'].join(''))
  if (body.length > maxBytes) throw answerTooLong(maxBytes)
  return { body, etag: `"${hash('sha256', body, 'base64url').slice(0, 27)}"`, revision, untilMs }
}

export function makeAnswer({ body, etag, revision, untilMs }: EncodedContent, fromMs: number): Answer {
  return { revision, fromMs, untilMs, forms: { identity: makeForm('identity', body, etag) } }
}

const compressors: Record<Exclude<Encoding, 'identity'>, (body: Buffer) => Promise<Buffer>> = {
  gzip: promisify<Buffer, Buffer>(gzip),
  br: (body) =>
    promisify(brotliCompress)(body, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    }),
}

/** On a thread of its own; the same form again where nothing is gained by it. */
export async function compressForm(form: Form, encoding: Exclude<Encoding, 'identity'>): Promise<Form> {
  const compressed = await compressors[encoding](form.body)
  if (compressed.length >= form.body.length) return form
  const body = Buffer.allocUnsafeSlow(compressed.length)
  compressed.copy(body)
  return makeForm(encoding, body, form.etag.slice(0, -1) + tagEnds[encoding])
}

/**
 * The tag by which a client says that it has this answer, in whatever form (RFC 9110 §13.1.2); undefined where it has not.
 * It is this tag that belongs on the 304: it names the copy that is still right.
 */
export function heldTag({ forms: { identity } }: Answer, ifNoneMatch: string | undefined): string | undefined {
  if (ifNoneMatch === undefined || ifNoneMatch.length > longestTagList) return undefined
  if (ifNoneMatch === identity.etag) return ifNoneMatch
  const tags = encodings.map((encoding) => identity.etag.slice(0, -1) + tagEnds[encoding])
  for (const listed of ifNoneMatch.split(',')) {
    const tag = listed.trim().replace(/^W\//, '')
    if (tag === '*') return identity.etag
    if (tags.includes(tag)) return tag
  }
  return undefined
}
