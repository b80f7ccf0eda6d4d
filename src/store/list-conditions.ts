import { type RawBuilder, sql } from 'kysely'
import type { Container } from '../content/delivery.ts'
import type { Filter, ListQuery } from '../content/list-query.ts'
import { tableOf } from './database.ts'
import type { GroupStore } from './groups.ts'

/** What every listing asks of a row, as SQL. All names and values are bound; the text depends only on how many there are. */
export type Sql = RawBuilder<unknown>

export interface Listing {
  group: GroupStore
  container: Container
  query: ListQuery
  nowMs: number
}

export const all = (conditions: Sql[]): Sql => sql.join(conditions, sql` and `)
const anyOf = (values: readonly string[]): Sql => sql`(${sql.join(values)})`

/** spec §3 in SQL; the same rule as `isVisible`. */
export function visible(alias: string, nowMs: number): Sql {
  return sql`${sql.ref(`${alias}.archived`)} = 0 and ${sql.ref(`${alias}.publish_ms`)} <= ${nowMs}`
}

/** Whether one object has one of a filter's values: a look-up by primary key. */
export function hasValue({ group }: Listing, filter: Filter, objectId: Sql): Sql {
  return sql`exists (select 1 from ${tableOf(group.database, 'object_fields')} as probe
    where probe.object_id = ${objectId} and probe.field = ${filter.field} and probe.filter_key in ${anyOf(filter.keys)})`
}

export function hasWord({ group }: Listing, word: string): Sql {
  return group.database.engine === 'sqlite'
    ? sql`instr(o.search_text, ${word}) > 0`
    : sql`strpos(o.search_text, ${word}) > 0`
}

/** What a row of `objects`, under the name `o`, must fulfil. */
export function objectConditions(listing: Listing): Sql[] {
  const { container, query, nowMs } = listing
  return [
    sql`o.container_id = ${container.id}`,
    visible('o', nowMs),
    ...(query.ids ? [sql`o.id in ${anyOf(query.ids)}`] : []),
    ...query.filters.map((filter) => hasValue(listing, filter, sql`o.id`)),
    ...query.words.map((word) => hasWord(listing, word)),
  ]
}

/** The ids of all matches, as a query. The first filter's index leads where nothing but filters is asked. */
export function matchingIds(listing: Listing): Sql {
  const { group, container, query, nowMs } = listing
  const [first, ...others] = query.filters
  if (!first || query.ids || query.words.length > 0) {
    return sql`select o.id as object_id from ${tableOf(group.database, 'objects')} as o where ${all(objectConditions(listing))}`
  }
  const conditions = [
    sql`f.container_id = ${container.id} and f.field = ${first.field} and f.filter_key in ${anyOf(first.keys)}`,
    visible('f', nowMs),
    ...others.map((filter) => hasValue(listing, filter, sql`f.object_id`)),
  ]
  // One value is one row an object; several can meet twice in one list.
  const distinct = first.keys.length > 1 ? sql`distinct ` : sql``
  return sql`select ${distinct}f.object_id from ${tableOf(group.database, 'object_fields')} as f where ${all(conditions)}`
}
