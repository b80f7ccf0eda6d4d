import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readUsage } from '../../../src/store/content/usage.ts'
import { migrate } from '../../../src/store/schema/migrate.ts'
import { contentMigrations } from '../../../src/store/schema/migrations/content.ts'
import { openFormer } from '../../helpers/former-database.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { assertUsageIsRight } from '../../helpers/usage.ts'

const dates = { created_ms: 1, updated_ms: 1 }

onBothEngines('the upgrade to quotas', (engine) => {
  it('counts the existing content of a group', async () => {
    const database = await openFormer(engine, 'how many bytes each group takes')
    await database.write(async (db) => {
      for (const groupId of ['g', 'other']) {
        const container = { id: `c ${groupId}`, group_id: groupId, kind: 'collection' as const, name: 'Posts' }
        await db.insertInto('containers').values({ ...container, schema: '{}', ...dates }).execute() // biome-ignore format: short
        await db.insertInto('group_revisions').values({ group_id: groupId, revision: 1 }).execute()
        const state = { review: null, archived: 0, publish_ms: 0, version: 1, changed_by: '', change: 'created' }
        const position = { container_id: container.id, archived: 0, publish_ms: 0 }
        for (let n = 0; n < 3; n += 1) {
          const id = `${groupId} ${n}`
          const object = { id, group_id: groupId, container_id: container.id, external_id: null, account_handle: '' }
          const texts = { value: '{"title":"Größe"}', search_text: 'größe' }
          await db.insertInto('objects').values({ ...object, ...state, ...texts, ...dates }).execute() // biome-ignore format: short
          const row = { object_id: id, field: 'title', filter_key: '=Größe', sort_key: 'tgröße', ...position }
          await db.insertInto('object_fields').values(row).execute()
        }
      }
      const who = { actor_id: null, actor_name: '', address: '', container_id: null, version: null }
      const change = { group_id: 'g', seq: 1, at_ms: 1, type: 'content.created', verb: 'test', subject_id: 'g 1' }
      await db.insertInto('changes').values({ ...change, ...who, note: 'größer' }).execute() // biome-ignore format: short
      const derivatives = JSON.stringify([{ bytes: 30 }, { bytes: 4 }])
      const file = {
        id: 'f',
        group_id: 'g',
        key: 'k',
        sha256: 's',
        bytes: 1000,
        content_type: 'image/png',
        derivatives,
      }
      await db.insertInto('media_files').values({ ...file, created_ms: 1 }).execute() // biome-ignore format: short
    })
    await migrate(database, contentMigrations, 0)
    const group = { groupId: 'g', database }
    // Each row has 200; each object its texts, and of its row in the index 250, 4 times its key and 2 times its sort key.
    const object = 200 + 19 + 7 + (250 + 4 * 8 + 2 * 8)
    const file = 200 + '[{"bytes":30},{"bytes":4}]'.length
    assert.deepEqual(await readUsage(group), {
      databaseBytes: 3 * object + (200 + 2 + 2) + (200 + 8) + file,
      mediaBytes: 1034,
    })
    for (const groupId of ['g', 'other']) await assertUsageIsRight({ groupId, database })
  })
})
