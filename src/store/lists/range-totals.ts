import type { Range } from '../../content/filters.ts'
import { draftPublishMs } from '../../content/model.ts'
import { revisionColumn } from '../content/revisions.ts'
import { createSqlBuilder, runStatement } from '../engine/statement.ts'
import type { Listing } from './list-conditions.ts'
import type { StoredTotal } from './totals.ts'

/** Entries that are read at each end of a range; buckets are smaller unless they are yet to be split. */
const maxEntries = 5000
/** Scheduled objects that are looked up. */
const maxToCome = 2000

/** All sort keys begin with `n` or `t`. */
const endOfKeys = 'u'
/** The first text behind a key, since none contains NUL. */
const behind = (key: string): string => `${key}\u0001`

/** If a range of a field is the only condition, its first key and the first one beyond it. */
function soleSection({ query, show }: Listing): { field: string; from: string; to: string } | undefined {
  const { ids, words, filters, ranges, exclusions } = query
  const [range, ...others] = ranges
  if (!range || ids || words.length + filters.length + others.length + exclusions.length > 0) return undefined
  if (show !== 'visible' || 'item' in range.by) return undefined
  return { field: range.by.field, ...sectionOf(range) }
}

function sectionOf({ from, to }: Range): { from: string; to: string } {
  const first = from ? String(from.key) : ''
  const last = to ? String(to.key) : endOfKeys
  return { from: from?.isExclusive ? behind(first) : first, to: to && !to.isExclusive ? behind(last) : last }
}

/**
 * Counts the visible objects of a range in a time that does not depend on their number: the totals of the buckets that lie
 * inside (see `migrations/content-ranges.ts`), and the index entries before the first and behind the last of these. The last
 * bucket of a field is never added up, so it need not be counted. Undefined if there are too many entries, as in a
 * field whose buckets are yet to be split.
 */
export async function countRange(listing: Listing): Promise<StoredTotal | undefined> {
  const section = soleSection(listing)
  if (!section) return undefined
  const { group, container, nowMs } = listing
  const draft = createSqlBuilder(group.database)
  const { table, bind } = draft
  const isOfField = (): string => `container_id = ${bind(container.id)} and field = ${bind(section.field)}`
  // Values are bound in the order of the text, as SQLite requires: hence the functions.
  const border = (direction: 'asc' | 'desc'): string =>
    `select lower_key, lower_id from ${table('range_totals')} where ${isOfField()} and lower_key >= ${bind(section.from)}` +
    ` and lower_key < ${bind(section.to)} order by lower_key ${direction}, lower_id ${direction} limit 1`
  const place = (name: 'first_border' | 'last_border'): string =>
    `(coalesce((select lower_key from ${name}), ${bind(section.to)}), coalesce((select lower_id from ${name}), ''))`
  // See `storedTotal` for the cast and the orders.
  const now = (): string => `cast(${bind(nowMs)} as bigint)`
  const isVisible = (): string => `archived = 0 and publish_ms <= ${now()}`
  const counted = (condition: string): string => `coalesce(sum(case when ${condition} then 1 else 0 end), 0) as counted`
  const selectEntries = (): string => `select archived, publish_ms from ${table('object_fields')} where ${isOfField()}`
  const limited = `order by sort_key, object_id limit ${maxEntries + 1}`
  const before = (): string =>
    `${selectEntries()} and sort_key >= ${bind(section.from)} and (sort_key, object_id) < ${place('first_border')} ${limited}`
  const after = (): string =>
    `${selectEntries()} and (sort_key, object_id) >= ${place('last_border')} and sort_key < ${bind(section.to)} ${limited}`
  const toCome = (): string =>
    `select id from ${table('objects')} where container_id = ${bind(container.id)} and archived = 0` +
    ` and publish_ms > ${now()} and publish_ms < ${draftPublishMs} order by publish_ms limit ${maxToCome + 1}`
  const isInside = (): string =>
    `exists (select 1 from ${table('object_fields')} as f where f.object_id = to_come.id and f.field = ${bind(section.field)}` +
    ` and (f.sort_key, f.object_id) >= ${place('first_border')} and (f.sort_key, f.object_id) < ${place('last_border')}` +
    `${group.database.engine === 'postgres' ? ' offset 0' : ''})`
  const whole = (): string =>
    `select cast(coalesce(sum(total), 0) as bigint) from ${table('range_totals')} where ${isOfField()}` +
    ` and lower_key >= ${bind(section.from)} and (lower_key, lower_id) < ${place('last_border')}`
  // One statement, because buckets may be split between two.
  const text =
    `with first_border as (${border('asc')}), last_border as (${border('desc')}),` +
    ` before_first as (select count(*) as found, ${counted(isVisible())} from (${before()}) as entries),` +
    ` after_last as (select count(*) as found, ${counted(isVisible())} from (${after()}) as entries),` +
    ` inside as (select count(*) as found, ${counted(isInside())} from (${toCome()}) as to_come)` +
    ` select (${whole()}) + before_first.counted + after_last.counted - inside.counted as total,` +
    ` case when before_first.found > ${maxEntries} or after_last.found > ${maxEntries} or inside.found > ${maxToCome} then 1 else 0 end as is_partial,` +
    ` ${revisionColumn(draft, group.groupId, 'revision')} from before_first, after_last, inside`
  const [row] = await runStatement<StoredTotal & { is_partial: number }>(group, text, draft)
  return row && row.is_partial === 0 ? { total: row.total, revision: row.revision } : undefined
}
