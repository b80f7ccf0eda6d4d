import type { Requests } from './ask.ts'
import { categories } from './content.ts'
import type { FilledGroup } from './fill.ts'
import { drawing } from './random.ts'

export const headersOf = ({ apiKey }: Pick<FilledGroup, 'apiKey'>): Record<string, string> => ({
  authorization: apiKey,
})

/** A list repeats the parameter. */
type Parameters = Record<string, string | number | readonly string[]>

export function listPath({ collectionId }: Pick<FilledGroup, 'collectionId'>, parameters: Parameters = {}): string {
  const entries = Object.entries({ collectionId, ...parameters })
  const flat = entries.flatMap(([name, value]) => [value].flat().map((text) => [name, String(text)]))
  return `/tenant/collectionObjects?${new URLSearchParams(flat)}`
}

export const sitePath = ({ siteId }: Pick<FilledGroup, 'siteId'>): string => `/tenant/siteDetails?siteId=${siteId}`

const sortFields = ['price', 'date', 'title', 'rating']
const directions = ['asc', 'desc']
const pageSize = 20
/** How many pages visitors go through. */
const pagesDeep = 20

/** This number of pages of 20, each filtered by one field and sorted by another. */
export function filteredAndSorted(group: FilledGroup, count: number): Requests {
  const { below, from } = drawing('filtered and sorted')
  const mostPages = Math.max(1, Math.min(pagesDeep, Math.floor(group.items / categories.length / pageSize)))
  const paths = Array.from({ length: count }, () =>
    listPath(group, {
      limit: pageSize,
      skip: below(mostPages) * pageSize,
      sort: `${from(sortFields)}:${from(directions)}`,
      'filters[category]': from(categories),
    }),
  )
  return { paths, headers: headersOf(group) }
}

/** First pages of listings, no two filtered and sorted alike: each has several categories. */
export function neverAlike(group: FilledGroup, count: number): Requests {
  const { below, from } = drawing('never alike')
  const paths = new Set<string>()
  while (paths.size < count) {
    const some = categories.filter(() => below(3) === 0)
    if (some.length < 2) continue
    const sort = `${from(sortFields)}:${from(directions)}`
    paths.add(listPath(group, { limit: pageSize, sort, 'filters[category]': some }))
  }
  return { paths: [...paths], headers: headersOf(group) }
}

/** Random pages of several sizes; some filtered, some sorted, a few with a search. */
export function anything(group: FilledGroup, count: number): Requests {
  const { below, from } = drawing('anything')
  const paths = Array.from({ length: count }, () =>
    listPath(group, {
      limit: from([10, 20, 50, 100]),
      skip: below(Math.max(1, Math.floor(group.items / 20))),
      ...(below(4) > 0 && { sort: `${from(sortFields)}:${from(directions)}` }),
      ...(below(3) === 0 && { 'filters[category]': from(categories) }),
      ...(below(3) === 0 && { 'filters[rating]': 1 + below(5) }),
      ...(below(50) === 0 && { search: `${below(group.items)}` }),
    }),
  )
  return { paths, headers: headersOf(group) }
}
