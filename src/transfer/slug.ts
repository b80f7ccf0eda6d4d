import { isDate } from '../content/moments.ts'

/** Letters that Unicode does not part into a plain one and its accent. */
const plainLetters: Readonly<Record<string, string>> = {
  ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i',
} // biome-ignore format: one line reads better

/** A name in lower-case ASCII, its words joined by single - _ or . signs; empty when nothing of it is left. */
export function slugify(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{Mark}/gu, '')
    .replace(/[ßæœøłđðþı]/g, (letter) => plainLetters[letter] ?? '')
    .replace(/[^a-z0-9]+/g, (run) => (run === '_' || run === '.' ? run : '-'))
    .replace(/^[-_.]+|[-_.]+$/g, '')
}

/** The date in front of a name, as blogs on files have it: `2024-05-01-hello`. */
function partDate(name: string): { name: string; date?: string } {
  const [, date = '', rest = ''] = /^(\d{4}-\d{2}-\d{2})-(.+)$/s.exec(name) ?? []
  return isDate(date) && slugify(rest) !== '' ? { name: rest, date } : { name }
}

/**
 * What a file's path says of its page. An `index` file speaks for its folder. A name without a letter that a slug can
 * hold stays as it is, so that validation names it.
 */
export function readPath(path: string, rootName: string, keepFolders: boolean): { slug: string; date?: string } {
  const folders = path.replace(/\.[^./]+$/, '').split('/')
  const fileName = folders.pop() ?? ''
  const pageName = fileName.toLowerCase() === 'index' ? (folders.pop() ?? rootName) : fileName
  const { name, ...date } = partDate(pageName)
  const parts = keepFolders ? [...folders, name] : [name]
  const slugs = parts.map(slugify)
  return { slug: (slugs.includes('') ? parts : slugs).join('/'), ...date }
}
