import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import type { TObject } from 'typebox'
import { yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import { AppError, invalid } from '../core/errors.ts'
import { checkInput, maxDepth, maxEntries, maxParts } from './check-input.ts'

/** One value per this number of allowed bytes, since a parsed value takes many times its length. */
const bytesPerPart = 16
/** Each new set of names costs the parser as much as about ten values. */
const maxKeys = 50_000
/** Each value costs as much as about fifty characters of text. */
const charactersPerPart = 50
/** Maximum length of a number or a run of blanks; only text is longer. */
const maxRunBytes = 10_000

const tooLarge = () => new AppError('PayloadTooLarge', 'The body is too large.')

/** Bytes are joined on arrival, because chunks of a single byte would take a hundred times the memory. */
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

/** The bytes of a body within the limit of its route. A body that the meter refuses is read to its end first. */
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
/** The meaning of each byte outside of text; most have none. */
const meaningOf = new Uint8Array(256)
for (const [signs, meaning] of [
  ['[{', meanings.opens],
  [']}', meanings.closes],
  [',', meanings.comma],
  [':', meanings.colon],
  ['"', meanings.quote],
] as const)
  for (const sign of signs) meaningOf[codeOf(sign)] = meaning

/** Bytes of text to check one by one before searching for its end. */
const lookedAtOnce = 256

function nextQuote(chunk: Uint8Array, start: number): number {
  const found = chunk.indexOf(quoteCode, start)
  return found === -1 ? chunk.length : found
}

/** A quote after an odd number of backslashes belongs to the text, which then continues. */
function unescaped(chunk: Uint8Array, start: number, quote: number): number {
  let before = quote
  while (before > start && chunk[before - 1] === backslashCode) before -= 1
  return (quote - before) % 2 === 0 ? quote : quote + 1
}

/** Measures JSON in chunks as they arrive; none is long enough to delay other requests. */
export interface JsonMeter {
  /** Throws as soon as a limit is exceeded. */
  add(chunk: Uint8Array): void
  /** The equivalent number of plain characters, by the time for parsing and checking. */
  cost(): number
}

/**
 * Measures the depth and size of JSON before it is parsed: the parser has no limit of depth, and 8 MB of brackets take it
 * seconds. Syntax errors are left to the parser.
 */
export function createJsonMeter(maxParts: number): JsonMeter {
  const entries = new Uint32Array(maxDepth + 1) // per open list or object
  let depth = 0
  let parts = 0
  let keys = 0
  let isInText = false
  let isEscaped = false // a chunk may end after a backslash
  let runBytes = 0 // since the last meaningful byte

  /** The end of the text or of the chunk. A search finds the end of long text, but is slow if quotes are frequent. */
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
    /** The cost of a JSON body in plain characters. */
    bodyCost: number
  }
}

/** Parses JSON for all routes: measured within the route's limits, then parsed as by the framework. */
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
