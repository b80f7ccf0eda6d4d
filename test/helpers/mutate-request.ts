import { gzipSync } from 'node:zlib'
import { headOf, type RawRequest } from './raw-request.ts'

/** A mutated request: its bytes, and whether its end is detectable. */
export interface Mutated {
  bytes: Buffer
  isHead: boolean
  /** Then the client must close the connection, or both sides would wait. */
  isOpenEnded: boolean
}

interface Draft extends RawRequest {
  lineEnd: string
  isOpenEnded: boolean
}

type Random = (below: number) => number

/** A pseudo-random generator, determined by its seed (mulberry32). */
function createRandom(seed: number): Random {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'QUERY', 'get', 'G E T', '', 'M-SEARCH', 'PRI', 'GETT'] // biome-ignore format: one line
const versions = ['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/11', 'http/1.1', 'HTTP/1.1 ', 'ICE/1.0', '']
const texts = [
  '', '\0', '%00', '%', '%zz', '%c3%28', '%ed%a0%80', '../../etc/passwd', '%2e%2e%2f', '\\', '//', '::', '[', ']', '[]', '[a][b]', '[__proto__]', '__proto__', 'constructor', '-1', '0',
  '1e309', 'NaN', '9'.repeat(400), '1.5', 'true', 'null', '2026-02-30T25:61:61Z', '+275760-09-13T00:00:00.001Z', "' or 1=1--", '"', '<script>', '{{7*7}}', '#{7*7}', '\ud83d\ude00', 'é', 'a'.repeat(3000), '*', '%25', ';', ',', ' ', '\t', '#', '?', '&', '=', '&=&=', ':asc', 'a:desc,b:asc', 'x'.repeat(201),
] // biome-ignore format: a list of texts
const headerNames = [
  'Authorization', 'Host', 'Content-Type', 'Accept', 'Accept-Encoding', 'If-None-Match', 'If-Match', 'Range', 'Expect', 'Upgrade', 'Connection', 'Transfer-Encoding', 'Content-Length', 'Content-Encoding',
  'X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'Forwarded', 'Origin', 'Referer', 'Cookie', 'Idempotency-Key', 'X-Request-Id', 'X-Sluice-Timing', 'X-HTTP-Method-Override', 'Accept-Version', 'TE', 'Trailer', 'Keep-Alive', 'HTTP2-Settings', 'Stripe-Signature', 'Content Length', '', ':path', 'é',
] // biome-ignore format: a list of names
const headerValues = [
  ...texts, 'close', 'keep-alive', 'keep-alive, Upgrade', 'h2c', 'websocket', '100-continue', '200-ok', 'chunked', 'chunked, identity', 'gzip, chunked', 'identity', 'bytes=0-', 'bytes=-1', 'bytes=9-1', 'bytes=0-0,2-3', 'W/"a"', '"a", "b"', 'br;q=0, identity;q=0', '*;q=0', 'gzip;q=2', 'application/json', 'text/plain',
  'application/json; charset=utf-16', 'application/x-www-form-urlencoded', 'multipart/form-data', 'multipart/form-data; boundary=', 'application/JSON ;x', '127.0.0.1', '::1, 10.0.0.1', 'unknown', 'http://a.example', 'null', 'Bearer x', 'Basic eDp4', 'bearer', 'slc_live_x',
] // biome-ignore format: a list of values
const bodies = [
  '', '{', '[]', 'null', '0', '""', '{"a":1,"a":2}', '{"__proto__":{}}', '{"constructor":{"prototype":{}}}', '\ufeff{}', '{}\0', '{"to":"a@b.example\\r\\nBcc: c@d.example"}', '{"objectValue":{"_id":"x"}}', '{"x":"\\ud800"}', '{"x":1e999}', '{"x":-0}', '{"\\u0000":0}', '['.repeat(5000), '{"a":'.repeat(2000), `"${'x'.repeat(60_000)}"`, '\xff\xfe\x00',
] // biome-ignore format: a list of bodies
const jsonValues: unknown[] = [
  null, true, 0, -1, 1.5, 1e300, '', 'x', 'a@b.example', [], [[]], {}, { a: 1 }, '\0', '\ud800', 'x'.repeat(5000), '<b>x</b>'.repeat(50), ['x', 1, null], '6'.repeat(24), 'createReview', 'subscribeUser', '2026-01-01',
] // biome-ignore format: a list of values

function pick<Value>(random: Random, from: readonly Value[]): Value {
  return from[random(from.length)] as Value
}

/** Replaces a value or a name somewhere in JSON. */
function mutateJson(random: Random, value: unknown): unknown {
  if (Array.isArray(value) && value.length > 0 && random(4) > 0) {
    const copy = [...value]
    const at = random(copy.length)
    copy[at] = mutateJson(random, copy[at])
    return random(8) === 0 ? Array.from({ length: 150 }, () => copy[at]) : copy
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && random(5) > 0) {
    const entries = Object.entries(value)
    if (entries.length === 0 || random(6) === 0) return { ...value, [pick(random, texts)]: pick(random, jsonValues) }
    const at = random(entries.length)
    const [name, inner] = entries[at] as [string, unknown]
    if (random(6) === 0) entries.splice(at, 1)
    else entries[at] = [random(8) === 0 ? pick(random, texts) : name, mutateJson(random, inner)]
    return Object.fromEntries(entries)
  }
  return pick(random, jsonValues)
}

function setBody(draft: Draft, body: Buffer): void {
  draft.body = body
  draft.headers = draft.headers.filter(([name]) => name !== 'Content-Length')
  if (body.length > 0) draft.headers.push(['Content-Length', String(body.length)])
}

/** Replaces a number, an id or a word of the target. */
function mutateTarget(random: Random, target: string): string {
  const parts = target.split(/([/?&=:])/)
  const at = random(parts.length)
  const text = pick(random, texts)
  switch (random(6)) {
    case 0:
      return parts.with(at, text).join('')
    case 1:
      return `${target}${target.includes('?') ? '&' : '?'}${parts[at]}=${text}`
    case 2:
      return parts.with(at, `${parts[at]}${text}`).join('')
    case 3:
      return pick(random, ['*', '', '/', 'http://evil.example/', `http://sluice.example${target}`, `/${target}`, `${target}/`, target.toUpperCase()]) // biome-ignore format: one line
    case 4:
      return parts.toSpliced(at, 1).join('')
    default:
      return `${target}${target.includes('?') ? '&' : '?'}${target.split('?')[1] ?? ''}`
  }
}

const mutations: ((draft: Draft, random: Random) => void)[] = [
  (draft, random) => {
    draft.method = pick(random, methods)
    draft.isOpenEnded = true
  },
  (draft, random) => {
    draft.version = pick(random, versions)
    draft.isOpenEnded = true
  },
  ...Array.from({ length: 4 }, () => (draft: Draft, random: Random) => {
    draft.target = mutateTarget(random, draft.target)
  }),
  ...Array.from({ length: 2 }, () => (draft: Draft, random: Random) => {
    draft.headers.splice(random(draft.headers.length + 1), 0, [pick(random, headerNames), pick(random, headerValues)])
    draft.isOpenEnded = true
  }),
  (draft, random) => {
    if (draft.headers.length === 0) return
    const at = random(draft.headers.length)
    const [name, value] = draft.headers[at] as [string, string]
    const changes: [string, string][][] = [
      [],
      [[name, value], [name, value]],
      [[name.toUpperCase(), value]],
      [[`${name} `, value]],
      [[name, pick(random, headerValues)]],
      [[name, ` \t${value} \t`]],
      [[name, value.slice(0, random(value.length + 1))]],
    ] // biome-ignore format: one change, one line
    draft.headers.splice(at, 1, ...pick(random, changes))
    draft.isOpenEnded = true
  },
  ...Array.from({ length: 4 }, () => (draft: Draft, random: Random) => {
    try {
      setBody(draft, Buffer.from(JSON.stringify(mutateJson(random, JSON.parse(draft.body.toString() || '{}')))))
    } catch {
      setBody(draft, Buffer.from(pick(random, bodies), 'latin1'))
    }
  }),
  (draft, random) => setBody(draft, Buffer.from(pick(random, bodies), random(2) === 0 ? 'utf8' : 'latin1')),
  (draft, random) => {
    const body = Buffer.from(draft.body)
    for (let flips = random(4) + 1; flips > 0 && body.length > 0; flips -= 1) body[random(body.length)] = random(256)
    setBody(draft, body)
  },
  (draft) => {
    setBody(draft, gzipSync(draft.body))
    draft.headers.push(['Content-Encoding', 'gzip'])
  },
  (draft, random) => {
    draft.body = Buffer.concat([draft.body, Buffer.from(pick(random, bodies), 'latin1')]) // longer than declared
    draft.isOpenEnded = true
  },
  (draft, random) => {
    draft.body = draft.body.subarray(0, random(draft.body.length + 1))
    draft.isOpenEnded = true
  },
  (draft, random) => {
    const size = pick(random, [draft.body.length.toString(16), '0', 'ffffffff', '-1', 'zz', `${draft.body.length.toString(16)};a=${'b'.repeat(random(9000))}`]) // biome-ignore format: one line
    draft.headers = draft.headers.filter(([name]) => name !== 'Content-Length')
    draft.headers.push(['Transfer-Encoding', 'chunked'])
    draft.body = Buffer.concat([Buffer.from(`${size}\r\n`), draft.body, Buffer.from('\r\n0\r\n\r\n')])
    draft.isOpenEnded = true
  },
  (draft, random) => {
    draft.lineEnd = pick(random, ['\n', '\r', '\r\r\n', '\r\n ', '\0\r\n'])
    draft.isOpenEnded = true
  },
]

/** Mutates valid requests, determined by the seed. */
export function createMutator(seed: number): (requests: readonly RawRequest[]) => Mutated {
  const random = createRandom(seed)
  return (requests) => {
    const valid = pick(random, requests)
    const draft: Draft = { ...valid, headers: [...valid.headers], lineEnd: '\r\n', isOpenEnded: false }
    for (let times = random(3) + 1; times > 0; times -= 1) pick(random, mutations)(draft, random)
    const bytes = Buffer.concat([headOf(draft, draft.lineEnd), draft.body])
    for (let flips = random(40) === 0 ? random(5) + 1 : 0; flips > 0; flips -= 1) {
      bytes[random(bytes.length)] = random(256)
      draft.isOpenEnded = true
    }
    return { bytes, isHead: draft.method === 'HEAD', isOpenEnded: draft.isOpenEnded }
  }
}
