import type { Position } from '../../content/cursor.ts'
import {
  type FieldRef,
  type Filter,
  isSameField,
  missingKeyOf,
  type Range,
  type SortKey,
} from '../../content/filters.ts'
import type { ListQuery, SortTerm } from '../../content/list-query.ts'
import { unsetPublishMs } from '../../content/model.ts'
import { type SqlBuilder, timeLimitConditions } from '../engine/statement.ts'
import { all, type Listing, matchingIds, rowConditions } from './list-conditions.ts'

/**
 * How to find the ids of a listing in their order. There are two ways:
 *  - gather: read all matches from the filter's index, and sort them;
 *  - walk: scan the index of the first sort field, test each entry against the filters, and stop when there are enough.
 */
export interface Plan {
  with: string
  from: string
  id: string
  conditions: string[]
  order: OrderKey[]
  /** The keys of an item's position, if the list has cursors. */
  position: string[]
}

interface OrderKey {
  column: string
  descending: boolean
}

interface SortColumn {
  column: string
  /** Tests for a missing value. Objects without a value come last in both directions. */
  isMissing: string | undefined
  isPresent: string | undefined
}

/** The cost of gathering an entry (look up its sort keys, sort it), relative to testing one in a walk. */
const gatheringAnEntry = 1.5

/** The range of the first sort field, if any: a walk reads nothing outside of it. */
const rangeWalked = ({ ranges, sort: [first] }: ListQuery): Range | undefined =>
  first && ranges.find(({ by }) => isSameField(by, first.by))

/** Chooses the plan that reads fewer index entries to find the first `wanted` ids. */
export function choosePlan(
  { query }: Pick<Listing, 'query'>,
  { wanted, matches, all }: { wanted: number; matches: number; all: number },
): { way: 'gather' | 'walk'; cost: number } {
  const { ids, filters, ranges, exclusions, words } = query
  if (ids) return { way: 'gather', cost: ids.length }
  const isRangeOnly = ranges.length === 1 && filters.length + exclusions.length + words.length === 0
  const walked = isRangeOnly && rangeWalked(query) ? matches : all
  const walking = Math.min(walked, (wanted * walked) / Math.max(1, matches))
  const gathered = filters.length + ranges.length > 0 ? matches : all
  const gathering = words.length > 0 ? all : gathered * gatheringAnEntry
  return walking <= gathering ? { way: 'walk', cost: walking } : { way: 'gather', cost: gathering }
}

function sortKeyOf({ by }: SortTerm, position: number, id: string): SortColumn {
  if ('field' in by) {
    const column = `s${position}.sort_key`
    return { column, isMissing: `${column} = ''`, isPresent: `${column} > ''` }
  }
  if (by.item === 'publishDate')
    return {
      column: 'o.publish_ms',
      isMissing: `o.publish_ms = ${unsetPublishMs}`,
      isPresent: `o.publish_ms > ${unsetPublishMs}`,
    }
  const columns = { createdAt: 'o.created_ms', updatedAt: 'o.updated_ms', _id: id }
  return { column: columns[by.item], isMissing: undefined, isPresent: undefined }
}

const canBeMissing = (term: SortTerm): boolean => sortKeyOf(term, 0, '').isMissing !== undefined

/** Whether objects may lack a value of the first sort field. A range of it has them in order, or not at all. */
export function mayBeMissing(query: ListQuery): boolean {
  const [first] = query.sort
  return first !== undefined && canBeMissing(first) && !rangeWalked(query)
}

const usesObject = ({ by }: SortTerm): boolean => 'item' in by && by.item !== '_id'

/** Joins the index entry of a sort field: exactly one per object, even without a value. */
function joinSortField({ table, bind }: SqlBuilder, { by }: SortTerm, position: number, id: string): string {
  if (!('field' in by)) return ''
  const alias = `s${position}`
  return ` join ${table('object_fields')} as ${alias} on ${alias}.object_id = ${id} and ${alias}.field = ${bind(by.field)} and ${alias}.sort_key is not null`
}

function orderOf(sort: readonly SortTerm[], from: number, id: string): OrderKey[] {
  return sort.slice(from).flatMap((term, offset) => {
    const { column, isMissing } = sortKeyOf(term, from + offset, id)
    const missingLast = isMissing ? [{ column: `case when ${isMissing} then 1 else 0 end`, descending: false }] : []
    return [...missingLast, { column, descending: term.descending }]
  })
}

/** The tie-break takes the last term's direction, so that a descending list is the ascending one read backwards. */
const tieBreak = (sort: readonly SortTerm[], id: string): OrderKey => ({
  column: id,
  descending: sort.at(-1)?.descending ?? false,
})

/** The values of the order's columns at a position, without those of its first `from` terms. */
function valuesAt({ keys, id }: Position, sort: readonly SortTerm[], from: number): SortKey[] {
  const ofTerms = sort.slice(from).flatMap((term, offset) => {
    const key = keys[from + offset] ?? missingKeyOf(term.by)
    return canBeMissing(term) ? [key === missingKeyOf(term.by) ? 1 : 0, key] : [key]
  })
  return [...ofTerms, id]
}

/** The condition for rows behind the given values. If all columns have one direction, an index in their order seeks to them. */
function isBehind({ engine, bind }: SqlBuilder, order: readonly OrderKey[], values: readonly SortKey[]): string {
  const signOf = ({ descending }: OrderKey): string => (descending ? '<' : '>')
  const [first] = order
  if (!first) throw new Error('A list has no order.')
  if (order.every(({ descending }) => descending === first.descending)) {
    const columns = order.map(({ column }) => column)
    return columns.length === 1
      ? `${first.column} ${signOf(first)} ${bind(values[0])}`
      : `(${columns.join(', ')}) ${signOf(first)} (${values.map(bind).join(', ')})`
  }
  const hidden = engine === 'sqlite' ? '+' : ''
  const behindFrom = (position: number): string => {
    const [key, value] = [order[position], values[position]]
    if (!key) return '1 = 0'
    const isBeyond = `${hidden}${key.column} ${signOf(key)} ${bind(value)}`
    if (position === order.length - 1) return isBeyond
    return `(${isBeyond} or (${hidden}${key.column} = ${bind(value)} and ${behindFrom(position + 1)}))`
  }
  return `${first.column} ${signOf(first)}= ${bind(values[0])} and ${behindFrom(0)}`
}

/** The columns of an item's position. */
const positionOf = ({ sort, after }: ListQuery, id: string): string[] =>
  after === undefined ? [] : sort.map((term, position) => sortKeyOf(term, position, id).column)

export function gatherPlan(draft: SqlBuilder, listing: Listing, start?: Filter | Range): Plan {
  const { query, after } = listing
  const { sort } = query
  const id = 'matches.object_id'
  const objects = sort.some(usesObject) ? ` join ${draft.table('objects')} as o on o.id = ${id}` : ''
  const joins = sort.map((term, position) => joinSortField(draft, term, position, id))
  const order = [...orderOf(sort, 0, id), tieBreak(sort, id)]
  return {
    with: `with matches as materialized (${matchingIds(draft, listing, start)}) `,
    from: `matches${objects}${joins.join('')}`,
    id,
    conditions: [...timeLimitConditions(draft), ...(after ? [isBehind(draft, order, valuesAt(after, sort, 0))] : [])],
    order,
    position: positionOf(query, id),
  }
}

/** Whether a page begins among the objects without a value of the first sort field, which come last. */
export const beginsAtMissing = ({ query, after }: Pick<Listing, 'query' | 'after'>): boolean =>
  after !== undefined &&
  mayBeMissing(query) &&
  query.sort.some(({ by }, at) => at === 0 && after.keys[0] === missingKeyOf(by))

/** The listing without the end of the range that a walk leaves behind: SQLite seeks to one beginning and one end only. */
function withoutPassedEnd(listing: Listing, by: FieldRef, descending: boolean): Listing {
  const ranges = listing.query.ranges.flatMap((range): Range[] => {
    if (!isSameField(range.by, by)) return [range]
    const { from, to } = range
    if (descending) return from ? [{ by, from }] : []
    return to ? [{ by, to }] : []
  })
  return { ...listing, query: { ...listing.query, ranges } }
}

/** Walks the first sort term's index, over the objects with or without a value there. */
export function walkPlan(draft: SqlBuilder, listing: Listing, part: 'present' | 'missing'): Plan {
  const { query, after } = listing
  const { sort } = query
  const [first, ...others] = sort
  const walkedField = first && 'field' in first.by ? first.by.field : undefined
  const alias = walkedField === undefined ? 'o' : 's0'
  const id = walkedField === undefined ? 'o.id' : 's0.object_id'
  const firstKey = first && sortKeyOf(first, 0, id)
  const along: FieldRef = first?.by ?? { item: '_id' }
  const descending = first?.descending ?? false
  const isById = 'item' in along && along.item === '_id' && others.length === 0
  const inOrderOfKey = firstKey && part === 'present' && !isById
  const order: OrderKey[] = [
    ...(inOrderOfKey ? [{ column: firstKey.column, descending }] : []),
    ...orderOf(sort, 1, id),
    tieBreak(sort, id),
  ]
  const position = after && (part === 'missing') === beginsAtMissing(listing) ? after : undefined
  const values = position && [...(inOrderOfKey ? position.keys.slice(0, 1) : []), ...valuesAt(position, sort, 1)]
  const seeks = position !== undefined && part === 'present'
  const walked = seeks ? withoutPassedEnd(listing, along, descending) : listing
  const hasBeginning = rangeWalked(query) !== undefined || (seeks && !descending)
  const ofPart = part === 'missing' ? firstKey?.isMissing : hasBeginning ? undefined : firstKey?.isPresent
  const joins = others.map((term, offset) => joinSortField(draft, term, offset + 1, id))
  return {
    with: '',
    from: walkedTable(draft, listing, walkedField, others) + joins.join(''),
    id,
    conditions: [
      ...rowConditions(draft, walked, { alias, id, along, hasEnd: seeks && descending, isByRow: true }),
      ...(walkedField === undefined ? [] : [`s0.field = ${draft.bind(walkedField)}`]),
      ...(ofPart ? [ofPart] : []),
      ...(values ? [isBehind(draft, order, values)] : []),
    ],
    order,
    position: positionOf(query, id),
  }
}

/** The index of a field as `s0`, joined with `objects` as `o` only if needed; without a field, `objects` alone. */
function walkedTable({ table }: SqlBuilder, { query }: Listing, field: string | undefined, others: SortTerm[]): string {
  const objects = `${table('objects')} as o`
  if (field === undefined) return objects
  const index = `${table('object_fields')} as s0`
  const needsObjects = query.words.length > 0 || others.some(usesObject)
  return needsObjects ? `${index} join ${objects} on o.id = s0.object_id` : index
}

const where = ({ conditions }: Plan): string => (conditions.length > 0 ? ` where ${all(conditions)}` : '')

const keyOrder = ({ order }: Plan): string =>
  order.map(({ descending }, position) => `key${position} ${descending ? 'desc' : 'asc'}`).join(', ')

/** The key of a sort term in the position of a row. */
export const positionColumn = (at: number): string => `position${at}`

/** The ids with their sort keys. The limit is not bound: few values occur, and the planner benefits from them. */
export function selectIds({ bind }: SqlBuilder, plan: Plan, limit: number, skip: number): string {
  const keys = plan.order.map(({ column }, position) => `${column} as key${position}`).join(', ')
  const position = plan.position.map((column, at) => `, ${column} as ${positionColumn(at)}`).join('')
  const offset = skip > 0 ? ` offset ${bind(skip)}` : ''
  return `${plan.with}select ${plan.id} as page_id, ${keys}${position} from ${plan.from}${where(plan)} order by ${keyOrder(plan)} limit ${limit}${offset}`
}

/** Selects the ids with the limit in a subquery, then columns of these objects in the same order. */
export const selectPage = (draft: SqlBuilder, plan: Plan, limit: number, skip: number, rest: PageParts): string =>
  `select ${rest.columns} from (${selectIds(draft, plan, limit, skip)}) as page join ${draft.table('objects')} as o on o.id = page.page_id where ${rest.condition} order by ${keyOrder(plan)}`

/** What to select of a page's objects, with `objects` as `o`. */
export interface PageParts {
  columns: string
  condition: string
}

export const countRows = (plan: Plan): string => `select count(*) as total from ${plan.from}${where(plan)}`
