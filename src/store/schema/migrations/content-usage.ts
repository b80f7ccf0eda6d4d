import { sql, type Transaction } from 'kysely'
import type { Engine } from '../../engine/database.ts'
import { type Migration, textType } from '../migrate.ts'
import type { Trigger } from './content-totals.ts'

/** The size of a row besides its texts: its keys and index entries. */
const bytesPerRow = 200

/** A table whose bytes are counted per group. A `row` is the prefix of its columns: `old.`, `new.` or nothing. */
interface Counted {
  table: string
  /** The columns that determine its size. */
  columns: readonly string[]
  database(row: string): string
  media(row: string, engine: Engine): string
}

const texts = (row: string, columns: readonly string[]): string =>
  columns.map((column) => ` + octet_length(coalesce(${row}${column}, ''))`).join('')

const table = (name: string, columns: readonly string[], sizes: readonly string[] = []): Counted => ({
  table: name,
  columns: [...columns, ...sizes],
  database: (row) => bytesPerRow + texts(row, columns) + sizes.map((size) => ` + ${row}${size}`).join(''),
  media: () => '0',
})

/** The size of a file and its derivatives. */
const fileBytes = (row: string, engine: Engine): string =>
  engine === 'sqlite'
    ? `${row}bytes + coalesce((select sum(value ->> 'bytes') from json_each(${row}derivatives)), 0)`
    : `${row}bytes + coalesce((select sum((made ->> 'bytes')::bigint) from jsonb_array_elements(${row}derivatives::jsonb) as made), 0)`

/** Tables that grow with use, when this step was written. Jobs, tallies and links are few, or soon deleted. */
const tablesOfThen: readonly Counted[] = [
  table('objects', ['value', 'search_text'], ['index_bytes']),
  table('object_versions', ['value']),
  table('sites', ['settings', 'private_settings']),
  table('containers', ['schema', 'settings']),
  table('messages', ['subject', 'content']),
  table('idempotency_keys', ['request', 'answer']),
  table('orders', ['data']),
  table('catalogue_products', ['data']),
  table('catalogue_prices', ['data']),
  table('sandbox_objects', ['data']),
  table('media', ['name']),
  { ...table('media_files', ['placeholder', 'derivatives']), columns: ['bytes', 'placeholder', 'derivatives'], media: fileBytes },
] // biome-ignore format: a table

const workingCopies = table('working_copies', ['value', 'base_value', 'media_keys'])

export const countedTables: readonly Counted[] = [...tablesOfThen, workingCopies]

/** SQLite counts row by row. */
function sqliteTriggers({ table: name, columns, database, media }: Counted): Trigger[] {
  const of = (row: string): string => `${row}group_id, ${database(row)}, ${media(row, 'sqlite')}`
  const add = `
    insert into group_usage (group_id, database_bytes, media_bytes) values (${of('new.')})
    on conflict (group_id) do update set
      database_bytes = database_bytes + excluded.database_bytes, media_bytes = media_bytes + excluded.media_bytes;`
  const subtract = `
    update group_usage set database_bytes = database_bytes - (${database('old.')}), media_bytes = media_bytes - (${media('old.', 'sqlite')})
    where group_id = old.group_id;`
  const trigger = (happened: string, event: string, action: string): Trigger => {
    const trigger = `${name}_bytes_${happened}`
    return { name: trigger, statements: [`create trigger ${trigger} after ${event} on ${name} begin ${action} end`] }
  }
  return [
    trigger('added', 'insert', add),
    trigger('removed', 'delete', subtract),
    trigger('changed', `update of ${['group_id', ...columns].join(', ')}`, subtract + add),
  ]
}

/** PostgreSQL counts once for each statement, all of its rows together. */
function postgresTriggers({ table: name, database, media }: Counted, schema: string): Trigger[] {
  const steps = (rows: string, sign: string): string =>
    `select group_id, ${sign}(${database('')}), ${sign}(${media('', 'postgres')}) from ${rows}`
  const count = (rows: string): string => `
    insert into ${schema}.group_usage as kept (group_id, database_bytes, media_bytes)
    select group_id, sum(in_database), sum(in_media)
    from (${rows}) as steps (group_id, in_database, in_media)
    group by group_id having sum(in_database) <> 0 or sum(in_media) <> 0 order by group_id
    on conflict (group_id) do update set
      database_bytes = kept.database_bytes + excluded.database_bytes, media_bytes = kept.media_bytes + excluded.media_bytes;`
  const events = [
    { event: 'insert', tables: 'new table as added', rows: steps('added', '') },
    { event: 'delete', tables: 'old table as removed', rows: steps('removed', '-') },
    {
      event: 'update',
      tables: 'old table as removed new table as added',
      rows: `${steps('added', '')} union all ${steps('removed', '-')}`,
    },
  ]
  return events.map(({ event, tables, rows }) => {
    const trigger = `measure_${name}_on_${event}`
    return {
      name: trigger,
      statements: [
        `create or replace function ${schema}.${trigger}() returns trigger language plpgsql as $$ begin ${count(rows)} return null; end $$`,
        `create trigger ${trigger} after ${event} on ${schema}.${name} referencing ${tables}
          for each statement execute function ${schema}.${trigger}()`,
      ],
    }
  })
}

const triggersOf = (tables: readonly Counted[], schemaName: string | undefined): Trigger[] =>
  tables.flatMap((counted) =>
    schemaName === undefined ? sqliteTriggers(counted) : postgresTriggers(counted, `"${schemaName}"`),
  )

/** All measuring triggers. `schemaName` is the schema of the tables; PostgreSQL only. */
export const usageTriggers = (schemaName: string | undefined): Trigger[] => triggersOf(countedTables, schemaName)

/** The part of a later step. */
export const workingCopyTriggers = (schemaName: string | undefined): Trigger[] =>
  triggersOf([workingCopies], schemaName)

/** The size of a row in the change log, which `writeContent` counts in the group's row. */
export const changeBytes = `${bytesPerRow} + octet_length(note)`

/** The size of an object's index rows. Each is in the table, in two indexes and in the totals. */
export const indexRowBytes = "250 + 4 * octet_length(filter_key) + 2 * octet_length(coalesce(sort_key, ''))"

const objectsPerStep = 500

/** In parts, because no statement may take long. */
async function measureIndexes(db: Transaction<{ objects: { id: string } }>, prefix: string): Promise<void> {
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('objects')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(objectsPerStep)
      .execute()
    const last = rows.at(-1)
    if (!last) return
    await sql`update ${sql.raw(`${prefix}objects`)} set index_bytes = coalesce((
      select sum(${sql.raw(indexRowBytes)}) from ${sql.raw(`${prefix}object_fields`)} as f where f.object_id = ${sql.raw('objects.id')}
    ), 0) where id > ${after} and id <= ${last.id}`.execute(db)
    after = last.id
  }
}

/** Counts existing rows. */
async function fillUsage(db: Transaction<unknown>, engine: Engine, prefix: string): Promise<void> {
  for (const { table: name, database, media } of tablesOfThen)
    await sql
      .raw(
        `insert into ${prefix}group_usage as kept (group_id, database_bytes, media_bytes)
        select group_id, sum(${database('')}), sum(${media('', engine)}) from ${prefix}${name} where true group by group_id
        on conflict (group_id) do update set
          database_bytes = kept.database_bytes + excluded.database_bytes, media_bytes = kept.media_bytes + excluded.media_bytes`,
      )
      .execute(db)
  await sql
    .raw(
      `update ${prefix}group_revisions set changes_bytes = coalesce((
        select sum(${changeBytes}) from ${prefix}changes as c where c.group_id = group_revisions.group_id), 0)`,
    )
    .execute(db)
}

/** Adds the storage of each group in bytes. */
export const addUsage: Migration['up'] = async (db, engine, schemaName) => {
  const prefix = schemaName === undefined ? '' : `"${schemaName}".`
  await db.schema
    .createTable('group_usage')
    .addColumn('group_id', textType(engine), (column) => column.primaryKey())
    .addColumn('database_bytes', 'bigint', (column) => column.notNull())
    .addColumn('media_bytes', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .alterTable('objects')
    .addColumn('index_bytes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema
    .alterTable('group_revisions')
    .addColumn('changes_bytes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await measureIndexes(db as Transaction<{ objects: { id: string } }>, prefix)
  for (const statement of triggersOf(tablesOfThen, schemaName).flatMap(({ statements }) => statements))
    await sql.raw(statement).execute(db)
  // From here on other writers wait for this transaction, so that the writes of older servers are counted, too.
  await fillUsage(db, engine, prefix)
}
