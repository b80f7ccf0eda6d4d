import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError, invalid } from '../errors.ts'
import { maxDepth, maxEntries, maxParts } from './check-input.ts'

/** A body may hold one value in so many of the bytes it is allowed: each takes many times its length once it is parsed. */
const bytesPerPart = 16
/** Each new set of names costs the parser as much as some ten values. */
const maxKeys = 100_000

const tooLarge = () => new AppError('PayloadTooLarge', 'The body is too large.')

/** Bytes that are put together as they come: kept apart, chunks of one byte each would take a hundred times the memory. */
function createBuffer(limitBytes: number) {
  let bytes = Buffer.alloc(0)
  let length = 0
  return {
    add(chunk: Buffer): void {
      const needed = length + chunk.length
      if (needed > limitBytes) throw tooLarge()
      if (needed > bytes.length) {
        const longer = Buffer.allocUnsafeSlow(Math.min(limitBytes, 2 * needed))
        bytes.copy(longer, 0, 0, length)
        bytes = longer
      }
      chunk.copy(bytes, length)
      length = needed
    },
    get: () => bytes.subarray(0, length),
  }
}

/** The bytes of a body, at most as many as its route takes. */
export async function readBody({ headers, routeOptions }: FastifyRequest, payload: Readable): Promise<Buffer> {
  const { bodyLimit: limitBytes } = routeOptions
  const { 'content-length': declared } = headers
  if (Number(declared) > limitBytes) throw tooLarge()
  const buffer = createBuffer(limitBytes)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const breakOff = () => reject(invalid('The body did not come to its end.'))
  function take(chunk: Buffer | string): void {
    try {
      buffer.add(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    } catch (error) {
      reject(error)
    }
  }
  payload.on('data', take).on('end', resolve).on('error', breakOff).resume()
  try {
    await promise
  } finally {
    payload.off('data', take).off('end', resolve).off('error', breakOff)
  }
  const bytes = buffer.get()
  if (declared !== undefined && Number(declared) !== bytes.length)
    throw invalid('The body is not as long as Content-Length says.')
  return bytes
}

const codeOf = (sign: string): number => sign.charCodeAt(0)
const [quoteCode, backslashCode] = [codeOf('"'), codeOf('\\')]
const meanings = { none: 0, opens: 1, closes: 2, comma: 3, colon: 4, quote: 5 }
/** What each byte does outside of a text; most do nothing. */
const meaningOf = new Uint8Array(256)
for (const [signs, meaning] of [
  ['[{', meanings.opens],
  [']}', meanings.closes],
  [',', meanings.comma],
  [':', meanings.colon],
  ['"', meanings.quote],
] as const)
  for (const sign of signs) meaningOf[codeOf(sign)] = meaning

/** Where a text ends that begins at a quote. */
function endOfText(bytes: Uint8Array, start: number): number {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== quoteCode) at += bytes[at] === backslashCode ? 2 : 1
  return at
}

/**
 * Counts how deep JSON is nested and how much it holds, before it is parsed: the parser would go along with any depth, and
 * 8 MB of brackets take it seconds. Whether it is JSON at all is left to the parser.
 */
export function checkJsonSize(bytes: Uint8Array, mostParts: number): void {
  const entries = new Uint32Array(maxDepth + 1) // of each list or object that is open
  let depth = 0
  let parts = 0
  let keys = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const meaning = meaningOf[bytes[at] as number]
    if (meaning === meanings.none) continue
    if (meaning === meanings.quote) at = endOfText(bytes, at)
    else if (meaning === meanings.closes) depth = depth > 0 ? depth - 1 : 0
    else if (meaning === meanings.colon) {
      keys += 1
      if (keys > maxKeys) throw invalid(`The input has more than ${maxKeys} keys.`)
    } else {
      if (meaning === meanings.opens) {
        depth += 1
        if (depth > maxDepth) throw invalid(`The input is nested more than ${maxDepth} deep.`)
        entries[depth] = 0
      }
      const count = (entries[depth] as number) + 1
      entries[depth] = count
      if (count > maxEntries) throw invalid(`The input has a list or an object of more than ${maxEntries} entries.`)
      parts += 1
      if (parts > mostParts) throw invalid(`The input has more than ${mostParts} parts.`)
    }
  }
}

/** JSON for all routes: read within the route's limit, counted, then parsed as the framework does it. */
export function parseJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: Readable) => {
    const bytes = await readBody(request, payload)
    checkJsonSize(bytes, Math.min(maxParts, Math.ceil(request.routeOptions.bodyLimit / bytesPerPart)))
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    parse(request, bytes.toString(), (error, body) => (error ? reject(error) : resolve(body)))
    return promise
  })
}
