import { type RawBuilder, sql } from 'kysely'
import type { Filter, ListQuery } from '../content/list-query.ts'
import { type Container, draftPublishMs, type ObjectStatus, type ReviewState } from '../content/model.ts'
import { tableOf } from './database.ts'
import type { GroupStore } from './groups.ts'

/** What every listing asks of a row, as SQL. All names and values are bound; the text depends only on how many there are. */
export type Sql = RawBuilder<unknown>

export interface Listing {
  group: GroupStore
  container: Container
  query: ListQuery
  /** Visible objects only, as every delivered listing; or whatever an editor wants to see. */
  show: 'visible' | EditorView
  nowMs: number
}

export interface EditorView {
  status?: ObjectStatus | undefined
  review?: ReviewState | undefined
}

export const all = (conditions: Sql[]): Sql => sql.join(conditions, sql` and `)
const anyOf = (values: readonly string[]): Sql => sql`(${sql.join(values)})`

/** spec §3, the whole of it: an unset publish date lies before every moment. */
function visible(alias: string, nowMs: number): Sql {
  return sql`${sql.ref(`${alias}.archived`)} = 0 and ${sql.ref(`${alias}.publish_ms`)} <= ${nowMs}`
}

/** `statusOf` as SQL. */
function hasStatus(alias: string, status: ObjectStatus, nowMs: number): Sql {
  const archived = sql.ref(`${alias}.archived`)
  const publishMs = sql.ref(`${alias}.publish_ms`)
  if (status === 'archived') return sql`${archived} = 1`
  if (status === 'published') return visible(alias, nowMs)
  if (status === 'draft') return sql`${archived} = 0 and ${publishMs} = ${sql.lit(draftPublishMs)}`
  return sql`${archived} = 0 and ${publishMs} > ${nowMs} and ${publishMs} < ${sql.lit(draftPublishMs)}`
}

function shown({ group, show, nowMs }: Listing, alias: string, id: Sql): Sql[] {
  if (show === 'visible') return [visible(alias, nowMs)]
  const { status, review } = show
  return [
    ...(status ? [hasStatus(alias, status, nowMs)] : []),
    ...(review
      ? [
          sql`exists (select 1 from ${tableOf(group.database, 'objects')} as reviewed
            where reviewed.id = ${id} and reviewed.review = ${review})`,
        ]
      : []),
  ]
}

/** Whether one object has one of a filter's values: a look-up by primary key. */
function hasValue({ group }: Listing, filter: Filter, objectId: Sql): Sql {
  return sql`exists (select 1 from ${tableOf(group.database, 'object_fields')} as probe
    where probe.object_id = ${objectId} and probe.field = ${filter.field} and probe.filter_key in ${anyOf(filter.keys)})`
}

function hasWord({ group }: Listing, word: string): Sql {
  const position = group.database.engine === 'sqlite' ? sql`instr` : sql`strpos`
  return sql`${position}(o.search_text, ${word}) > 0`
}

/** What the rows of a table must fulfil, which is `objects` or its index. Words are looked for in `objects`, as `o`. */
export function rowConditions(
  listing: Listing,
  alias: string,
  id: Sql,
  filters: readonly Filter[] = listing.query.filters,
): Sql[] {
  const { container, query } = listing
  return [
    sql`${sql.ref(`${alias}.container_id`)} = ${container.id}`,
    ...shown(listing, alias, id),
    ...(query.ids ? [sql`${id} in ${anyOf(query.ids)}`] : []),
    ...filters.map((filter) => hasValue(listing, filter, id)),
    ...query.words.map((word) => hasWord(listing, word)),
  ]
}

/** The ids of all matches, as a query. The first filter's index leads where nothing but filters is asked. */
export function matchingIds(listing: Listing): Sql {
  const { group, query } = listing
  const [first, ...others] = query.filters
  if (!first || query.ids || query.words.length > 0) {
    const conditions = rowConditions(listing, 'o', sql`o.id`)
    return sql`select o.id as object_id from ${tableOf(group.database, 'objects')} as o where ${all(conditions)}`
  }
  const conditions = [
    ...rowConditions(listing, 'f', sql`f.object_id`, others),
    sql`f.field = ${first.field} and f.filter_key in ${anyOf(first.keys)}`,
  ]
  // One value is one row an object; several can meet twice in one list.
  const distinct = first.keys.length > 1 ? sql`distinct ` : sql``
  return sql`select ${distinct}f.object_id from ${tableOf(group.database, 'object_fields')} as f where ${all(conditions)}`
}
