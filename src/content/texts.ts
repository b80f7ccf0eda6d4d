/** Undefined where there is nothing to read. */
export const filled = (text: string | undefined): string | undefined => text?.trim() || undefined

/** Cut between two characters, never inside a pair that makes one. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  return `${text.slice(0, maxLength - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** A text for a header: one line, and not blank. */
export const isHeaderText = (text: string): boolean => text.trim() !== '' && !/\p{Cc}/u.test(text)

/** On one line, and in the direction in which it is written: what turns text around could make it read as another. */
export const asHeaderText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\u202A-\u202E\u2066-\u2069]/g, '')
    .trim()

/**
 * Where a text stands in another, or -1: like `indexOf`, but in a time that grows with their lengths and never with
 * their product, whatever strangers write (Knuth, Morris, Pratt).
 */
export function findText(whole: string, part: string): number {
  if (part === '') return 0
  /** For each beginning of the part, how much of its end is a beginning again. */
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

/** To bring them into order takes time that grows with their square, and no script needs them. */
const endlessMarks = /(?<![\p{M}\uFF9E\uFF9F])[\p{M}\uFF9E\uFF9F]{31}/u // looked for where a run begins, and nowhere else

/** Whether a character carries more than 30 accents. */
export const hasEndlessMarks = (text: string): boolean => endlessMarks.test(text)

/** As `String.normalize`, in a time that grows with the length of the text only; what has endless accents stays as it is. */
export const normalise = (text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string =>
  hasEndlessMarks(text) ? text : text.normalize(form)
