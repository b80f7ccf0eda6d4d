import type { Filter, ListQuery } from '../../content/list-query.ts'
import { type Container, draftPublishMs, type ObjectStatus, type ReviewState } from '../../content/model.ts'
import { isOneOf, type SqlBuilder, timeLimitConditions } from '../engine/statement.ts'
import type { GroupStore } from '../store.ts'

export interface Listing {
  group: GroupStore
  container: Container
  query: ListQuery
  /** Visible objects only, as in all delivered listings, or an editor's selection. */
  show: 'visible' | EditorView
  nowMs: number
}

export interface EditorView {
  status?: ObjectStatus | undefined
  review?: ReviewState | undefined
}

export const all = (conditions: readonly string[]): string => conditions.join(' and ')

/** The columns that decide whether a row is shown. */
interface StateColumns {
  archived: string
  publishMs: string
}

/**
 * In a walk along another index, SQLite would prefer the index of dates, and sort all its entries. A unary plus prevents
 * this: SQLite uses no index for such a term.
 */
function stateColumns({ engine }: SqlBuilder, { query }: Listing, alias: string, isWalk: boolean): StateColumns {
  const [first] = query.sort
  const isAlongDates = first !== undefined && 'item' in first.by && first.by.item === 'publishDate'
  const sign = engine === 'sqlite' && isWalk && !isAlongDates ? '+' : ''
  return { archived: `${sign}${alias}.archived`, publishMs: `${sign}${alias}.publish_ms` }
}

/** All of spec §3: an unset publish date is stored as a value before all others. */
const visible = ({ bind }: SqlBuilder, { archived, publishMs }: StateColumns, nowMs: number): string =>
  `${archived} = 0 and ${publishMs} <= ${bind(nowMs)}`

/** `statusOf` as SQL. */
function hasStatus(draft: SqlBuilder, columns: StateColumns, status: ObjectStatus, nowMs: number): string {
  const { archived, publishMs } = columns
  if (status === 'archived') return `${archived} = 1`
  if (status === 'published') return visible(draft, columns, nowMs)
  if (status === 'draft') return `${archived} = 0 and ${publishMs} = ${draftPublishMs}`
  return `${archived} = 0 and ${publishMs} > ${draft.bind(nowMs)} and ${publishMs} < ${draftPublishMs}`
}

function shown(draft: SqlBuilder, { show, nowMs }: Listing, columns: StateColumns, id: string): string[] {
  if (show === 'visible') return [visible(draft, columns, nowMs)]
  const { status, review } = show
  const reviewed = draft.table('objects')
  return [
    ...(status ? [hasStatus(draft, columns, status, nowMs)] : []),
    ...(review
      ? [
          `exists (select 1 from ${reviewed} as reviewed where reviewed.id = ${id} and reviewed.review = ${draft.bind(review)})`,
        ]
      : []),
  ]
}

/** Tests whether an object has one of a filter's values, by primary key. */
function hasValue(draft: SqlBuilder, { field, keys }: Filter, objectId: string, isWalk: boolean): string {
  const { engine, table, bind } = draft
  // Without `offset 0`, PostgreSQL would first search for all objects with the value.
  const inOrder = isWalk && engine === 'postgres' ? ' offset 0' : ''
  return `exists (select 1 from ${table('object_fields')} as probe where probe.object_id = ${objectId} and probe.field = ${bind(field)} and ${isOneOf(draft, 'probe.filter_key', keys)}${inOrder})`
}

const hasWord = ({ engine, bind }: SqlBuilder, word: string): string =>
  `${engine === 'sqlite' ? 'instr' : 'strpos'}(o.search_text, ${bind(word)}) > 0`

/** Conditions on the rows of `objects` or of its index. A search requires `objects` as `o`. */
export function rowConditions(
  draft: SqlBuilder,
  listing: Listing,
  alias: string,
  id: string,
  { filters = listing.query.filters, isWalk = false }: { filters?: readonly Filter[]; isWalk?: boolean } = {},
): string[] {
  const { container, query } = listing
  return [
    `${alias}.container_id = ${draft.bind(container.id)}`,
    ...timeLimitConditions(draft),
    ...shown(draft, listing, stateColumns(draft, listing, alias, isWalk), id),
    ...(query.ids ? [isOneOf(draft, id, query.ids)] : []),
    ...filters.map((filter) => hasValue(draft, filter, id, isWalk)),
    ...query.words.map((word) => hasWord(draft, word)),
  ]
}

/** A query for the ids of all matches. With nothing but filters, it starts from the index entries of the first one. */
export function matchingIds(draft: SqlBuilder, listing: Listing): string {
  const { query } = listing
  const [first, ...filters] = query.filters
  if (!first || query.ids || query.words.length > 0) {
    const conditions = rowConditions(draft, listing, 'o', 'o.id')
    return `select o.id as object_id from ${draft.table('objects')} as o where ${all(conditions)}`
  }
  const conditions = [
    ...rowConditions(draft, listing, 'f', 'f.object_id', { filters }),
    `f.field = ${draft.bind(first.field)} and ${isOneOf(draft, 'f.filter_key', first.keys)}`,
  ]
  // An object has one row per value, so a list may match several keys.
  const distinct = first.keys.length > 1 ? 'distinct ' : ''
  return `select ${distinct}f.object_id from ${draft.table('object_fields')} as f where ${all(conditions)}`
}
