/** Text that every database and every JSON reader can hold: no NUL, no half of a character pair. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

const maxNameCharacters = 200

/** Whether a text can be a name: readable, on one line, and not empty. */
export function isName(text: string): boolean {
  return text.trim() !== '' && text.length <= maxNameCharacters && isStorableText(text) && !/\p{Cc}/u.test(text)
}

/** The text without outer blanks; undefined for an empty one. */
export const filled = (text: string | undefined): string | undefined => text?.trim() || undefined

/** Never cuts inside a surrogate pair. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  return `${text.slice(0, maxLength - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** A text for a header: one line, and not blank. */
export const isHeaderText = (text: string): boolean => text.trim() !== '' && !/\p{Cc}/u.test(text)

/** On one line, without the characters that change the direction of text: they could make it read as another. */
export const asHeaderText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\u202A-\u202E\u2066-\u2069]/g, '')
    .trim()

/** `whole.indexOf(part)` in linear time (Knuth, Morris, Pratt): both may come from strangers. */
export function findText(whole: string, part: string): number {
  if (part === '') return 0
  /** For each prefix of the part, the length of its longest proper suffix that is a prefix, too. */
  const known = new Uint32Array(part.length + 1)
  const advance = (matched: number, character: string | undefined): number => {
    let length = matched
    while (length > 0 && part[length] !== character) length = known[length] ?? 0
    return part[length] === character ? length + 1 : 0
  }
  for (let end = 1, matched = 0; end < part.length; end += 1) {
    matched = advance(matched, part[end])
    known[end + 1] = matched
  }
  for (let at = 0, matched = 0; at < whole.length; at += 1) {
    matched = advance(matched, whole[at])
    if (matched === part.length) return at + 1 - part.length
  }
  return -1
}

/** Normalising them takes quadratic time, and no script needs them. */
const endlessMarks = /(?<![\p{M}\uFF9E\uFF9F])[\p{M}\uFF9E\uFF9F]{31}/u // searched for at the start of a run only

/** Whether a character carries more than 30 accents. */
export const hasEndlessMarks = (text: string): boolean => endlessMarks.test(text)

/** `String.normalize` in linear time: a text with endless accents is returned unchanged. */
export const normalise = (text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string =>
  hasEndlessMarks(text) ? text : text.normalize(form)

/** Letters that Unicode does not decompose into a plain one and its accent. */
const plainLetters: Readonly<Record<string, string>> = {
  ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i',
} // biome-ignore format: one line reads better

/** A name in lower-case ASCII, its words joined by single - _ or . signs; empty if no character remains. */
export function slugify(name: string): string {
  return normalise(name, 'NFKD')
    .toLowerCase()
    .replace(/\p{Mark}/gu, '')
    .replace(/[ßæœøłđðþı]/g, (letter) => plainLetters[letter] ?? '')
    .replace(/[^a-z0-9]+/g, (run) => (run === '_' || run === '.' ? run : '-'))
    .replace(/^[-_.]+|[-_.]+$/g, '')
}
