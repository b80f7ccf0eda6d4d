import { createBoundedMap } from '../bounded-map.ts'

/** What we can send an answer as, the smallest first. */
export const encodings = ['br', 'gzip', 'identity'] as const
export type Encoding = (typeof encodings)[number]

/** What a client prefers, and whether it refuses what is not compressed. */
export interface Preference {
  encoding: Encoding
  refusesIdentity: boolean
}

const mostRemembered = 200
const longestRemembered = 200
/** No client sends more; who does is not worth the time to read it. */
const longestRead = 1000

/** `q` of a list's member: 1 where it says none, and where it says what nobody can read. */
function weightOf(parameters: readonly string[]): number {
  const text = parameters
    .map((part) => /^\s*q\s*=\s*([\d.]+)\s*$/i.exec(part)?.[1])
    .find((found) => found !== undefined)
  const weight = Number(text ?? 1)
  return weight >= 0 && weight <= 1 ? weight : 1
}

function parsePreference(header: string): Preference {
  const weights = new Map<string, number>()
  for (const member of header.split(',')) {
    const [name = '', ...parameters] = member.split(';')
    const coding = name.trim().toLowerCase()
    if (coding !== '') weights.set(coding === 'x-gzip' ? 'gzip' : coding, weightOf(parameters))
  }
  const others = weights.get('*')
  // RFC 9110 §12.5.3: what is not compressed will do unless it is refused, and is what is wanted least unless it says so.
  const weightIn = (encoding: Encoding): number =>
    weights.get(encoding) ?? others ?? (encoding === 'identity' ? Number.MIN_VALUE : 0)
  const [best] = encodings.filter((encoding) => weightIn(encoding) > 0).sort((a, b) => weightIn(b) - weightIn(a))
  return { encoding: best ?? 'identity', refusesIdentity: best !== undefined && weightIn('identity') === 0 }
}

const plain: Preference = { encoding: 'identity', refusesIdentity: false }

/** Reads `Accept-Encoding`. Clients send very few different ones, so they are remembered. */
export function createEncodingReader(): (header: string | undefined) => Preference {
  const known = createBoundedMap<string, Preference>(mostRemembered)
  return (header) => {
    // Whoever does not ask for it may not know what to do with it.
    if (header === undefined || header.length > longestRead) return plain
    const remembered = known.get(header)
    if (remembered) return remembered
    const preference = parsePreference(header)
    if (header.length <= longestRemembered) known.set(header, preference)
    return preference
  }
}
