import { sql, type Transaction } from 'kysely'
import { makeId } from '../../../core/ids.ts'
import { type Engine, inBatches } from '../../engine/database.ts'
import { type Migration, textType } from '../migrate.ts'
import type { Trigger } from './content-totals.ts'

/**
 * With SQLite, the entries of a container have consecutive ids from its number times this, so that a search reads only its
 * container's part of the index.
 */
export const entriesPerContainer = 2 ** 32

const rangeOf = (containerId: string): string =>
  `(select number * ${entriesPerContainer} from search_containers where container_id = ${containerId})`

/** The next free id of a container; SQLite only. */
export const nextEntryId = (containerId: string): string =>
  `coalesce((select max(id) from search_entries where id > ${rangeOf(containerId)} and id < ${rangeOf(containerId)} + ${entriesPerContainer}), ${rangeOf(containerId)}) + 1`

const entryColumns = 'object_id, container_id, group_id, archived, publish_ms, created_ms, words'
const columnsOfObject = (row: string): string =>
  `${row}id, ${row}container_id, ${row}group_id, ${row}archived, ${row}publish_ms, ${row}created_ms, ${row}search_text`

/** The size of an entry: its words, their part of the index, and its keys. */
const entryBytes = (row: string): string => `200 + 2 * octet_length(${row}words)`

export const countedEntries = { table: 'search_entries', database: entryBytes, media: () => '0' }

const countBytes = (groupId: string, bytes: string): string => `
  insert into group_usage (group_id, database_bytes, media_bytes) values (${groupId}, ${bytes}, 0)
  on conflict (group_id) do update set database_bytes = database_bytes + excluded.database_bytes;`

/** The entries follow the objects, and the index follows the entries: whoever writes, a server of the version before included. */
function sqliteTriggers(): Trigger[] {
  const trigger = (name: string, event: string, action: string): Trigger => ({
    name,
    statements: [`create trigger ${name} after ${event} begin ${action} end`],
  })
  return [
    trigger(
      'search_object_added',
      'insert on objects',
      `insert or ignore into search_containers (container_id) values (new.container_id);
       insert into search_entries (id, ${entryColumns}) values (${nextEntryId('new.container_id')}, ${columnsOfObject('new.')});`,
    ),
    trigger('search_object_removed', 'delete on objects', 'delete from search_entries where object_id = old.id;'),
    trigger(
      'search_object_moved',
      'update of archived, publish_ms on objects when old.archived <> new.archived or old.publish_ms <> new.publish_ms',
      'update search_entries set archived = new.archived, publish_ms = new.publish_ms where object_id = new.id;',
    ),
    trigger(
      'search_object_reworded',
      'update of search_text on objects when old.search_text <> new.search_text',
      'update search_entries set words = new.search_text where object_id = new.id;',
    ),
    trigger(
      'search_container_removed',
      'delete on containers',
      'delete from search_containers where container_id = old.id;',
    ),
    trigger(
      'search_entry_added',
      'insert on search_entries',
      `insert into search_index (rowid, words) values (new.id, new.words);${countBytes('new.group_id', entryBytes('new.'))}`,
    ),
    trigger(
      'search_entry_removed',
      'delete on search_entries',
      `delete from search_index where rowid = old.id;${countBytes('old.group_id', `-(${entryBytes('old.')})`)}`,
    ),
    trigger(
      'search_entry_reworded',
      'update of words on search_entries',
      `update search_index set words = new.words where rowid = new.id;${countBytes('new.group_id', `${entryBytes('new.')} - (${entryBytes('old.')})`)}`,
    ),
  ]
}

function postgresTriggers(schema: string): Trigger[] {
  const trigger = (name: string, table: string, event: string, tables: string, body: string): Trigger => ({
    name,
    statements: [
      `create or replace function ${schema}.${name}() returns trigger language plpgsql
        set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
        as $$ begin ${body} return null; end $$`,
      `create trigger ${name} after ${event} on ${schema}.${table} referencing ${tables}
        for each statement execute function ${schema}.${name}()`,
    ],
  })
  const set = ['archived', 'publish_ms', 'words']
  /** An object that has no entry yet gets one here, or a filling step that has read its former text could insert that. */
  const upsert = `
    insert into ${schema}.search_entries as kept (${entryColumns})
    select ${columnsOfObject('')} from added order by container_id, id
    on conflict (container_id, object_id) do update set ${set.map((column) => `${column} = excluded.${column}`).join(', ')}
    where (${set.map((column) => `kept.${column}`).join(', ')}) is distinct from (${set.map((column) => `excluded.${column}`).join(', ')});`
  const count = (rows: string): string => `
    insert into ${schema}.group_usage as kept (group_id, database_bytes, media_bytes)
    select group_id, sum(bytes), 0 from (${rows}) as steps (group_id, bytes)
    group by group_id having sum(bytes) <> 0 order by group_id
    on conflict (group_id) do update set database_bytes = kept.database_bytes + excluded.database_bytes;`
  const bytesOf = (rows: string, sign: string): string => `select group_id, ${sign}(${entryBytes('')}) from ${rows}`
  const [added, removed] = ['new table as added', 'old table as removed']
  return [
    trigger(
      'search_on_object_insert',
      'objects',
      'insert',
      added,
      `insert into ${schema}.search_containers (container_id) select distinct container_id from added order by 1 on conflict do nothing;${upsert}`,
    ),
    trigger('search_on_object_update', 'objects', 'update', added, upsert),
    trigger(
      'search_on_object_delete',
      'objects',
      'delete',
      removed,
      `delete from ${schema}.search_entries as kept using removed
        where kept.container_id = removed.container_id and kept.object_id = removed.id;`,
    ),
    trigger(
      'search_on_container_delete',
      'containers',
      'delete',
      removed,
      `delete from ${schema}.search_containers as kept using removed where kept.container_id = removed.id;`,
    ),
    trigger('measure_search_entries_on_insert', 'search_entries', 'insert', added, count(bytesOf('added', ''))),
    trigger('measure_search_entries_on_delete', 'search_entries', 'delete', removed, count(bytesOf('removed', '-'))),
    trigger(
      'measure_search_entries_on_update',
      'search_entries',
      'update',
      `${removed} ${added}`,
      count(`${bytesOf('added', '')} union all ${bytesOf('removed', '-')}`),
    ),
  ]
}

/** The triggers that maintain the search index. `schemaName` is the schema of the tables; PostgreSQL only. */
export const searchTriggers = (schemaName: string | undefined): Trigger[] =>
  schemaName === undefined ? sqliteTriggers() : postgresTriggers(`"${schemaName}"`)

/** Of version 3.43 or later. Its rows are found by trigrams only: with their positions it would be four times as large. */
export const sqliteIndexStatement =
  "create virtual table search_index using fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1')"

export const postgresIndexName = 'search_entries_by_words'

/** Both can be created by an owner of the database; `gin_trgm_ops` must be qualified. */
const postgresExtensions = ['pg_trgm', 'btree_gin'] as const

const extensionStatements = postgresExtensions.map((name) => `create extension if not exists ${name}`)

/** Its list of pending rows, which each search reads, is kept short. `extensionSchema` contains `pg_trgm`. */
const postgresIndexStatement = (schemaName: string, extensionSchema: string): string =>
  `create index if not exists ${postgresIndexName} on "${schemaName}".search_entries using gin` +
  ` (container_id, words ${extensionSchema}.gin_trgm_ops) with (fastupdate = on, gin_pending_list_limit = 256)`

/** What an operator runs to add the index later. */
export const postgresIndexStatements = (schemaName: string): string[] => [
  ...extensionStatements,
  postgresIndexStatement(schemaName, 'public'),
]

/** Creates PostgreSQL's index if the extensions can be had. Without it, searches scan the entries. */
const tryPostgresIndex = (schemaName: string): string => `
  do $$ begin
    ${extensionStatements.join('; ')};
    execute format('${postgresIndexStatement(schemaName, '%I')}', (
      select nspname from pg_extension join pg_namespace on pg_namespace.oid = extnamespace where extname = 'pg_trgm'
    ));
  exception when others then null;
  end $$`

/** The job that fills the index. */
export const fillSearchKind = 'search.fill'

/** Each group with containers in a table gets a job. */
export async function insertJobs(
  db: Transaction<unknown>,
  engine: Engine,
  prefix: string,
  { kind, topic, table }: { kind: string; topic: string | null; table: string },
): Promise<void> {
  const now = engine === 'sqlite' ? sql`unixepoch() * 1000` : sql`floor(extract(epoch from now()) * 1000)`
  const containers = sql.raw(`${prefix}containers`)
  const { rows } = await sql<{ group_id: string }>`
    select distinct group_id from ${containers} where id in (select container_id from ${sql.raw(prefix + table)})
  `.execute(db)
  for (const batch of inBatches(rows)) {
    const values = batch.map(
      ({ group_id }) => sql`(${makeId()}, ${group_id}, ${kind}, '{}', 'waiting', ${now}, 0, ${topic}, ${now})`,
    )
    await sql`insert into ${sql.raw(`${prefix}jobs`)} (id, group_id, kind, payload, state, due_ms, attempts, topic, created_ms)
      values ${sql.join(values)}`.execute(db)
  }
}

/**
 * Adds the search index, empty. Triggers enter whatever is written from now on; the objects of existing containers are
 * entered by jobs, in small steps. Until `filled_to` of a container is null, its searches scan the objects.
 */
export const addSearchIndex: Migration['up'] = async (db, engine, schemaName) => {
  const text = textType(engine)
  const isSqlite = engine === 'sqlite'
  await db.schema
    .createTable('search_containers')
    .$call((table) =>
      isSqlite
        ? table
            .addColumn('number', 'integer', (column) => column.primaryKey())
            .addColumn('container_id', text, (column) => column.notNull().unique())
        : table.addColumn('container_id', text, (column) => column.primaryKey()),
    )
    .addColumn('filled_to', text)
    .execute()
  await db.schema
    .createTable('search_entries')
    .$call((table) =>
      isSqlite
        ? table
            .addColumn('id', 'integer', (column) => column.primaryKey())
            .addColumn('object_id', text, (column) => column.notNull().unique())
        : table
            .addColumn('object_id', text, (column) => column.notNull())
            .addPrimaryKeyConstraint('search_entries_key', ['container_id' as never, 'object_id' as never]),
    )
    .addColumn('container_id', text, (column) => column.notNull())
    .addColumn('group_id', text, (column) => column.notNull())
    .addColumn('archived', 'integer', (column) => column.notNull())
    .addColumn('publish_ms', 'bigint', (column) => column.notNull())
    .addColumn('created_ms', 'bigint', (column) => column.notNull())
    .addColumn('words', text, (column) => column.notNull())
    .execute()
  await sql.raw(schemaName === undefined ? sqliteIndexStatement : tryPostgresIndex(schemaName)).execute(db)
  for (const statement of searchTriggers(schemaName).flatMap(({ statements }) => statements))
    await sql.raw(statement).execute(db)
  // From here on other writers wait for this transaction, so that no object is missed.
  const prefix = schemaName === undefined ? '' : `"${schemaName}".`
  await sql
    .raw(
      `insert into ${prefix}search_containers (container_id, filled_to)
        select id, '' from ${prefix}containers as c where exists (select 1 from ${prefix}objects as o where o.container_id = c.id)`,
    )
    .execute(db)
  await insertJobs(db, engine, prefix, { kind: fillSearchKind, topic: null, table: 'search_containers' })
}
