import { sql, type Transaction } from 'kysely'
import type { Engine } from '../../engine/database.ts'
import { type Migration, textType } from '../migrate.ts'
import { insertJobs } from './content-search.ts'
import { fieldsOf, isLive, type TablesOfThen, type Trigger } from './content-totals.ts'

/** The job that splits buckets. */
export const splitRangesKind = 'ranges.split'
/** Deduplicates the jobs of a group. */
export const splitRangesTopic = 'ranges'
/** A bucket is split when its total reaches this, and again at each multiple if it has not been. */
export const maxRangeTotal = 2000
/** Several buckets that grow at the same time are split by one job. */
const splitDelayMs = 5000

const isCounted = (row: string): string => `${isLive(row)} and ${row}sort_key is not null`

/** A new job for the group of `new.container_id`, unless one is waiting. */
const insertSplitJob = (engine: Engine, prefix: string): string => {
  const id = engine === 'sqlite' ? 'lower(hex(randomblob(12)))' : "left(replace(gen_random_uuid()::text, '-', ''), 24)"
  const nowMs = engine === 'sqlite' ? 'unixepoch() * 1000' : 'floor(extract(epoch from now()) * 1000)'
  const columns = 'id, group_id, kind, payload, state, due_ms, attempts, topic, created_ms'
  return `
    insert into ${prefix}jobs (${columns})
    select ${id}, c.group_id, '${splitRangesKind}', '{}', 'waiting', ${nowMs} + ${splitDelayMs}, 0, '${splitRangesTopic}', ${nowMs}
    from ${prefix}containers as c where c.id = new.container_id and not exists (
      select 1 from ${prefix}jobs as j where j.group_id = c.group_id
        and j.kind = '${splitRangesKind}' and j.topic = '${splitRangesTopic}' and j.state = 'waiting'
    );`
}

const isFirst = (row: string): string => `${row}lower_key = '' and ${row}lower_id = ''`
const reachesMultiple = `new.total >= ${maxRangeTotal} and new.total / ${maxRangeTotal} > old.total / ${maxRangeTotal}`
const isEmptied = `new.total = 0 and not (${isFirst('new.')})`

const isSameBucket = (row: string): string =>
  `container_id = ${row}container_id and field = ${row}field and lower_key = ${row}lower_key and lower_id = ${row}lower_id`

function sqliteTriggers(): Trigger[] {
  const trigger = (name: string, event: string, action: string): Trigger => ({
    name,
    statements: [`create trigger ${name} after ${event} begin ${action} end`],
  })
  const ofField = (row: string): string => `container_id = ${row}container_id and field = ${row}field`
  const step = (row: string, change: string): string => `
    update range_totals set total = total ${change} where ${ofField(row)} and (lower_key, lower_id) = (
      select lower_key, lower_id from range_totals
      where ${ofField(row)} and (lower_key, lower_id) <= (${row}sort_key, ${row}object_id)
      order by lower_key desc, lower_id desc limit 1
    );`
  const add = `
    insert into range_totals (container_id, field, lower_key, lower_id, total)
    values (new.container_id, new.field, '', '', 0) on conflict do nothing;${step('new.', '+ 1')}`
  const subtract = step('old.', '- 1')
  const columns = 'container_id, field, sort_key, archived, publish_ms'
  const key = (row: string): string => `${row}container_id, ${row}field, ${row}sort_key`
  const stays = `${isCounted('old.')} and ${isCounted('new.')} and (${key('old.')}) = (${key('new.')})`
  const changed = `update of ${columns} on object_fields when not (${stays}) and`
  return [
    trigger('range_added', `insert on object_fields when ${isCounted('new.')}`, add),
    trigger('range_removed', `delete on object_fields when ${isCounted('old.')}`, subtract),
    trigger('range_changed_from', `${changed} ${isCounted('old.')}`, subtract),
    trigger('range_changed_to', `${changed} ${isCounted('new.')}`, add),
    trigger(
      'range_bucket_grown',
      `update of total on range_totals when ${reachesMultiple}`,
      insertSplitJob('sqlite', ''),
    ),
    trigger(
      'range_bucket_emptied',
      `update of total on range_totals when ${isEmptied}`,
      `delete from range_totals where ${isSameBucket('old.')};`,
    ),
    trigger('range_container_removed', 'delete on containers', 'delete from range_totals where container_id = old.id;'),
  ]
}

function postgresTriggers(schema: string): Trigger[] {
  // The plan is made once, for the number of rows at that time. Look-ups by key are good for any number.
  const byKey = 'set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off'
  const trigger = (name: string, table: string, event: string, scope: string, body: string): Trigger => ({
    name,
    statements: [
      `create or replace function ${schema}.${name}() returns trigger language plpgsql ${byKey}
        as $$ begin ${body} return null; end $$`,
      `create trigger ${name} after ${event} on ${schema}.${table} ${scope} execute function ${schema}.${name}()`,
    ],
  })
  const ofStatement = (tables: string): string => `referencing ${tables} for each statement`
  const ofRow = (condition: string): string => `for each row when (${condition})`
  const [added, removed] = ['new table as added', 'old table as removed']
  const count = (rows: string): string => `
    insert into ${schema}.range_totals as kept (container_id, field, lower_key, lower_id, total)
    select s.container_id, s.field, coalesce(b.lower_key, ''), coalesce(b.lower_id, ''), sum(s.step)
    from (${rows}) as s (container_id, field, sort_key, object_id, step)
    left join lateral (
      select t.lower_key, t.lower_id from ${schema}.range_totals as t
      where t.container_id = s.container_id and t.field = s.field
        and (t.lower_key, t.lower_id) <= (s.sort_key, s.object_id)
      order by t.lower_key desc, t.lower_id desc limit 1
    ) as b on true
    group by 1, 2, 3, 4 having sum(s.step) <> 0 order by 1, 2, 3, 4
    on conflict (container_id, field, lower_key, lower_id) do update set total = kept.total + excluded.total;`
  const steps = (rows: string, step: number): string =>
    `select container_id, field, sort_key, object_id, ${step} from ${rows} where ${isCounted('')}`
  const insertJob = insertSplitJob('postgres', `${schema}.`)
  return [
    trigger('count_ranges_on_insert', 'object_fields', 'insert', ofStatement(added), count(steps('added', 1))),
    trigger('count_ranges_on_delete', 'object_fields', 'delete', ofStatement(removed), count(steps('removed', -1))),
    trigger(
      'count_ranges_on_update',
      'object_fields',
      'update',
      ofStatement(`${removed} ${added}`),
      count(`${steps('added', 1)} union all ${steps('removed', -1)}`),
    ),
    trigger('range_bucket_grown', 'range_totals', 'update', ofRow(reachesMultiple), insertJob),
    trigger(
      'range_bucket_added',
      'range_totals',
      'insert',
      ofRow(`${isFirst('new.')} and new.total >= ${maxRangeTotal}`),
      insertJob,
    ),
    trigger(
      'range_bucket_emptied',
      'range_totals',
      'update',
      ofRow(isEmptied),
      `delete from ${schema}.range_totals where ${isSameBucket('old.')};`,
    ),
    trigger(
      'range_container_removed',
      'containers',
      'delete',
      ofStatement(removed),
      `delete from ${schema}.range_totals as kept using removed where kept.container_id = removed.id;`,
    ),
  ]
}

/** The triggers that maintain the totals of ranges. `schemaName` is the schema of the tables; PostgreSQL only. */
export const rangeTriggers = (schemaName: string | undefined): Trigger[] =>
  schemaName === undefined ? sqliteTriggers() : postgresTriggers(`"${schemaName}"`)

/**
 * Adds the totals of ranges. Triggers count what is written from now on. The fields of existing containers begin with one
 * bucket without a total, which jobs split and count in small steps.
 */
export const addRangeTotals: Migration['up'] = async (db, engine, schemaName) => {
  const text = textType(engine)
  await db.schema
    .createTable('range_totals')
    .addColumn('container_id', text, (column) => column.notNull())
    .addColumn('field', text, (column) => column.notNull())
    .addColumn('lower_key', text, (column) => column.notNull())
    .addColumn('lower_id', text, (column) => column.notNull())
    .addColumn('total', 'bigint')
    .addPrimaryKeyConstraint('range_totals_key', ['container_id', 'field', 'lower_key', 'lower_id'])
    .$call((table) => (engine === 'sqlite' ? table.modifyEnd(sql`without rowid`) : table))
    .execute()
  for (const statement of rangeTriggers(schemaName).flatMap(({ statements }) => statements))
    await sql.raw(statement).execute(db)
  // From here on other writers wait for this transaction, so that no object is missed.
  const prefix = schemaName === undefined ? '' : `"${schemaName}".`
  const then = db as Transaction<TablesOfThen>
  for (const { id } of await then.selectFrom('containers').select('id').execute())
    for await (const field of fieldsOf(then, id))
      await sql`insert into ${sql.raw(`${prefix}range_totals`)} (container_id, field, lower_key, lower_id)
        values (${id}, ${field}, '', '')`.execute(db)
  await insertJobs(db, engine, prefix, { kind: splitRangesKind, topic: splitRangesTopic, table: 'range_totals' })
}
