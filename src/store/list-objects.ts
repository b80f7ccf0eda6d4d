import { type RawBuilder, sql } from 'kysely'
import type { ListQuery, SortTerm } from '../content/list-query.ts'
import { type Container, type StoredObject, unsetPublishMs } from '../content/model.ts'
import { tableOf } from './database.ts'
import type { GroupStore } from './groups.ts'
import { all, type EditorView, type Listing, matchingIds, rowConditions, type Sql } from './list-conditions.ts'
import { objectColumns, toStoredObject } from './objects.ts'
import type { ObjectRow } from './tables.ts'

/**
 * The one way every listing is read. Two plans, chosen by the total:
 *  - few matches: take them from the filter's index and sort them;
 *  - many: walk the index of the first sort field in order, test each entry against the filters, stop when the page is full.
 */
const gatherAtMost = 1000

export interface ObjectList {
  objects: StoredObject[]
  totalCount: number
}

async function countMatches(listing: Listing): Promise<number> {
  const { rows } = await sql<{
    total: number
  }>`select count(*) as total from (${matchingIds(listing)}) as matches`.execute(listing.group.database.read)
  return rows[0]?.total ?? 0
}

interface OrderKey {
  column: Sql
  descending: boolean
}

/** How a page's rows are found and ordered. */
interface Plan {
  with: Sql
  from: Sql
  id: Sql
  conditions: Sql[]
  order: OrderKey[]
}

interface SortKey {
  column: Sql
  /** Says that an object has no value: those come last, whatever the direction. */
  isMissing: Sql | undefined
  isPresent: Sql | undefined
}

function sortKeyOf({ by }: SortTerm, position: number, id: Sql): SortKey {
  if ('field' in by) {
    const column = sql.ref(`s${position}.sort_key`)
    return { column, isMissing: sql`${column} = ''`, isPresent: sql`${column} > ''` }
  }
  if (by.item === 'publishDate') {
    const unset = sql.lit(unsetPublishMs)
    return {
      column: sql`o.publish_ms`,
      isMissing: sql`o.publish_ms = ${unset}`,
      isPresent: sql`o.publish_ms > ${unset}`,
    }
  }
  const columns = { createdAt: sql`o.created_ms`, updatedAt: sql`o.updated_ms`, _id: id }
  return { column: columns[by.item], isMissing: undefined, isPresent: undefined }
}

/** The index entry of a sort field: exactly one for each object, also where the object has no value. */
function joinSortField({ group }: Listing, { by }: SortTerm, position: number, id: Sql): Sql {
  if (!('field' in by)) return sql``
  const alias = sql.ref(`s${position}`)
  return sql` join ${tableOf(group.database, 'object_fields')} as ${alias}
    on ${alias}.object_id = ${id} and ${alias}.field = ${by.field} and ${alias}.sort_key is not null`
}

function orderOf(sort: readonly SortTerm[], from: number, id: Sql): OrderKey[] {
  return sort.slice(from).flatMap((term, offset) => {
    const { column, isMissing } = sortKeyOf(term, from + offset, id)
    const missingLast = isMissing ? [{ column: sql`case when ${isMissing} then 1 else 0 end`, descending: false }] : []
    return [...missingLast, { column, descending: term.descending }]
  })
}

/** The tie-break takes the last term's direction, so that a descending list is the ascending one read backwards. */
function tieBreak(sort: readonly SortTerm[], id: Sql): OrderKey {
  return { column: id, descending: sort.at(-1)?.descending ?? false }
}

function gatherPlan(listing: Listing): Plan {
  const { group, query } = listing
  const id = sql`o.id`
  const joins = query.sort.map((term, position) => joinSortField(listing, term, position, id))
  return {
    with: sql`with matches as materialized (${matchingIds(listing)}) `,
    from: sql`matches join ${tableOf(group.database, 'objects')} as o on o.id = matches.object_id${sql.join(joins, sql``)}`,
    id,
    conditions: [sql`o.container_id = ${listing.container.id}`],
    order: [...orderOf(query.sort, 0, id), tieBreak(query.sort, id)],
  }
}

/** Walks the first sort term's index, over the objects that have a value there or over those that have none. */
function walkPlan(listing: Listing, part: 'present' | 'missing'): Plan {
  const { query } = listing
  const [first, ...others] = query.sort
  const walkedField = first && 'field' in first.by ? first.by.field : undefined
  const id = walkedField === undefined ? sql`o.id` : sql`s0.object_id`
  const firstKey = first && sortKeyOf(first, 0, id)
  const ofPart = part === 'present' ? firstKey?.isPresent : firstKey?.isMissing
  const joins = others.map((term, offset) => joinSortField(listing, term, offset + 1, id))
  return {
    with: sql``,
    from: sql`${walkedTable(listing, walkedField, others)}${sql.join(joins, sql``)}`,
    id,
    conditions: [
      ...rowConditions(listing, walkedField === undefined ? 'o' : 's0', id),
      ...(walkedField === undefined ? [] : [sql`s0.field = ${walkedField}`]),
      ...(ofPart ? [ofPart] : []),
    ],
    order: [
      ...(firstKey && part === 'present' ? [{ column: firstKey.column, descending: first.descending }] : []),
      ...orderOf(query.sort, 1, id),
      tieBreak(query.sort, id),
    ],
  }
}

/** The index of a field as `s0`, with `objects` as `o` only where something is asked of it; else `objects` alone. */
function walkedTable({ group, query }: Listing, field: string | undefined, others: SortTerm[]): Sql {
  const objects = sql`${tableOf(group.database, 'objects')} as o`
  if (field === undefined) return objects
  const asksObject = query.words.length > 0 || others.some(({ by }) => 'item' in by && by.item !== '_id')
  const index = sql`${tableOf(group.database, 'object_fields')} as s0`
  return asksObject ? sql`${index} join ${objects} on o.id = s0.object_id` : index
}

/** First the ids, with the limit inside; then the values of just these, in the same order. */
function pageStatement({ group }: Listing, plan: Plan, limit: number, skip: number): RawBuilder<ObjectRow> {
  const key = (position: number): Sql => sql.ref(`key${position}`)
  const columns = plan.order.map(({ column }, position) => sql`${column} as ${key(position)}`)
  const order = sql.join(plan.order.map(({ descending }, at) => sql`${key(at)} ${descending ? sql`desc` : sql`asc`}`))
  return sql<ObjectRow>`
    select ${sql.join(objectColumns.map((column) => sql.ref(`o.${column}`)))}
    from (
      ${plan.with}select ${plan.id} as page_id, ${sql.join(columns)} from ${plan.from}
      where ${all(plan.conditions)} order by ${order} limit ${limit} offset ${skip}
    ) as page join ${tableOf(group.database, 'objects')} as o on o.id = page.page_id
    where o.group_id = ${group.groupId} order by ${order}`
}

async function readPage(listing: Listing, plan: Plan, limit: number, skip: number): Promise<StoredObject[]> {
  const { rows } = await pageStatement(listing, plan, limit, skip).execute(listing.group.database.read)
  return rows.map(toStoredObject)
}

async function walkPage(listing: Listing): Promise<StoredObject[]> {
  const { limit, skip, sort } = listing.query
  const presentPlan = walkPlan(listing, 'present')
  const present = await readPage(listing, presentPlan, limit, skip)
  const [first] = sort
  const mayBeMissing = first !== undefined && sortKeyOf(first, 0, presentPlan.id).isMissing !== undefined
  if (present.length === limit || !mayBeMissing) return present
  const presentCount = present.length > 0 ? skip + present.length : await countRows(listing, presentPlan)
  const missingSkip = Math.max(0, skip - presentCount)
  return [...present, ...(await readPage(listing, walkPlan(listing, 'missing'), limit - present.length, missingSkip))]
}

async function countRows(listing: Listing, { from, conditions }: Plan): Promise<number> {
  const { rows } = await sql<{ total: number }>`select count(*) as total from ${from} where ${all(conditions)}`.execute(
    listing.group.database.read,
  )
  return rows[0]?.total ?? 0
}

/** The visible objects of a container that match, one page of them, and how many there are in all. */
export function listVisibleObjects(
  group: GroupStore,
  container: Container,
  query: ListQuery,
  nowMs: number,
): Promise<ObjectList> {
  return listObjects({ group, container, query, show: 'visible', nowMs })
}

/** The same for who edits them: in every state, or in the one that is asked for. */
export function listObjectsInState(
  group: GroupStore,
  container: Container,
  query: ListQuery,
  view: EditorView,
  nowMs: number,
): Promise<ObjectList> {
  return listObjects({ group, container, query, show: view, nowMs })
}

async function listObjects(listing: Listing): Promise<ObjectList> {
  const { query } = listing
  const totalCount = await countMatches(listing)
  if (query.skip >= totalCount) return { objects: [], totalCount }
  const objects =
    totalCount <= gatherAtMost
      ? await readPage(listing, gatherPlan(listing), query.limit, query.skip)
      : await walkPage(listing)
  return { objects, totalCount }
}
