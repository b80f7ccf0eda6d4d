import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import type { TObject } from 'typebox'
import { yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import { AppError, invalid } from '../core/errors.ts'
import { checkInput, maxDepth, maxEntries, maxParts } from './check-input.ts'

/** One value per this number of allowed bytes, since a parsed value takes many times its length. */
const bytesPerPart = 16
/** Each new set of names costs the parser as much as some ten values. */
const maxKeys = 50_000
/** Each value costs as much as some fifty characters of a text. */
const charactersPerPart = 50
/** Of a number, or of blanks: nothing but a text has more. */
const maxRunBytes = 10_000

const tooLarge = () => new AppError('PayloadTooLarge', 'The body is too large.')

/** Bytes are joined as they arrive: as separate chunks of one byte each they would take a hundred times the memory. */
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

/** The bytes of a body, at most as many as its route takes. What the meter refuses is read to its end, and then refused. */
export async function readBody(
  { headers, routeOptions }: FastifyRequest,
  payload: Readable,
  meter?: JsonMeter,
): Promise<Buffer> {
  const { bodyLimit: limitBytes } = routeOptions
  const { 'content-length': declared } = headers
  if (Number(declared) > limitBytes) throw tooLarge()
  const buffer = createBuffer(limitBytes)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const breakOff = () => reject(invalid('The body did not come to its end.'))
  let refusal: unknown
  function count(chunk: Buffer): void {
    try {
      meter?.add(chunk)
    } catch (error) {
      refusal = error
    }
  }
  function take(chunk: Buffer | string): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    try {
      buffer.add(bytes)
    } catch (error) {
      reject(error)
      return
    }
    if (refusal === undefined) count(bytes)
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
  if (refusal !== undefined) throw refusal
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

/** Bytes of a text that are looked at one by one before its end is searched for. */
const lookedAtOnce = 256

function nextQuote(chunk: Uint8Array, start: number): number {
  const found = chunk.indexOf(quoteCode, start)
  return found === -1 ? chunk.length : found
}

/** A quote belongs to the text behind an odd number of backslashes: then what follows it comes next. */
function unescaped(chunk: Uint8Array, start: number, quote: number): number {
  let before = quote
  while (before > start && chunk[before - 1] === backslashCode) before -= 1
  return (quote - before) % 2 === 0 ? quote : quote + 1
}

/** Counts JSON chunk by chunk, as it comes: no chunk is long enough to make others wait. */
export interface JsonMeter {
  /** Throws as soon as there is too much. */
  add(chunk: Uint8Array): void
  /** How many characters of a plain text take as long to parse and to check. */
  cost(): number
}

/**
 * Counts how deep JSON is nested and how much it holds, before it is parsed: the parser would go along with any depth, and
 * 8 MB of brackets take it seconds. Whether it is JSON at all is left to the parser.
 */
export function createJsonMeter(maxParts: number): JsonMeter {
  const entries = new Uint32Array(maxDepth + 1) // of each list or object that is open
  let depth = 0
  let parts = 0
  let keys = 0
  let isInText = false
  let isEscaped = false // a chunk may end behind a backslash
  let runBytes = 0 // since something had a meaning

  /** Where a text ends, or the chunk if that is before it. A search finds the end of a long text, but is slow where quotes are dense. */
  function skipText(chunk: Uint8Array, start: number): number {
    let at = start + (isEscaped ? 1 : 0)
    for (let looked = 0; at < chunk.length && chunk[at] !== quoteCode; looked += 1) {
      if (looked === lookedAtOnce) {
        at = unescaped(chunk, at, nextQuote(chunk, at))
        looked = 0
      } else at += chunk[at] === backslashCode ? 2 : 1
    }
    isInText = at >= chunk.length
    isEscaped = at > chunk.length
    return at
  }

  function countKey(): void {
    keys += 1
    if (keys > maxKeys) throw invalid(`The input has more than ${maxKeys} keys.`)
  }

  function open(): void {
    depth += 1
    if (depth > maxDepth) throw invalid(`The input is nested more than ${maxDepth} deep.`)
    entries[depth] = 0
  }

  function countEntry(): void {
    const count = (entries[depth] as number) + 1
    entries[depth] = count
    if (count > maxEntries) throw invalid(`The input has a list or an object of more than ${maxEntries} entries.`)
    parts += 1
    if (parts > maxParts) throw invalid(`The input has more than ${maxParts} parts.`)
  }

  let bytes = 0
  return {
    cost: () => bytes + charactersPerPart * (parts + keys),
    add(chunk) {
      bytes += chunk.length
      let runStart = isInText ? skipText(chunk, 0) + 1 : -runBytes
      const checkRun = (end: number): void => {
        runBytes = Math.max(0, end - runStart)
        if (runBytes > maxRunBytes)
          throw invalid(`The input has a number of more than ${maxRunBytes} characters, or as many blanks.`)
      }
      for (let at = Math.max(0, runStart); at < chunk.length; at += 1) {
        const meaning = meaningOf[chunk[at] as number]
        if (meaning === meanings.none) continue
        checkRun(at)
        if (meaning === meanings.quote) at = skipText(chunk, at + 1)
        else if (meaning === meanings.closes) depth = depth > 0 ? depth - 1 : 0
        else if (meaning === meanings.colon) countKey()
        else {
          if (meaning === meanings.opens) open()
          countEntry()
        }
        runStart = at + 1
      }
      checkRun(chunk.length)
    },
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a JSON body, in characters of a plain text. */
    bodyCost: number
  }
}

/** JSON for all routes: read and counted within the route's limits, then parsed as the framework does it. */
export function parseJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.decorateRequest('bodyCost', 0)
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: Readable) => {
    const { bodyLimit } = request.routeOptions
    const meter = createJsonMeter(Math.min(maxParts, Math.ceil(bodyLimit / bytesPerPart)))
    const bytes = await readBody(request, payload, meter)
    await yieldForHeavyWork(meter.cost())
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    parse(request, bytes.toString(), (error, body) => (error ? reject(error) : resolve(body)))
    const body = await promise
    request.bodyCost = meter.cost()
    return body
  })
}

/** Validates a body by the schema that also documents it. Unknown keys are kept, and never read. */
function parseBody(schema: TObject, body: unknown): object {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid('The body must be a JSON object.')
  return checkInput(schema, body)
}

export const compileBody: FastifySchemaCompiler<TObject> = ({ schema }) => {
  return (body: unknown) => {
    try {
      return { value: parseBody(schema, body) }
    } catch (error) {
      return { error: error as Error }
    }
  }
}
