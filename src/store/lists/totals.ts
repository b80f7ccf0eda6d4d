import type { Filter } from '../../content/filters.ts'
import type { ListQuery } from '../../content/list-query.ts'
import { type Container, draftPublishMs } from '../../content/model.ts'
import { createSqlBuilder, isOneOf } from '../engine/statement.ts'
import type { GroupStore } from '../store.ts'

/** The row that `storedTotal` selects. */
export interface StoredTotal {
  total: number
  /** The group's revision in the same snapshot; 0 before its first write. */
  revision: number
}

/**
 * Whether `storedTotal` can count the matches: the query may have one filter at most, and no object may have two of its
 * values.
 */
export function hasStoredTotal({ schema }: Container, query: ListQuery): boolean {
  const { ids, words, filters, ranges, exclusions } = query
  if (ids || words.length + ranges.length + exclusions.length > 0 || filters.length > 1) return false
  const [filter] = filters
  if (!filter || filter.keys.length <= 1) return true
  const type = schema.get(filter.field)?.type
  return type !== 'list' && type !== 'variant'
}

/**
 * Counts the visible objects of a container, or those that match one filter, in a time that does not depend on their number:
 * triggers count the objects that are neither archived nor drafts (see `migrations/content-totals.ts`), and only those with
 * a future date are subtracted here.
 */
export function storedTotal(
  { groupId, database }: GroupStore,
  containerId: string,
  filter: Filter | undefined,
  nowMs: number,
): { text: string; parameters: unknown[] } {
  const draft = createSqlBuilder(database)
  const { table, bind, parameters } = draft
  const [group, container] = [groupId, containerId].map(bind)
  // Without the cast, SQLite would check whether the value allows the use of `objects_due`, and plan again for every value.
  const now = `cast(${bind(nowMs)} as bigint)`
  const field = filter ? bind(filter.field) : "''"
  const kept = filter ? isOneOf(draft, 'filter_key', filter.keys) : "filter_key = ''"
  // The order makes PostgreSQL use the index with this order, even without statistics.
  const countToCome = (from: string, matches = ''): string =>
    `(select count(*) from (select 1 from ${from} where container_id = ${container}${matches} and archived = 0` +
    ` and publish_ms > ${now} and publish_ms < ${draftPublishMs} order by publish_ms) as to_come)`
  const toCome = filter
    ? filter.keys.map((key) =>
        countToCome(table('object_fields'), ` and field = ${field} and filter_key = ${bind(key)}`),
      )
    : [countToCome(table('objects'))]
  const text =
    `select (select cast(coalesce(sum(total), 0) as bigint) from ${table('totals')}` +
    ` where container_id = ${container} and field = ${field} and ${kept}) - (${toCome.join(' + ')}) as total,` +
    ` coalesce((select revision from ${table('group_revisions')} where group_id = ${group}), 0) as revision`
  return { text, parameters }
}
