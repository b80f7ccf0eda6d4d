import { normaliseText, scalarsIn } from './index-keys.ts'
import { isSearchable, leafOf, type Schema } from './schema.ts'

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' }

/** The readable part of HTML. `<[^<>]*>` and not `<[^>]*>`: the latter takes quadratic time on a row of `<`. */
function withoutMarkup(html: string): string {
  return html
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => entities[name] ?? ' ')
}

/** All that a search looks through, prepared once when the object is written. */
export function searchTextOf(schema: Schema, objectValue: Record<string, unknown>): string {
  const texts = [...schema]
    .filter(([, field]) => isSearchable(field))
    .flatMap(([name, field]) =>
      scalarsIn(field, objectValue[name]).map((value) =>
        leafOf(field).type === 'longText' ? withoutMarkup(String(value)) : String(value),
      ),
    )
  return normaliseText(texts.join('\n'))
}

/** The words of a search, longest first: an item matches when each occurs, and the longest is the likeliest to be missing. */
export function searchWordsOf(search: string): string[] {
  const words = normaliseText(search).split(/\s+/u)
  return [...new Set(words)].filter((word) => word !== '').sort((a, b) => b.length - a.length)
}
