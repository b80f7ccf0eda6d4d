import { Tokenizer } from 'htmlparser2'
import { escapeHtml } from './escape-html.ts'
import { encodeMediaKey, isMediaKey } from './media-keys.ts'

/**
 * Stored HTML refers to files as `media:<key>`, because URLs expire and move. References count only in the attributes
 * listed here; the same characters in a sentence, a comment or a script are just text.
 */
const urlAttributes = new Map([
  ['a', ['href']],
  ['audio', ['src']],
  ['embed', ['src']],
  ['iframe', ['src']],
  ['img', ['src', 'srcset']],
  ['source', ['src', 'srcset']],
  ['track', ['src']],
  ['video', ['src', 'poster']],
])

/** An attribute whose value is one or more URLs. `start` and `end` enclose the value, quotes included. */
interface UrlAttribute extends Span {
  /** With entities decoded. */
  value: string
  isSrcset: boolean
}

interface Span {
  start: number
  end: number
}

/** More than any page of links has; reading this many takes about 20 ms. */
export const maxUrls = 10_000

/** The keys of all files that the HTML refers to, each once. */
export function mediaKeysInHtml(html: string): string[] {
  if (!mayHoldReference(html)) return []
  const urls = urlAttributesOf(html).flatMap(({ value, isSrcset }) =>
    urlsIn(value, isSrcset).map(({ start, end }) => value.slice(start, end)),
  )
  return [...new Set([...new Set(urls)].flatMap((url) => parseReference(url)?.key ?? []))]
}

export function hasTooManyUrls(html: string): boolean {
  if (!mayHoldReference(html)) return false
  let count = 0
  for (const { value, isSrcset } of urlAttributesOf(html, maxUrls + 1))
    count += isSrcset ? urlsIn(value, true).length : 1
  return count > maxUrls
}

/** Replaces references by URLs, except those unknown to `urlOf`. Everything else stays as it is, to the character. */
export function replaceMediaInHtml(html: string, urlOf: (key: string) => string | undefined): string {
  if (!mayHoldReference(html)) return html
  return rewriteUrls(html, (written) => {
    const reference = parseReference(written)
    if (!reference) return undefined
    const url = urlOf(reference.key)
    return url === undefined ? undefined : url + reference.fragment
  })
}

/** The inverse, for what an editor sends: URLs for which `keyOf` finds a file become references. */
export function toMediaReferences(html: string, keyOf: (url: URL) => string | undefined): string {
  if (!mayHoldUrl(html)) return html
  return rewriteUrls(html, (written) => {
    const url = /^https?:\/\//i.test(written) ? URL.parse(written) : null
    const key = url && keyOrNone(url, keyOf)
    return url && key && isMediaKey(key) ? `media:${encodeMediaKey(key)}${url.hash}` : undefined
  })
}

/** The HTML is untrusted: a URL on which `keyOf` throws counts as unknown. */
function keyOrNone(url: URL, keyOf: (url: URL) => string | undefined): string | undefined {
  try {
    return keyOf(url)
  } catch {
    return undefined
  }
}

/** Cheap checks that spare most texts the tokenizer. A letter or the colon may be written as an entity. */
const mayHoldUrl = (html: string): boolean => /https?:|&#|&colon;/i.test(html)
const mayHoldReference = (html: string): boolean => /media:|&#|&colon;/i.test(html)

/** `media:` and a URL-encoded key. A fragment, such as the page of a document, is kept. */
function parseReference(reference: string): { key: string; fragment: string } | undefined {
  const [, encodedKey = '', fragment = ''] = /^media:([^#]*)(#.*)?$/is.exec(reference) ?? []
  try {
    const key = decodeURIComponent(encodedKey)
    return isMediaKey(key) ? { key, fragment } : undefined
  } catch {
    return undefined // a stray % sign
  }
}

/** An attribute without a rewritten URL stays as it was written. */
function rewriteUrls(html: string, rewrite: (url: string) => string | undefined): string {
  const rewriteAttribute = ({ start, value, isSrcset }: UrlAttribute): string | undefined => {
    const rewritten = replaceSpans(value, urlsIn(value, isSrcset), (url) => rewrite(value.slice(url.start, url.end)))
    const quote = html[start] === "'" ? "'" : '"'
    return rewritten === undefined ? undefined : `${quote}${escapeHtml(rewritten)}${quote}`
  }
  return replaceSpans(html, urlAttributesOf(html), rewriteAttribute) ?? html
}

/** Undefined if no span is replaced. */
function replaceSpans<S extends Span>(text: string, spans: S[], replace: (span: S) => string | undefined) {
  const parts: string[] = []
  let copied = 0
  for (const span of spans) {
    const replacement = replace(span)
    if (replacement === undefined) continue
    parts.push(text.slice(copied, span.start), replacement)
    copied = span.end
  }
  return parts.length === 0 ? undefined : parts.join('') + text.slice(copied)
}

/** The URLs in an attribute's value: one between white space, or one for each candidate of a srcset. */
function urlsIn(value: string, isSrcset: boolean): Span[] {
  if (isSrcset) return urlsInSrcset(value)
  const start = value.length - value.trimStart().length
  return [{ start, end: start + value.trim().length }]
}

/** `url descriptor, url descriptor`: a URL may contain commas; one at its end separates candidates. */
function urlsInSrcset(srcset: string): Span[] {
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

function urlAttributesOf(html: string, max = Number.POSITIVE_INFINITY): UrlAttribute[] {
  const found: UrlAttribute[] = []
  let namesOfTag: readonly string[] = []
  let name: string | undefined
  let nameEnd = 0
  let value = ''
  const ignore = () => {}
  const tokenizer = new Tokenizer(
    {},
    {
      onopentagname(start, end) {
        namesOfTag = urlAttributes.get(html.slice(start, end).toLowerCase()) ?? []
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
        if (found.length >= max) tokenizer.pause()
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

/** The tokenizer reports where a name ends, but not where its value starts. */
function valueStart(html: string, nameEnd: number): number {
  const equals = /[ \t\n\f\r]*=[ \t\n\f\r]*/y
  equals.lastIndex = nameEnd
  equals.test(html)
  return equals.lastIndex
}
