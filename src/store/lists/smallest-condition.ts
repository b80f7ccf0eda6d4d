import type { Filter, Range } from '../../content/filters.ts'
import { createSqlBuilder, isOneOf, runStatement, type SqlBuilder } from '../engine/statement.ts'
import { all, itemColumns, type Listing, within } from './list-conditions.ts'

/** Entries of a range that are counted: a larger one is as good as any other. */
const maxCounted = 1000

/** From the counters, as triggers keep them. */
function sizeOfFilter(draft: SqlBuilder, { container }: Listing, { field, keys }: Filter): string {
  const { table, bind } = draft
  return `(select coalesce(sum(total), 0) from ${table('totals')} where container_id = ${bind(container.id)} and field = ${bind(field)} and ${isOneOf(draft, 'filter_key', keys)})`
}

/** The order makes PostgreSQL use the index, even without statistics. */
function sizeOfRange(draft: SqlBuilder, { container }: Listing, range: Range): string {
  const { table, bind } = draft
  const { by } = range
  const column = 'field' in by ? 'sort_key' : itemColumns[by.item]
  const conditions = [
    `container_id = ${bind(container.id)}`,
    ...('field' in by ? [`field = ${bind(by.field)}`] : []),
    ...('item' in by && by.item === 'publishDate' ? ['archived = 0'] : []), // with which its index begins
    ...within(draft, column, range),
  ]
  const from = table('field' in by ? 'object_fields' : 'objects')
  return `(select count(*) from (select 1 from ${from} where ${all(conditions)} order by ${column} limit ${maxCounted}) as some_of)`
}

/** The condition that the fewest objects meet, and their number; undefined if it is not known, or there is no choice. */
export async function findSmallest(listing: Listing): Promise<{ start: Filter | Range; size: number } | undefined> {
  const { group, query } = listing
  const { ids, filters, ranges, words } = query
  if (ids || words.length > 0 || filters.length + ranges.length < 2) return undefined
  const draft = createSqlBuilder(group.database)
  const sizes = [
    ...filters.map((filter) => sizeOfFilter(draft, listing, filter)),
    ...ranges.map((range) => sizeOfRange(draft, listing, range)),
  ]
  const columns = sizes.map((size, at) => `${size} as size${at}`)
  const [row] = await runStatement<Record<string, number>>(group, `select ${columns.join(', ')}`, draft)
  const counted = [...filters, ...ranges].map((start, at) => {
    const size = Number(row?.[`size${at}`])
    return { start, size: 'keys' in start || size < maxCounted ? size : Number.POSITIVE_INFINITY }
  })
  const smallest = counted.reduce((one, other) => (other.size < one.size ? other : one))
  return Number.isFinite(smallest.size) ? smallest : undefined
}
