import { invalid } from '../core/errors.ts'
import {
  type Conditions,
  type FieldRef,
  type FilterParameters,
  itemFields,
  nameOf,
  namesWhere,
  parseFilters,
  refOf,
  unusable,
} from './filters.ts'
import { searchWordsOf } from './index-keys.ts'
import { isSortable, type Schema } from './schema.ts'

const maxSortFields = 5
export const maxLimit = 100

export interface SortTerm {
  readonly by: FieldRef
  readonly descending: boolean
}

/** A listing's parameters, checked against the schema: no caller's field name passes beyond this point. */
export interface ListQuery extends Conditions {
  readonly words: readonly string[]
  readonly sort: readonly SortTerm[]
  /** Whether the matches of the search are ordered by `relevance.ts`; `sort` is the order of too many of them. */
  readonly byRelevance: boolean
  readonly limit: number
  readonly skip: number
  /** The cursor behind which the page begins, or the empty text: of the first page. The answer then has the next one. */
  readonly after: string | undefined
}

/** The parameters shared by all listings, already checked for their types. */
export interface ListParameters {
  filters?: FilterParameters | undefined
  search?: string | undefined
  sort?: string | undefined
  limit?: number | undefined
  skip?: number | undefined
  after?: string | undefined
}

function parseSortTerm(schema: Schema, text: string): SortTerm {
  const match = /^([^:]+):(asc|desc)$/.exec(text)
  if (!match?.[1]) {
    throw invalid(
      'sort is written <field>:asc or <field>:desc, several separated by commas without spaces; or relevance, alone and with a search.',
    )
  }
  const [, name, direction] = match
  const by = refOf(name)
  const field = 'field' in by ? schema.get(by.field) : undefined
  if ('field' in by && !(field && isSortable(field)))
    throw unusable('sort', name, [...itemFields, ...namesWhere(schema, isSortable)])
  return { by, descending: direction === 'desc' }
}

const relevance = 'relevance'
const newestFirst: SortTerm[] = [{ by: { item: 'createdAt' }, descending: true }]

function parseSort(schema: Schema, sort: string | undefined): SortTerm[] {
  if (sort === relevance) return newestFirst
  if (sort === undefined) {
    const order = schema.get('order')
    return order && isSortable(order) ? [{ by: { field: 'order' }, descending: false }] : []
  }
  const parts = sort.split(',')
  if (parts.length > maxSortFields) throw invalid(`sort takes at most ${maxSortFields} fields.`)
  const terms = parts.map((part) => parseSortTerm(schema, part))
  if (new Set(terms.map(({ by }) => nameOf(by))).size < terms.length) throw invalid('sort names a field twice.')
  return terms
}

export function parseListQuery(schema: Schema, parameters: ListParameters): ListQuery {
  const { filters, search = '', sort, limit = maxLimit, skip, after } = parameters
  if (after !== undefined && skip !== undefined)
    throw invalid('after and skip cannot be combined: both say where the page begins.')
  const words = searchWordsOf(search)
  const byRelevance = sort === relevance
  if (byRelevance && words.length === 0) throw invalid('sort=relevance requires a search.')
  if (byRelevance && after !== undefined) throw invalid('after cannot be combined with sort=relevance. Use skip.')
  return {
    ...parseFilters(schema, filters),
    words,
    sort: parseSort(schema, sort),
    byRelevance,
    limit,
    skip: skip ?? 0,
    after,
  }
}
