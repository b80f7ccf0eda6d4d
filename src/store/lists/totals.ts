import type { Filter, ListQuery } from '../../content/list-query.ts'
import { type Container, draftPublishMs } from '../../content/model.ts'
import { createSqlBuilder, isOneOf } from '../engine/statement.ts'
import type { GroupStore } from '../store.ts'

/** The one row that the statement of a stored total gives. */
export interface StoredTotal {
  total: number
  /** The group's, of the same moment; 0 where nothing was ever written. */
  revision: number
}

/**
 * Whether `storedTotal` can answer how many objects match: nothing but one filter may be asked, and no object may be
 * counted under two of its values.
 */
export function hasStoredTotal({ schema }: Container, { ids, words, filters }: ListQuery): boolean {
  if (ids || words.length > 0 || filters.length > 1) return false
  const [filter] = filters
  if (!filter || filter.keys.length <= 1) return true
  const type = schema.get(filter.field)?.type
  return type !== 'list' && type !== 'variant'
}

/**
 * How many visible objects a container holds, or those of them that match one filter, in time that does not grow with
 * them: those that are not archived and no drafts are counted by the database as they are written (see
 * `migrations/content-totals.ts`), and only those whose date is still to come are counted now.
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
  // Compared as it is, SQLite would look whether the value lets it use `objects_due`, and plan anew whenever it changes.
  const now = `cast(${bind(nowMs)} as bigint)`
  const field = filter ? bind(filter.field) : "''"
  const kept = filter ? isOneOf(draft, 'filter_key', filter.keys) : "filter_key = ''"
  // The order makes PostgreSQL take the index that has it, also while it does not know how much there is of what.
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
