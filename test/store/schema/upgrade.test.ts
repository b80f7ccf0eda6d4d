import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { parseListQuery } from '../../../src/content/list-query.ts'
import { unsetPublishMs } from '../../../src/content/model.ts'
import { changeObject } from '../../../src/store/content/change-objects.ts'
import { listEvents } from '../../../src/store/content/changes.ts'
import { findCollection } from '../../../src/store/content/containers.ts'
import { readRevision } from '../../../src/store/content/revisions.ts'
import { listVersions } from '../../../src/store/content/versions.ts'
import type { Database } from '../../../src/store/engine/database.ts'
import { openPostgres, openPostgresPool } from '../../../src/store/engine/postgres.ts'
import { openSqlite } from '../../../src/store/engine/sqlite.ts'
import { listObjectsInState } from '../../../src/store/lists/list-objects.ts'
import type { ControlTables } from '../../../src/store/schema/control-tables.ts'
import { type Migration, migrate } from '../../../src/store/schema/migrate.ts'
import { contentMigrations } from '../../../src/store/schema/migrations/content.ts'
import { controlMigrations } from '../../../src/store/schema/migrations/control.ts'
import type { ContentTables } from '../../../src/store/schema/tables.ts'
import { openGroup } from '../../../src/store/store.ts'
import { write } from '../../helpers/authoring.ts'
import {
  createEmptyDatabase,
  onBothEngines,
  openTestStore,
  type TestDatabase,
  type TestEngine,
} from '../../helpers/harness.ts'

const nowMs = Date.UTC(2026, 2, 1)

/** Creates and fills a database like version 0.1. */
async function makeOld<Tables extends ControlTables | ContentTables>(
  engine: TestEngine,
  { env }: TestDatabase,
  name: string,
  migrations: readonly Migration[],
  fill: (database: Database<Tables>) => Promise<void>,
): Promise<void> {
  mkdirSync(join(env.DATA_DIR, 'databases'), { recursive: true })
  const path = join(env.DATA_DIR, name === 'control' ? 'control.sqlite' : `databases/${name}.sqlite`)
  const pool = engine === 'postgres' ? await openPostgresPool(env.DATABASE_URL, () => {}) : undefined
  const database = pool ? openPostgres<Tables>(pool, `sluice_${name}`) : openSqlite<Tables>(path)
  await migrate(database as unknown as Database<ControlTables>, migrations.slice(0, 1), nowMs)
  await fill(database)
  await database.close()
  await pool?.end()
}

onBothEngines('a database of version 0.1', (engine) => {
  it('is served as before, and its objects can be changed, with versions and events', async () => {
    const testDatabase = await createEmptyDatabase(engine)
    after(() => testDatabase.remove())
    const dates = { created_ms: nowMs, updated_ms: nowMs }
    await makeOld<ControlTables>(engine, testDatabase, 'control', controlMigrations, async ({ write: change }) => {
      await change((db) =>
        db
          .insertInto('groups')
          .values({
            id: 'g',
            name: 'Old',
            tier: 'pro',
            frozen: 0,
            database_name: 'main',
            bucket_name: 'media',
            created_ms: 0,
          })
          .execute(),
      )
    })
    await makeOld<ContentTables>(engine, testDatabase, 'main', contentMigrations, async ({ write: change }) => {
      await change(async (db) => {
        const schema = '{"title":{"type":"text"},"email":{"type":"text","private":true}}'
        await db
          .insertInto('containers')
          .values({ id: 'c', group_id: 'g', kind: 'collection', name: 'Posts', schema, ...dates })
          .execute()
        const object = { id: 'o', group_id: 'g', container_id: 'c', external_id: null, account_handle: '', ...dates }
        const state = { archived: 0, publish_ms: unsetPublishMs }
        await db
          .insertInto('objects')
          // The columns that this version added have defaults.
          .values({
            ...object,
            ...state,
            value: '{"title":"Old","email":"Ann@Bücher.Example"}',
            search_text: 'old',
          } as never)
          .execute()
        const index = {
          object_id: 'o',
          container_id: 'c',
          field: 'title',
          filter_key: '=Old',
          sort_key: 'told',
          ...state,
        }
        await db.insertInto('object_fields').values(index).execute()
        await db.insertInto('group_revisions').values({ group_id: 'g', revision: 7 }).execute()
      })
    })

    const store = await openTestStore(testDatabase)
    after(() => store.close())
    const group = await openGroup(store, { database: 'main', groupID: 'g' })
    const collection = await findCollection(group, 'c')
    assert.ok(collection)
    const listed = async () => {
      const query = parseListQuery(collection.schema, { filters: {}, sort: 'title:asc' })
      return (await listObjectsInState(group, collection, query, { status: 'published' }, Date.now())).objects
    }
    const [object] = await listed()
    assert.ok(object)
    assert.deepEqual(object.value, { title: 'Old', email: 'Ann@Bücher.Example' })
    const addresses = async () => {
      const rows = await group.database.read
        .selectFrom('object_fields')
        .select(['object_id', 'filter_key', 'archived'])
        .where('field', '=', '@email')
        .execute()
      return rows.map((row) => ({ ...row }))
    }
    assert.deepEqual(await addresses(), [{ object_id: 'o', filter_key: '=ann@xn--bcher-kva.example', archived: 0 }])
    assert.equal(object.version, 1)
    await write(group, Date.now(), (writer) =>
      changeObject(writer, collection, object, { value: { title: 'New' } }, 'updated'),
    )
    assert.deepEqual(
      (await listed()).map(({ value }) => value),
      [{ title: 'New' }],
    )
    assert.deepEqual(await addresses(), [])
    assert.deepEqual(
      (await listVersions(group, 'o')).map(({ version, value }) => [version, value.title]),
      [
        [2, 'New'],
        [1, 'Old'],
      ],
    )
    assert.equal(await readRevision(group), 8)
    const { events } = await listEvents(group, { since: 0, limit: 10 }, Date.now())
    assert.deepEqual(
      events.map(({ seq, type }) => [seq, type]),
      [[1, 'content.updated']],
    )
  })
})
