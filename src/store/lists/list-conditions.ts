import type { Position } from '../../content/cursor.ts'
import { type Exclusion, type FieldRef, type Filter, isSameField, type Range } from '../../content/filters.ts'
import type { ListQuery } from '../../content/list-query.ts'
import { type Container, draftPublishMs, type ObjectStatus, type ReviewState } from '../../content/model.ts'
import { isOneOf, type SqlBuilder, timeLimitConditions } from '../engine/statement.ts'
import type { GroupStore } from '../store.ts'

export interface Listing {
  group: GroupStore
  container: Container
  query: ListQuery
  /** Visible objects only, as in all delivered listings; all but archived ones; or an editor's selection. */
  show: 'visible' | 'preview' | EditorView
  /** Objects to leave out. */
  except?: readonly string[]
  nowMs: number
  /** The item behind which the page begins. */
  after?: Position | undefined
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

/** The rows that a statement reads: of `objects`, or of its index. */
interface Source {
  alias: string
  /** The column with the object's id. */
  id: string
  /**
   * The order of the index along which they are read. In SQLite a unary plus keeps other conditions from making it prefer another
   * index: it uses none for such a term.
   */
  along?: FieldRef | undefined
  /** Whether the rows end before the end of the index. */
  hasEnd?: boolean
  /** Whether other conditions are tested row by row: in a walk, which stops early, and from the rarest condition. */
  isByRow?: boolean
}

const isAlong = ({ along }: Source, by: FieldRef): boolean => along !== undefined && isSameField(along, by)

const publishDate: FieldRef = { item: 'publishDate' }

function stateColumns({ engine }: SqlBuilder, { query }: Listing, source: Source): StateColumns {
  const { alias, along } = source
  const hidden = engine === 'sqlite' && along ? '+' : ''
  if (!isAlong(source, publishDate))
    return { archived: `${hidden}${alias}.archived`, publishMs: `${hidden}${alias}.publish_ms` }
  // SQLite seeks to one end only, which must be that of the rows.
  const hasEnd = source.hasEnd || query.ranges.some(({ by, to }) => isSameField(by, publishDate) && to)
  return { archived: `${alias}.archived`, publishMs: `${hasEnd ? hidden : ''}${alias}.publish_ms` }
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
  if (show === 'preview') return [`${columns.archived} = 0`]
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

/** Tests an object's index entries of a field, by primary key. */
function hasEntry(draft: SqlBuilder, { id, isByRow }: Source, field: string, conditions: readonly string[]): string {
  const { engine, table, bind } = draft
  // Without `offset 0`, PostgreSQL would first search for all objects with such an entry.
  const inOrder = isByRow && engine === 'postgres' ? ' offset 0' : ''
  return `exists (select 1 from ${table('object_fields')} as probe where probe.object_id = ${id} and probe.field = ${bind(field)} and ${all(conditions)}${inOrder})`
}

const hasValue = (draft: SqlBuilder, source: Source, { field, keys }: Filter): string =>
  hasEntry(draft, source, field, [isOneOf(draft, 'probe.filter_key', keys)])

export const itemColumns = {
  publishDate: 'publish_ms',
  createdAt: 'created_ms',
  updatedAt: 'updated_ms',
  _id: 'id',
} as const

/** Conditions on an item's own field. The rows of the index have its publish date, but not the other dates. */
function testItem(
  { table }: SqlBuilder,
  { alias, id }: Source,
  item: keyof typeof itemColumns,
  testsOf: (column: string) => string[],
): string[] {
  if (item === '_id') return testsOf(id)
  if (alias === 'o' || item === 'publishDate') return testsOf(`${alias}.${itemColumns[item]}`)
  const tests = testsOf(`dated.${itemColumns[item]}`)
  return [`exists (select 1 from ${table('objects')} as dated where dated.id = ${id} and ${all(tests)})`]
}

export const within = ({ bind }: SqlBuilder, column: string, { from, to }: Range): string[] => [
  ...(from ? [`${column} ${from.isExclusive ? '>' : '>='} ${bind(from.key)}`] : []),
  ...(to ? [`${column} ${to.isExclusive ? '<' : '<='} ${bind(to.key)}`] : []),
]

/** By the index that is read, or by a look-up for each row. */
function inRange(draft: SqlBuilder, source: Source, range: Range): string[] {
  const { by } = range
  const { alias, along } = source
  const sign = draft.engine === 'sqlite' && along && !isAlong(source, by) ? '+' : ''
  if ('item' in by)
    return testItem(draft, source, by.item, (column) =>
      within(draft, `${column.startsWith('dated') ? '' : sign}${column}`, range),
    )
  if (isAlong(source, by)) return within(draft, `${alias}.sort_key`, range)
  return [hasEntry(draft, source, by.field, within(draft, 'probe.sort_key', range))]
}

function isExcluded(draft: SqlBuilder, source: Source, { by, keys }: Exclusion): string[] {
  if ('field' in by) return [`not ${hasValue(draft, source, { field: by.field, keys: keys.map(String) })}`]
  return testItem(draft, source, by.item, (column) => keys.map((key) => `${column} <> ${draft.bind(key)}`))
}

export const hasWord = ({ engine, bind }: SqlBuilder, column: string, word: string): string =>
  `${engine === 'sqlite' ? 'instr' : 'strpos'}(${column}, ${bind(word)}) > 0`

/** Conditions on the rows of `objects` or of its index. A search requires `objects` as `o`. */
export function rowConditions(
  draft: SqlBuilder,
  listing: Listing,
  source: Source,
  filters: readonly Filter[] = listing.query.filters,
): string[] {
  const { container, query } = listing
  const { alias, id } = source
  return [
    `${alias}.container_id = ${draft.bind(container.id)}`,
    ...timeLimitConditions(draft),
    ...shown(draft, listing, stateColumns(draft, listing, source), id),
    ...(query.ids ? [isOneOf(draft, id, query.ids)] : []),
    ...(listing.except?.length ? [`not (${isOneOf(draft, id, listing.except)})`] : []),
    ...filters.map((filter) => hasValue(draft, source, filter)),
    ...query.ranges.flatMap((range) => inRange(draft, source, range)),
    ...query.exclusions.flatMap((exclusion) => isExcluded(draft, source, exclusion)),
    ...query.words.map((word) => hasWord(draft, 'o.search_text', word)),
  ]
}

/** A query for the ids of all matches: from the index entries of `start`, by default of the first filter, else of the first range. */
export function matchingIds(draft: SqlBuilder, listing: Listing, start?: Filter | Range): string {
  const { query } = listing
  const { table } = draft
  const isSearched = query.ids !== undefined || query.words.length > 0
  const isByRow = start !== undefined
  const begin = isSearched ? undefined : (start ?? query.filters[0] ?? query.ranges[0])
  if (begin && 'keys' in begin) {
    const others = query.filters.filter((filter) => filter !== begin)
    const conditions = [
      ...rowConditions(draft, listing, { alias: 'f', id: 'f.object_id', isByRow }, others),
      `f.field = ${draft.bind(begin.field)} and ${isOneOf(draft, 'f.filter_key', begin.keys)}`,
    ]
    // An object has one row per value, so a list may match several keys.
    const distinct = begin.keys.length > 1 ? 'distinct ' : ''
    return `select ${distinct}f.object_id from ${table('object_fields')} as f where ${all(conditions)}`
  }
  const along = begin?.by
  if (along && 'field' in along) {
    const conditions = rowConditions(draft, listing, { alias: 'f', id: 'f.object_id', along, isByRow })
    return `select f.object_id from ${table('object_fields')} as f where ${all(conditions)} and f.field = ${draft.bind(along.field)}`
  }
  const conditions = rowConditions(draft, listing, { alias: 'o', id: 'o.id', along, isByRow })
  return `select o.id as object_id from ${table('objects')} as o where ${all(conditions)}`
}

/**
 * The matches of several filters with one key each, by merging their sections of the index, which have the same order. The
 * time is checked in the first section only, which must be the shortest: the merge reads the others as it goes through it.
 */
export function intersection(draft: SqlBuilder, listing: Listing): string {
  const { container, query } = listing
  const sections = query.filters.map(({ field, keys }, position) => {
    const conditions = [
      `f.container_id = ${draft.bind(container.id)}`,
      `f.field = ${draft.bind(field)} and ${isOneOf(draft, 'f.filter_key', keys)}`,
      ...(position === 0 ? timeLimitConditions(draft) : []),
      ...shown(draft, listing, { archived: 'f.archived', publishMs: 'f.publish_ms' }, 'f.object_id'),
    ]
    return `select f.publish_ms, f.object_id from ${draft.table('object_fields')} as f where ${all(conditions)}`
  })
  return `${sections.join(' intersect ')} order by 1, 2`
}
