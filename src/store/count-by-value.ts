import { sql } from 'kysely'
import type { ListQuery } from '../content/list-query.ts'
import type { Container } from '../content/model.ts'
import { tableOf } from './database.ts'
import type { GroupStore } from './groups.ts'
import { matchingIds } from './list-conditions.ts'

/** How many of all matches have each value of a field, by the value's filter key. At most `limit` different values. */
export async function countByValue(
  group: GroupStore,
  container: Container,
  query: ListQuery,
  field: string,
  limit: number,
  nowMs: number,
): Promise<Map<string, number>> {
  const { rows } = await sql<{ filter_key: string; total: number }>`
    with matches as materialized (${matchingIds({ group, container, query, show: 'visible', nowMs })})
    select g.filter_key, count(*) as total
    from matches join ${tableOf(group.database, 'object_fields')} as g on g.object_id = matches.object_id
    where g.field = ${field} group by g.filter_key limit ${limit}`.execute(group.database.read)
  return new Map(rows.map((row) => [row.filter_key, row.total]))
}
