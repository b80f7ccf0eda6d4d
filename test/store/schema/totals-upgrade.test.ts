import assert from 'node:assert/strict'
import { it } from 'node:test'
import { draftPublishMs } from '../../../src/content/model.ts'
import type { Database } from '../../../src/store/engine/database.ts'
import { migrate } from '../../../src/store/schema/migrate.ts'
import { contentMigrations } from '../../../src/store/schema/migrations/content.ts'
import type { ContentTables } from '../../../src/store/schema/tables.ts'
import { openFormer } from '../../helpers/former-database.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { assertTotalsAreRight } from '../../helpers/totals.ts'

const dates = { created_ms: 0, updated_ms: 0 }

/** Rows as written by the previous version. */
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
    const fields = rows.flatMap(({ id, ...position }) =>
      Object.entries(keys).map(([field, filter_key]) => ({
        ...position,
        object_id: id,
        field,
        filter_key,
        sort_key: null,
      })),
    )
    await db.insertInto('object_fields').values(fields).execute()
  })
}

onBothEngines('a database without totals', (engine) => {
  it('is counted by the upgrade, as are later writes of the previous version', async () => {
    const database = await openFormer(engine, 'totals, which the database keeps')
    await database.write(async (db) => {
      for (const id of ['empty', 'posts', 'notes'])
        await db
          .insertInto('containers')
          .values({ id, group_id: 'g', kind: 'collection', name: id, schema: '{}', ...dates })
          .execute()
    })
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
