/** Text that every database and JSON parser accepts: no NUL, no lone surrogate. */
export const isStorableText = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

const maxNameCharacters = 200

/** One line of text without control characters, not blank. */
export const isName = (text: string): boolean =>
  text.trim() !== '' && text.length <= maxNameCharacters && isStorableText(text) && !/\p{Cc}/u.test(text)

/** The trimmed text; undefined if nothing is left. */
export const filled = (text: string | undefined): string | undefined => text?.trim() || undefined

/** Never cuts inside a surrogate pair. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  return `${text.slice(0, maxLength - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** One line, not blank. */
export const isHeaderText = (text: string): boolean => text.trim() !== '' && !/\p{Cc}/u.test(text)

/** On one line, without bidirectional controls, which could disguise the text. */
export const asHeaderText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\u202A-\u202E\u2066-\u2069]/g, '')
    .trim()

/** `whole.indexOf(part)` in linear time (Knuth, Morris, Pratt), since both may be untrusted. */
export function findText(whole: string, part: string): number {
  if (part === '') return 0
  /** For each prefix of the part, the length of its longest proper suffix that is also a prefix. */
  const failure = new Uint32Array(part.length + 1)
  const advance = (matched: number, character: string | undefined): number => {
    let length = matched
    while (length > 0 && part[length] !== character) length = failure[length] ?? 0
    return part[length] === character ? length + 1 : 0
  }
  for (let end = 1, matched = 0; end < part.length; end += 1) {
    matched = advance(matched, part[end])
    failure[end + 1] = matched
  }
  for (let at = 0, matched = 0; at < whole.length; at += 1) {
    matched = advance(matched, whole[at])
    if (matched === part.length) return at + 1 - part.length
  }
  return -1
}

/** Normalising long runs of combining marks takes quadratic time, and no script needs them. Matches only at a run's start. */
const longMarkRun = /(?<![\p{M}\uFF9E\uFF9F])[\p{M}\uFF9E\uFF9F]{31}/u

/** Whether a character has more than 30 combining marks. */
export const hasLongMarkRun = (text: string): boolean => longMarkRun.test(text)

/** `String.normalize` in linear time: a text with such a run is returned unchanged. */
export const normalise = (text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string =>
  hasLongMarkRun(text) ? text : text.normalize(form)

/** Letters without a Unicode decomposition into a base letter and a mark. */
const plainLetters: Readonly<Record<string, string>> = {
  ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i',
} // biome-ignore format: one line reads better

/** A name in lower-case ASCII, its words joined by single - _ or . characters; possibly empty. */
export function slugify(name: string): string {
  return normalise(name, 'NFKD')
    .toLowerCase()
    .replace(/\p{Mark}/gu, '')
    .replace(/[ßæœøłđðþı]/g, (letter) => plainLetters[letter] ?? '')
    .replace(/[^a-z0-9]+/g, (run) => (run === '_' || run === '.' ? run : '-'))
    .replace(/^[-_.]+|[-_.]+$/g, '')
}
