import { type RawBuilder, sql, type Transaction } from 'kysely'
import { type Migration, textType } from '../migrate.ts'

/** The publish date of drafts when this step was written. */
const draftMs = 253_402_300_799_999

/** A table whose rows are counted. A `row` is the prefix of its columns: `old.`, `new.` or nothing. */
interface Counted {
  table: 'objects' | 'object_fields'
  /** The columns that decide whether and where a row is counted. */
  columns: string
  /** Container, field and filter key under which it is counted. */
  key(row: string): [string, string, string]
  /** Whether it is counted. */
  counts(row: string): string
}

/** The condition for a row of an object that is neither archived nor a draft. */
export const isLive = (row: string): string => `${row}archived = 0 and ${row}publish_ms <> ${draftMs}`

/** An object counts for its container, and for each of its filter values. */
const countedTables: readonly [objects: Counted, objectFields: Counted] = [
  {
    table: 'objects',
    columns: 'container_id, archived, publish_ms',
    key: (row) => [`${row}container_id`, "''", "''"],
    counts: isLive,
  },
  {
    table: 'object_fields',
    columns: 'container_id, field, filter_key, archived, publish_ms',
    key: (row) => [`${row}container_id`, `${row}field`, `${row}filter_key`],
    // Clients cannot filter by these two, and nearly all of their values differ.
    counts: (row) => `${isLive(row)} and ${row}field not in ('@media', '@email')`,
  },
]

export interface Trigger {
  name: string
  /** The statements that create it. */
  statements: string[]
}

/** SQLite counts row by row. Rewriting the same state counts nothing. */
function sqliteTriggers({ table, columns, key, counts }: Counted): Trigger[] {
  const [container, field, filterKey] = key('old.')
  const ofKey = `container_id = ${container} and field = ${field} and filter_key = ${filterKey}`
  const add = `
    insert into totals (container_id, field, filter_key, total) values (${key('new.').join(', ')}, 1)
    on conflict (container_id, field, filter_key) do update set total = total + 1;`
  const subtract = `
    update totals set total = total - 1 where ${ofKey};
    delete from totals where ${ofKey} and total = 0;`
  const stays = `${counts('old.')} and ${counts('new.')} and (${key('old.').join(', ')}) = (${key('new.').join(', ')})`
  const trigger = (happened: string, event: string, condition: string, action: string): Trigger => {
    const name = `${table}_${happened}`
    return {
      name,
      statements: [`create trigger ${name} after ${event} on ${table} when ${condition} begin ${action} end`],
    }
  }
  return [
    trigger('added', 'insert', counts('new.'), add),
    trigger('removed', 'delete', counts('old.'), subtract),
    trigger('changed_from', `update of ${columns}`, `${counts('old.')} and not (${stays})`, subtract),
    trigger('changed_to', `update of ${columns}`, `${counts('new.')} and not (${stays})`, add),
  ]
}

/** PostgreSQL counts once for each statement, all of its rows together. */
function postgresTriggers({ table, key, counts }: Counted, schema: string): Trigger[] {
  const keyColumns = key('').join(', ')
  const steps = (rows: string, step: number): string => `select ${keyColumns}, ${step} from ${rows} where ${counts('')}`
  const add = (rows: string): string => `
    insert into ${schema}.totals as kept (container_id, field, filter_key, total)
    select container_id, field, filter_key, sum(step)
    from (${rows}) as steps (container_id, field, filter_key, step)
    group by 1, 2, 3 having sum(step) <> 0 order by 1, 2, 3
    on conflict (container_id, field, filter_key) do update set total = kept.total + excluded.total;`
  const forget = `
    delete from ${schema}.totals as kept
    using (select distinct ${keyColumns} from removed where ${counts('')}) as gone (container_id, field, filter_key)
    where kept.container_id = gone.container_id and kept.field = gone.field and kept.filter_key = gone.filter_key
      and kept.total = 0;`
  // The plan is made once, for the number of rows at that time. Look-ups by key are good for any number.
  const byKey = 'set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off'
  const events = [
    { event: 'insert', tables: 'new table as added', settings: '', body: add(steps('added', 1)) },
    { event: 'delete', tables: 'old table as removed', settings: byKey, body: add(steps('removed', -1)) + forget },
    {
      event: 'update',
      tables: 'old table as removed new table as added',
      settings: byKey,
      body: add(`${steps('added', 1)} union all ${steps('removed', -1)}`) + forget,
    },
  ]
  return events.map(({ event, tables, settings, body }) => {
    const name = `count_${table}_on_${event}`
    return {
      name,
      statements: [
        `create or replace function ${schema}.${name}() returns trigger language plpgsql ${settings} as $$ begin
          ${body}
          return null;
        end $$`,
        `create trigger ${name} after ${event} on ${schema}.${table} referencing ${tables}
          for each statement execute function ${schema}.${name}()`,
      ],
    }
  })
}

/** All counting triggers. `schemaName` is the schema of the tables; PostgreSQL only. */
export const totalTriggers = (schemaName: string | undefined): Trigger[] =>
  countedTables.flatMap((counted) =>
    schemaName === undefined ? sqliteTriggers(counted) : postgresTriggers(counted, `"${schemaName}"`),
  )

export interface TablesOfThen {
  containers: { id: string }
  object_fields: { container_id: string; field: string }
}

/** The indexed fields of a container's objects, found by a skip scan of the index. */
export async function* fieldsOf(db: Transaction<TablesOfThen>, containerId: string): AsyncGenerator<string> {
  for (let last = ''; ; ) {
    const { next } = await db
      .selectFrom('object_fields')
      .select(({ fn }) => fn.min('field').as('next'))
      .where('container_id', '=', containerId)
      .where('field', '>', last)
      .executeTakeFirstOrThrow()
    if (next === null) return
    yield next
    last = next
  }
}

/** Counts existing rows one field at a time, because no statement may take long. */
async function fillTotals(db: Transaction<TablesOfThen>, prefix: string): Promise<void> {
  const count = ({ table, key, counts }: Counted, part: RawBuilder<unknown>) => sql`
    insert into ${sql.raw(`${prefix}totals`)} (container_id, field, filter_key, total)
    select ${sql.raw(key('').join(', '))}, count(*) from ${sql.raw(prefix + table)}
    where ${part} and ${sql.raw(counts(''))} group by 1, 2, 3`
  const [objects, objectFields] = countedTables
  for (const { id } of await db.selectFrom('containers').select('id').execute()) {
    await count(objects, sql`container_id = ${id}`).execute(db)
    for await (const field of fieldsOf(db, id))
      await count(objectFields, sql`container_id = ${id} and field = ${field}`).execute(db)
  }
}

/** Adds totals: the number of live objects (neither archived nor drafts), in total and by value. */
export const addTotals: Migration['up'] = async (db, engine, schemaName) => {
  const text = textType(engine)
  await db.schema
    .createTable('totals')
    .addColumn('container_id', text, (column) => column.notNull())
    .addColumn('field', text, (column) => column.notNull())
    .addColumn('filter_key', text, (column) => column.notNull())
    .addColumn('total', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('totals_key', ['container_id', 'field', 'filter_key'])
    .$call((table) => (engine === 'sqlite' ? table.modifyEnd(sql`without rowid`) : table))
    .execute()
  for (const statement of totalTriggers(schemaName).flatMap(({ statements }) => statements))
    await sql.raw(statement).execute(db)
  // From here on other writers wait for this transaction, so that the writes of older servers are counted, too.
  await fillTotals(db as Transaction<TablesOfThen>, schemaName === undefined ? '' : `"${schemaName}".`)
}
