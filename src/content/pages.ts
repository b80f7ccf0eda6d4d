import { isMediaValue } from './media-uses.ts'
import { isRecord } from './schema.ts'
import { type Check, count, flag, listOf, mapOf, must, objectOf, text, textThatMust } from './shapes.ts'
import { mediaProblem } from './validate.ts'

const maxPages = 200
const collectionIdPattern = /^[0-9a-f]{24}$/
/** The empty slug is the home page's. */
const slugPattern = /^(?:[\p{L}\p{M}\p{Nd}_-]+(?:\/[\p{L}\p{M}\p{Nd}_-]+)*)?$/u

const slug = textThatMust(
  'be lower-case letters, digits, - and _, in parts separated by single slashes',
  (value) => slugPattern.test(value) && value === value.toLowerCase(),
)
const collectionId = textThatMust('be the id of a collection', (id) => collectionIdPattern.test(id))

const boundCollection = objectOf(
  { collectionId, name: text, role: text, displayAs: text, order: count, enabled: flag },
  ['collectionId'],
)
const boundIntegration = objectOf({ type: text, name: text, role: text, displayAs: text }, ['type'])

/** A text, or a picture such as a hero image. That the file is the group's is checked for all settings together. */
const label = must(
  'be a text, or a media value with name, key and type',
  (value) => typeof value === 'string' || (isMediaValue(value) && mediaProblem(value.type, value) === undefined),
)

const page = objectOf(
  {
    name: text,
    slug,
    format: text,
    collections: listOf(boundCollection),
    integrations: listOf(boundIntegration),
    labels: mapOf(label),
    displayOnHeader: flag,
    displayOnFooter: flag,
  },
  ['name', 'slug'],
)

export const pageRules = `a list of at most ${maxPages}, each with a name and a slug of its own without a leading slash; and, where given: format; collections, a list of {collectionId, name, role, displayAs, order, enabled}; integrations, a list of {type, name, role, displayAs}; labels, of which each is a text or a media value; displayOnHeader and displayOnFooter, true or false`

/** The slug that identifies a page: the empty one and "home" both mean the home page. */
const slugOf = (one: unknown): string | undefined =>
  isRecord(one) && typeof one.slug === 'string' ? one.slug || 'home' : undefined

function repeatedSlugProblems(path: string, list: readonly unknown[]): string[] {
  const seen = new Set<string>()
  return list.flatMap((one, position) => {
    const its = slugOf(one)
    if (its === undefined) return []
    if (seen.has(its)) return [`${path}[${position}].slug is that of an earlier page`]
    seen.add(its)
    return []
  })
}

export const pages: Check = (path, value) => [
  ...listOf(page, maxPages)(path, value),
  ...repeatedSlugProblems(path, Array.isArray(value) ? value : []),
]

const recordsIn = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isRecord) : [])

/** The pages with this one replacing the page of the same slug, or appended. */
export function withPage(list: unknown, slug: string, page: Record<string, unknown>): unknown[] {
  const all = recordsIn(list)
  const wanted = { slug, ...page }
  const index = all.findIndex((one) => slugOf(one) === slugOf({ slug }))
  return index < 0 ? [...all, wanted] : all.with(index, wanted)
}

/** The pages without the one of this slug; undefined if there is none. */
export function withoutPage(list: unknown, slug: string): unknown[] | undefined {
  const all = recordsIn(list)
  const others = all.filter((one) => slugOf(one) !== slugOf({ slug }))
  return others.length < all.length ? others : undefined
}

/** The ids of all collections bound to pages, each once. */
export function collectionIdsIn(settings: Record<string, unknown>): string[] {
  const bound = recordsIn(settings.pages).flatMap((one) => recordsIn(one.collections))
  const ids = bound.map((binding) => binding.collectionId)
  return [...new Set(ids.filter((id) => typeof id === 'string'))]
}
