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

/** The words of a search; an item matches when each occurs somewhere in its search text. */
export function searchWordsOf(search: string): string[] {
  return [
    ...new Set(
      normaliseText(search)
        .split(/\s+/u)
        .filter((word) => word !== ''),
    ),
  ]
}
