import { isRecord } from './schema.ts'
import { type Check, count, flag, listOf, mapOf, objectOf, text, textThatMust } from './shapes.ts'

/** The pages of a site: what each shows, and where. */

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

const page = objectOf(
  {
    name: text,
    slug,
    format: text,
    collections: listOf(boundCollection),
    integrations: listOf(boundIntegration),
    labels: mapOf(text),
    displayOnHeader: flag,
    displayOnFooter: flag,
  },
  ['name', 'slug'],
)

/** The slug that pages are told apart by: the empty one and "home" both mean the home page. */
function slugOf(one: unknown): string | undefined {
  return isRecord(one) && typeof one.slug === 'string' ? one.slug || 'home' : undefined
}

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

function recordsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

/** The ids of all collections that pages are bound to, each once. */
export function collectionIdsIn(settings: Record<string, unknown>): string[] {
  const bound = recordsIn(settings.pages).flatMap((one) => recordsIn(one.collections))
  const ids = bound.map((binding) => binding.collectionId)
  return [...new Set(ids.filter((id) => typeof id === 'string'))]
}
