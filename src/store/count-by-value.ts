import type { ListQuery } from '../content/list-query.ts'
import type { Container } from '../content/model.ts'
import type { GroupStore } from './groups.ts'
import { all, type Listing, matchingIds } from './list-conditions.ts'
import { isLong } from './list-objects.ts'
import { revisionColumn } from './revisions.ts'
import { beginStatement, inTime, runStatement } from './statement.ts'

export interface ValueCounts {
  counts: Map<string, number>
  revision: number
}

/**
 * How many of all matches have each value of a field, by the value's filter key. At most `limit` different values.
 * `matches` says about how many there are.
 */
export async function countByValue(
  group: GroupStore,
  container: Container,
  query: ListQuery,
  asked: { field: string; limit: number; matches: number; nowMs: number },
): Promise<ValueCounts> {
  const { field, limit, matches, nowMs } = asked
  const listing: Listing = { group, container, query, show: 'visible', nowMs }
  const draft = beginStatement(group.database, isLong(listing, matches))
  const { table, bind } = draft
  const matching = matchingIds(draft, listing)
  const counted = `select g.filter_key, count(*) as total from matches join ${table('object_fields')} as g on g.object_id = matches.object_id where ${all([...inTime(draft), `g.field = ${bind(field)}`])} group by g.filter_key limit ${bind(limit)}`
  // Before the values comes a row of the revision, which has none.
  const text = `with matches as materialized (${matching}) select null as filter_key, r.revision as total from (select ${revisionColumn(draft, group.groupId, 'revision')}) as r union all select filter_key, total from (${counted}) as counted`
  type Row = { filter_key: string | null; total: number }
  const rows = await runStatement<Row>(group, text, draft)
  const counts = rows.flatMap((row): [string, number][] =>
    row.filter_key === null ? [] : [[row.filter_key, row.total]],
  )
  return { counts: new Map(counts), revision: rows.find((row) => row.filter_key === null)?.total ?? 0 }
}
