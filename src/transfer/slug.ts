import { isDate } from '../content/moments.ts'
import { slugify } from '../content/slug.ts'

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
