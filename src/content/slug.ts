import { normalise } from './texts.ts'

/** Letters that Unicode does not part into a plain one and its accent. */
const plainLetters: Readonly<Record<string, string>> = {
  ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i',
} // biome-ignore format: one line reads better

/** A name in lower-case ASCII, its words joined by single - _ or . signs; empty when nothing of it is left. */
export function slugify(name: string): string {
  return normalise(name, 'NFKD')
    .toLowerCase()
    .replace(/\p{Mark}/gu, '')
    .replace(/[ßæœøłđðþı]/g, (letter) => plainLetters[letter] ?? '')
    .replace(/[^a-z0-9]+/g, (run) => (run === '_' || run === '.' ? run : '-'))
    .replace(/^[-_.]+|[-_.]+$/g, '')
}
