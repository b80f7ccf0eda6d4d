import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { draftPublishMs } from '../../src/content/model.ts'
import type { Database } from '../../src/store/database.ts'
import { migrate } from '../../src/store/migrate.ts'
import { contentMigrations } from '../../src/store/migrations/content.ts'
import { openPostgres, openPostgresPool } from '../../src/store/postgres.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { ContentTables } from '../../src/store/tables.ts'
import { createEmptyPlace, onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { assertTotalsAreRight } from '../helpers/totals.ts'

const stepsBefore = contentMigrations.findIndex(({ name }) => name.startsWith('totals'))
const dates = { created_ms: 0, updated_ms: 0 }

/** A content database as the version before left it. */
async function openFormer(engine: TestEngine): Promise<Database<ContentTables>> {
  const place = await createEmptyPlace(engine)
  const { DATA_DIR, DATABASE_URL } = place.env
  const pool = engine === 'postgres' ? await openPostgresPool(DATABASE_URL, () => {}) : undefined
  mkdirSync(join(DATA_DIR, 'databases'), { recursive: true })
  const database = pool
    ? openPostgres<ContentTables>(pool, 'sluice_main')
    : openSqlite<ContentTables>(join(DATA_DIR, 'databases/main.sqlite'))
  after(async () => {
    await database.close()
    await pool?.end()
    await place.remove()
  })
  await migrate(database, contentMigrations.slice(0, stepsBefore), 0)
  await database.write(async (db) => {
    for (const id of ['empty', 'posts', 'notes'])
      await db
        .insertInto('containers')
        .values({ id, group_id: 'g', kind: 'collection', name: id, schema: '{}', ...dates })
        .execute()
  })
  return database
}

/** Rows as the version before writes them. */
async function insertAsBefore({ write }: Database<ContentTables>, prefix: string, containerId: string) {
  const states = [
    { archived: 0, publish_ms: 0 },
    { archived: 0, publish_ms: Date.UTC(2999, 0) },
    { archived: 0, publish_ms: draftPublishMs },
    { archived: 1, publish_ms: 0 },
  ]
  const rows = states.map((state, n) => ({ id: prefix + n, container_id: containerId, ...state }))
  const own = { group_id: 'g', external_id: null, account_handle: '', value: '{}', search_text: '', review: null }
  const version = { version: 1, changed_by: '', change: 'created' }
  await write(async (db) => {
    await db
      .insertInto('objects')
      .values(rows.map((row) => ({ ...row, ...own, ...dates, ...version })))
      .execute()
    const keys = { title: '=a', tags: '=x', '@email': '=a@example.org', '@accountHandle': '=acct' }
    const fields = rows.flatMap(({ id, ...place }) =>
      Object.entries(keys).map(([field, filter_key]) => ({
        ...place,
        object_id: id,
        field,
        filter_key,
        sort_key: null,
      })),
    )
    await db.insertInto('object_fields').values(fields).execute()
  })
}

onBothEngines('a database from before there were totals', (engine) => {
  it('is counted when it is brought to this version, and so is what the version before still writes', async () => {
    const database = await openFormer(engine)
    const group = { groupId: 'g', database }
    await insertAsBefore(database, 'a', 'posts')
    await insertAsBefore(database, 'b', 'notes')
    await migrate(database, contentMigrations, 0)
    await assertTotalsAreRight(group)
    const counted = await database.read.selectFrom('totals').selectAll().where('container_id', '=', 'posts').execute()
    assert.deepEqual(counted.map(({ field, filter_key, total }) => [field, filter_key, total]).toSorted(), [
      ['', '', 2],
      ['@accountHandle', '=acct', 2],
      ['tags', '=x', 2],
      ['title', '=a', 2],
    ])
    await insertAsBefore(database, 'c', 'posts')
    await assertTotalsAreRight(group)
    await database.write((db) => db.deleteFrom('objects').where('id', 'in', ['a0', 'a3', 'b1']).execute())
    await assertTotalsAreRight(group)
  })
})
