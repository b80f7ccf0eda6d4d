import { Tokenizer } from 'htmlparser2'
import { escapeHtml } from './escape-html.ts'
import { encodeMediaKey, isMediaKey } from './media-keys.ts'

/**
 * HTML names the service's files by references, `media:<key>`, and not by addresses: those expire and move, the text
 * stays. A reference counts in the attributes listed here only; the same letters in a sentence, a comment or a script
 * are just text.
 */
const addressAttributes = new Map([
  ['a', ['href']],
  ['audio', ['src']],
  ['embed', ['src']],
  ['iframe', ['src']],
  ['img', ['src', 'srcset']],
  ['source', ['src', 'srcset']],
  ['track', ['src']],
  ['video', ['src', 'poster']],
])

/** An attribute that holds addresses. `start` and `end` stand around its value, quotes included. */
interface AddressAttribute {
  start: number
  end: number
  /** With entities decoded. */
  value: string
  isSrcset: boolean
}

interface Span {
  start: number
  end: number
}

/** More than any page of links has: to read so many takes some 20 ms. */
export const maxAddresses = 10_000

/** The keys of all files that the HTML refers to, each once. */
export function mediaKeysInHtml(html: string): string[] {
  if (!mayHoldReference(html)) return []
  const addresses = new Set<string>()
  for (const { value, isSrcset } of addressAttributesOf(html))
    for (const { start, end } of addressesIn(value, isSrcset)) addresses.add(value.slice(start, end))
  const keys = new Set<string>()
  for (const address of addresses) {
    const key = readReference(address)?.key
    if (key !== undefined) keys.add(key)
  }
  return [...keys]
}

/** Whether there are more addresses in it than are looked through for files. */
export function hasTooManyAddresses(html: string): boolean {
  if (!mayHoldReference(html)) return false
  let count = 0
  for (const { value, isSrcset } of addressAttributesOf(html, maxAddresses + 1))
    count += isSrcset ? addressesIn(value, true).length : 1
  return count > maxAddresses
}

/**
 * Puts addresses in place of references; one for which `urlOf` knows none stays. All outside of the attributes that
 * change stays as it is, to the last character.
 */
export function replaceMediaInHtml(html: string, urlOf: (key: string) => string | undefined): string {
  if (!mayHoldReference(html)) return html
  return rewriteAddresses(html, (address) => {
    const reference = readReference(address)
    if (!reference) return undefined
    const url = urlOf(reference.key)
    return url === undefined ? undefined : url + reference.fragment
  })
}

/** The way back, for what an editor sends: addresses for which `keyOf` knows the file become references. */
export function toMediaReferences(html: string, keyOf: (address: URL) => string | undefined): string {
  if (!mayHoldAddress(html)) return html
  return rewriteAddresses(html, (address) => {
    const url = /^https?:\/\//i.test(address) ? URL.parse(address) : null
    const key = url && keyOrNone(url, keyOf)
    return url && key && isMediaKey(key) ? `media:${encodeMediaKey(key)}${url.hash}` : undefined
  })
}

/** Text comes from anywhere: an address that `keyOf` stumbles over is one that it does not know. */
function keyOrNone(url: URL, keyOf: (address: URL) => string | undefined): string | undefined {
  try {
    return keyOf(url)
  } catch {
    return undefined
  }
}

/** As below: most texts have no link at all. */
const mayHoldAddress = (html: string): boolean => /https?:|&#|&colon;/i.test(html)

/** Most texts hold none, and are not read further. A letter or the colon may be written as an entity. */
function mayHoldReference(html: string): boolean {
  return /media:|&#|&colon;/i.test(html)
}

/** `media:` and a key as in a URL. A fragment, such as the page of a document, goes with the address. */
function readReference(address: string): { key: string; fragment: string } | undefined {
  const [, encodedKey = '', fragment = ''] = /^media:([^#]*)(#.*)?$/is.exec(address) ?? []
  try {
    const key = decodeURIComponent(encodedKey)
    return isMediaKey(key) ? { key, fragment } : undefined
  } catch {
    return undefined // a stray % sign
  }
}

function rewriteAddresses(html: string, rewrite: (address: string) => string | undefined): string {
  const parts: string[] = []
  let copied = 0
  for (const { start, end, value, isSrcset } of addressAttributesOf(html)) {
    const rewritten = rewriteValue(value, addressesIn(value, isSrcset), rewrite)
    if (rewritten === undefined) continue
    const quote = html[start] === "'" ? "'" : '"'
    parts.push(html.slice(copied, start), quote, escapeHtml(rewritten), quote)
    copied = end
  }
  return parts.join('') + html.slice(copied)
}

/** Undefined when no address changes: the attribute then stays as it was written. */
function rewriteValue(
  value: string,
  addresses: Span[],
  rewrite: (address: string) => string | undefined,
): string | undefined {
  const parts: string[] = []
  let copied = 0
  for (const { start, end } of addresses) {
    const rewritten = rewrite(value.slice(start, end))
    if (rewritten === undefined) continue
    parts.push(value.slice(copied, start), rewritten)
    copied = end
  }
  return parts.length === 0 ? undefined : parts.join('') + value.slice(copied)
}

/** Where the addresses stand in an attribute's value: one between white space, or those of a srcset's candidates. */
function addressesIn(value: string, isSrcset: boolean): Span[] {
  if (isSrcset) return addressesInSrcset(value)
  const start = value.length - value.trimStart().length
  return [{ start, end: start + value.trim().length }]
}

/** `address descriptor, address descriptor`: an address may hold commas, and ends a candidate when it ends in one. */
function addressesInSrcset(srcset: string): Span[] {
  const spans: Span[] = []
  const wordPattern = /[^ \t\n\f\r,][^ \t\n\f\r]*/g
  for (let word = wordPattern.exec(srcset); word; word = wordPattern.exec(srcset)) {
    let end = wordPattern.lastIndex
    while (srcset[end - 1] === ',') end--
    spans.push({ start: word.index, end })
    const comma = srcset.indexOf(',', end)
    if (comma === -1) break
    wordPattern.lastIndex = comma
  }
  return spans
}

function addressAttributesOf(html: string, most = Number.POSITIVE_INFINITY): AddressAttribute[] {
  const found: AddressAttribute[] = []
  let namesOfTag: readonly string[] = []
  let name: string | undefined
  let nameEnd = 0
  let value = ''
  const ignore = () => {}
  const tokenizer = new Tokenizer(
    {},
    {
      onopentagname(start, end) {
        namesOfTag = addressAttributes.get(html.slice(start, end).toLowerCase()) ?? []
      },
      onattribname(start, end) {
        const written = html.slice(start, end).toLowerCase()
        name = namesOfTag.find((known) => known === written)
        nameEnd = end
        value = ''
      },
      onattribdata(start, end) {
        if (name) value += html.slice(start, end)
      },
      onattribentity(codePoint) {
        if (name) value += String.fromCodePoint(codePoint)
      },
      onattribend(_quote, end) {
        if (!name || value === '') return
        found.push({ start: valueStart(html, nameEnd), end, value, isSrcset: name === 'srcset' })
        if (found.length >= most) tokenizer.pause()
      },
      oncdata: ignore,
      onclosetag: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onprocessinginstruction: ignore,
      onselfclosingtag: ignore,
      ontext: ignore,
      ontextentity: ignore,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return found
}

/** The tokenizer tells where a name ends, and not where the value behind it starts. */
function valueStart(html: string, nameEnd: number): number {
  const equals = /[ \t\n\f\r]*=[ \t\n\f\r]*/y
  equals.lastIndex = nameEnd
  equals.test(html)
  return equals.lastIndex
}
