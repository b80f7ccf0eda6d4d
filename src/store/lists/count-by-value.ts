import { revisionColumn } from '../content/revisions.ts'
import { createSqlBuilder, runStatement, timeLimitConditions } from '../engine/statement.ts'
import { all, type Listing, matchingIds } from './list-conditions.ts'
import { isLong } from './list-objects.ts'
import type { VisibleList } from './list-visible.ts'
import type { Reading } from './reading.ts'

/**
 * Counts the matches by their values of a field, keyed by filter key, for at most `limit` values. `matches` is an estimate
 * of their number.
 */
export async function countByValue(
  { group, confirm }: Reading,
  { matching, edited }: Pick<VisibleList, 'matching' | 'edited'>,
  { field, limit, matches }: { field: string; limit: number; matches: number },
): Promise<Map<string, number>> {
  const listing: Listing = { ...matching, group }
  const draft = createSqlBuilder(group.database, isLong(listing, matches))
  const { table, bind } = draft
  const ids = matchingIds(draft, listing)
  const counted = `select g.filter_key, count(*) as total from matches join ${table('object_fields')} as g on g.object_id = matches.object_id where ${all([...timeLimitConditions(draft), `g.field = ${bind(field)}`])} group by g.filter_key limit ${bind(limit)}`
  // The first row has the revision and no value.
  const text = `with matches as materialized (${ids}) select null as filter_key, r.revision as total from (select ${revisionColumn(draft, group.groupId, 'revision')}) as r union all select filter_key, total from (${counted}) as counted`
  type Row = { filter_key: string | null; total: number }
  const rows = await runStatement<Row>(group, text, draft)
  confirm(rows.find((row) => row.filter_key === null)?.total ?? 0)
  const counts = rows.flatMap((row): [string, number][] =>
    row.filter_key === null ? [] : [[row.filter_key, row.total]],
  )
  const byKey = new Map(counts)
  for (const { rows: itsRows } of edited)
    for (const { field: name, filterKey } of itsRows)
      if (name === field) byKey.set(filterKey, (byKey.get(filterKey) ?? 0) + 1)
  return byKey
}
