import { splitIntoSlices, yieldForHeavyWork } from '../../concurrency/time-slicing.ts'
import { readCursor, writeCursor } from '../../content/cursor.ts'
import { noConditions, type SortKey } from '../../content/filters.ts'
import type { ListQuery } from '../../content/list-query.ts'
import type { Container, StoredObject } from '../../content/model.ts'
import { objectColumns, toStoredObject } from '../content/objects.ts'
import { type Revisions, revisionColumns } from '../content/revisions.ts'
import { rawReader } from '../engine/database.ts'
import { createSqlBuilder, runStatement, type SqlBuilder } from '../engine/statement.ts'
import type { ObjectRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import { readLargeValues, valueColumn } from './large-values.ts'
import { type EditorView, intersection, type Listing, matchingIds } from './list-conditions.ts'
import {
  beginsAtMissing,
  choosePlan,
  countRows,
  gatherPlan,
  mayBeMissing,
  type Plan,
  positionColumn,
  selectPage,
  walkPlan,
} from './list-plans.ts'
import { countRange } from './range-totals.ts'
import { rankMatches } from './rank-matches.ts'
import { narrowTo, searchMatches } from './search-matches.ts'
import { findSmallest } from './smallest-condition.ts'
import { hasStoredTotal, type StoredTotal, storedTotal } from './totals.ts'

/** A statement with more look-ups runs as a long read. This many take about 20 ms. */
const maxShortLookUps = 20_000

/** Index look-ups for each entry of a listing, by filter values, other conditions and sort fields. */
const lookUpsPerEntry = ({ filters, ranges, exclusions, sort }: ListQuery): number =>
  1 +
  filters.flatMap(({ keys }) => keys).length +
  ranges.length +
  exclusions.length +
  sort.filter(({ by }) => 'field' in by).length

/** Whether a statement that reads about this many entries is a long read. A search always is, since texts may be of any length. */
export const isLong = ({ query }: Pick<Listing, 'query'>, entries: number): boolean =>
  query.words.length > 0 || entries * lookUpsPerEntry(query) > maxShortLookUps

/** Numbers of objects: the matches, and all of the container. */
export interface Counts {
  matches: number
  all: number
}

/** Requires `hasStoredTotal`. */
export async function readStoredTotal({ group, container, query, nowMs }: Listing): Promise<StoredTotal> {
  const { text, parameters } = storedTotal(group, container.id, query.filters[0], nowMs)
  const [row] = await rawReader(group.database.read)<StoredTotal>(text, parameters)
  return row ?? { total: 0, revision: 0 }
}

/** `entries` is an upper bound of those to read. */
async function countOneByOne(listing: Listing, entries: number): Promise<StoredTotal> {
  const { group } = listing
  const smallest = await findSmallest(listing)
  // The counters know live objects only, which are all that a list delivers.
  const read = listing.show === 'visible' ? (smallest?.size ?? entries) : entries
  const draft = createSqlBuilder(group.database, isLong(listing, read))
  const text = `select count(*) as total, ${revisionColumns(draft, group.groupId)} from (${matchingIds(draft, listing, smallest?.start)}) as matches`
  const [row] = await runStatement<StoredTotal>(group, text, draft)
  return row ?? { total: 0, revision: 0 }
}

/** If a query's only condition excludes some values, the query for the objects with these. */
function withExcludedOnly({ ids, words, filters, ranges, exclusions, ...query }: ListQuery): ListQuery | undefined {
  const [excluded, ...others] = exclusions
  if (!excluded || 'item' in excluded.by || ids) return undefined
  if (words.length + filters.length + ranges.length + others.length > 0) return undefined
  return { ...query, ...noConditions, words, filters: [{ field: excluded.by.field, keys: excluded.keys.map(String) }] }
}

/** An intersection reads all entries of all filters in a tenth of the time in which a look-up tests one entry. */
const entriesPerLookUp = 10

/** Several filters, the rarest first; their totals are known. */
async function countFiltered(listing: Listing): Promise<StoredTotal> {
  const { query } = listing
  const found = await Promise.all(
    query.filters.map(async (filter) => {
      const counted = await readStoredTotal({ ...listing, query: { ...query, ...noConditions, filters: [filter] } })
      return { filter, ...counted }
    }),
  )
  const [rarest, ...others] = found.toSorted((one, other) => one.total - other.total)
  if (!rarest || rarest.total === 0) return { total: 0, revision: rarest?.revision ?? 0 }
  const filters = [rarest, ...others].map(({ filter }) => filter)
  const sorted = { ...listing, query: { ...query, filters } }
  const entries = found.reduce((sum, { total }) => sum + total, 0)
  const canIntersect =
    query.ranges.length + query.exclusions.length === 0 && filters.every(({ keys }) => keys.length === 1)
  if (!canIntersect || entries > rarest.total * entriesPerLookUp) return countOneByOne(sorted, rarest.total)
  const { group } = listing
  const draft = createSqlBuilder(group.database, entries > maxShortLookUps)
  const text = `select count(*) as total, ${revisionColumns(draft, group.groupId)} from (${intersection(draft, sorted)}) as matches`
  const [row] = await runStatement<StoredTotal>(group, text, draft)
  return row ?? { total: 0, revision: 0 }
}

/** The number of matches, and its revision. `countAll` is called only if the matches must be counted one by one. */
export async function countMatches(listing: Listing, countAll: () => Promise<number>): Promise<StoredTotal> {
  const { container, query, show } = listing
  if (show !== 'visible') return countOneByOne(listing, await countAll())
  if (hasStoredTotal(container, query)) return readStoredTotal(listing)
  const excluded = withExcludedOnly(query)
  if (excluded && hasStoredTotal(container, excluded)) {
    const others = await readStoredTotal({ ...listing, query: excluded })
    return { ...others, total: (await countAll()) - others.total }
  }
  if (query.filters.length > 1 && !query.ids && query.words.length === 0) return countFiltered(listing)
  return (await countRange(listing)) ?? countOneByOne(listing, await countAll())
}

/** Builds a statement that selects rows in the order of a plan. */
export type Select = (draft: SqlBuilder, plan: Plan, limit: number, skip: number) => string

/** Reads a part of a listing in its order by the cheaper plan. */
export async function readInOrder<Row>(
  listing: Listing,
  counts: Counts,
  { limit, skip }: { limit: number; skip: number },
  select: Select,
): Promise<Row[]> {
  const { group } = listing
  const { way, cost } = choosePlan(listing, { ...counts, wanted: skip + limit })
  const run = <Result>(planOf: (draft: SqlBuilder) => Plan, textOf: (draft: SqlBuilder, plan: Plan) => string) => {
    const draft = createSqlBuilder(group.database, isLong(listing, cost))
    return runStatement<Result>(group, textOf(draft, planOf(draft)), draft)
  }
  if (way === 'gather') {
    const smallest = await findSmallest(listing)
    const gather = (draft: SqlBuilder): Plan => gatherPlan(draft, listing, smallest?.start)
    return run<Row>(gather, (draft, plan) => select(draft, plan, limit, skip))
  }

  const walk = (part: 'present' | 'missing') => (draft: SqlBuilder) => walkPlan(draft, listing, part)
  const present = beginsAtMissing(listing)
    ? []
    : await run<Row>(walk('present'), (draft, plan) => select(draft, plan, limit, skip))
  const isWhole = present.length === limit || (!listing.after && skip + present.length >= counts.matches)
  if (isWhole || !mayBeMissing(listing.query)) return present
  const countPresent = async (): Promise<number> => {
    const [row] = await run<{ total: number }>(walk('present'), (_, plan) => countRows(plan))
    return row?.total ?? 0
  }
  const before = present.length > 0 || skip === 0 ? skip + present.length : await countPresent()
  const [rest, restSkip] = [limit - present.length, Math.max(0, skip - before)]
  return [...present, ...(await run<Row>(walk('missing'), (draft, plan) => select(draft, plan, rest, restSkip)))]
}

/** Selects columns of the objects of a page, and the group's revisions. */
export function pageOf({ group }: Listing, columns: readonly (keyof ObjectRow)[], maxBytes: number): Select {
  const { groupId } = group
  const values = columns.map((column) => (column === 'value' ? valueColumn(maxBytes) : `o.${column}`))
  return (draft, plan, limit, skip) =>
    selectPage(draft, plan, limit, skip, {
      columns: [
        ...values,
        ...plan.position.map((_, at) => `page.${positionColumn(at)}`),
        revisionColumns(draft, groupId),
      ].join(', '),
      condition: `o.group_id = ${draft.bind(groupId)}`,
    })
}

/** A page of rows, and the cursor of the next one if the query has cursors: null at the end. */
interface CursorPage<Row> {
  rows: Row[]
  nextCursor?: string | null
}

/** Reads a page that begins behind a cursor, or the first one. `scope` is what selects the list besides the query. */
export async function readByCursor<Row extends { id: string }>(
  listing: Listing,
  counts: Counts,
  select: Select,
  scope: readonly unknown[],
  query: ListQuery,
): Promise<CursorPage<Row>> {
  const found = await readInOrder<Row>(listing, counts, { limit: query.limit + 1, skip: 0 }, select)
  const rows = found.slice(0, query.limit)
  const last = rows.at(-1)
  if (!last || found.length === rows.length) return { rows, nextCursor: null }
  const keys = query.sort.map((_, at) => (last as Record<string, unknown>)[positionColumn(at)] as SortKey)
  return { rows, nextCursor: writeCursor(scope, query, { keys, id: last.id }) }
}

export interface ObjectList {
  objects: StoredObject[]
  totalCount: number
  nextCursor?: string | null
}

/** A page of a container's objects for editors, in all states or in the requested one. */
export async function listObjectsInState(
  group: GroupStore,
  container: Container,
  query: ListQuery,
  view: EditorView,
  nowMs: number,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<ObjectList> {
  const scope = [container.id, view.status, view.review]
  const requested: Listing = { group, container, query, show: view, nowMs, after: readCursor(scope, query) }
  const searched = query.words.length > 0 ? await searchMatches(requested) : undefined
  const listing = searched ? narrowTo(requested, searched) : requested
  const all = await countSome(listing)
  const matches = searched?.total ?? (await countOneByOne(listing, all)).total
  const hasCursor = query.after !== undefined
  if (query.skip >= matches) return { objects: [], totalCount: matches, ...(hasCursor && { nextCursor: null }) }
  const counts = { matches, all: Math.max(matches, all) }
  const ranked = query.byRelevance && searched?.ids ? await rankMatches(requested, searched.ids) : undefined
  const ids = ranked?.slice(query.skip, query.skip + query.limit).map(({ id }) => id)
  const shown = ids ? { ...listing, query: { ...listing.query, ids } } : listing
  const part = ids ? { limit: ids.length, skip: 0 } : query
  const page = pageOf(shown, objectColumns, maxBytes)
  const { rows, ...next }: CursorPage<ObjectRow & Revisions> = hasCursor
    ? await readByCursor(listing, counts, page, scope, query)
    : { rows: await readInOrder(shown, counts, part, page) }
  if (ids) rows.sort((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id))
  const { values } = await readLargeValues(group, rows, maxBytes)
  const objects: StoredObject[] = []
  for (const { items, characters } of splitIntoSlices(
    rows,
    ({ id, value }) => values.get(id)?.length ?? value.length,
  )) {
    await yieldForHeavyWork(characters)
    objects.push(...items.map((row) => toStoredObject({ ...row, value: values.get(row.id) ?? row.value })))
  }
  return { objects, totalCount: matches, ...next }
}

/** Counts a container's objects in all states, up to the number that requires a long read. */
export async function countSome({ group, container }: Listing): Promise<number> {
  const draft = createSqlBuilder(group.database)
  const some = `select 1 from ${draft.table('objects')} where container_id = ${draft.bind(container.id)} limit ${maxShortLookUps + 1}`
  const [row] = await runStatement<{ total: number }>(
    group,
    `select count(*) as total from (${some}) as some_of`,
    draft,
  )
  return row?.total ?? 0
}
