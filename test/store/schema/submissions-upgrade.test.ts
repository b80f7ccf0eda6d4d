import assert from 'node:assert/strict'
import { it } from 'node:test'
import { draftPublishMs, unsetPublishMs } from '../../../src/content/model.ts'
import { migrate } from '../../../src/store/schema/migrate.ts'
import { contentMigrations } from '../../../src/store/schema/migrations/content.ts'
import { openFormer } from '../../helpers/former-database.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { assertTotalsAreRight } from '../../helpers/totals.ts'

const createdMs = Date.UTC(2026, 0, 1)
const approvedMs = Date.UTC(2026, 0, 9)

/** The stored objects, and their publish dates after the upgrade. */
const rows: [id: string, review: string | null, archived: number, before: number, after: number][] = [
  ['at-once', 'approved', 0, unsetPublishMs, createdMs],
  ['approved', 'approved', 0, unsetPublishMs, approvedMs],
  ['waiting', 'pending', 1, unsetPublishMs, unsetPublishMs],
  ['rejected', 'rejected', 1, unsetPublishMs, unsetPublishMs],
  ['dated-by-an-editor', 'approved', 0, 5, 5],
  ['draft-by-an-editor', 'approved', 0, draftPublishMs, draftPublishMs],
  ['no-submission', null, 0, unsetPublishMs, unsetPublishMs],
]

onBothEngines('submissions of a database without publish dates', (engine) => {
  it('get the time at which they first became visible, also in the index, and nothing else changes', async () => {
    const database = await openFormer(engine, 'publish dates of submissions')
    const { read, write } = database
    const dates = { created_ms: createdMs, updated_ms: createdMs }
    await write(async (db) => {
      const container = { id: 'c', group_id: 'g', kind: 'collection' as const, name: 'Reviews', schema: '{}', ...dates }
      await db.insertInto('containers').values(container).execute()
      for (const [groupId, revision] of [['g', 7], ['other', 3]] as const) // biome-ignore format: short
        await db.insertInto('group_revisions').values({ group_id: groupId, revision }).execute()
      for (const [id, review, archived, publish_ms] of rows) {
        const state = { review, archived, publish_ms, version: 1, changed_by: '', change: 'created', ...dates }
        const object = { id, group_id: 'g', container_id: 'c', external_id: null, account_handle: '', ...state }
        await db.insertInto('objects').values({ ...object, value: '{}', search_text: '' }).execute() // biome-ignore format: short
        const field = { field: 'stars', filter_key: '=5', sort_key: null, container_id: 'c', archived, publish_ms }
        await db.insertInto('object_fields').values({ object_id: id, ...field }).execute() // biome-ignore format: short
      }
      for (const [seq, at_ms] of [
        [1, approvedMs],
        [2, approvedMs + 5],
      ] as const) {
        // biome-ignore format: short
        const who = { actor_id: null, actor_name: '', address: '', note: '', container_id: 'c', version: 2 }
        const change = { group_id: 'g', seq, at_ms, type: 'content.published', verb: 'submission.approve' }
        await db.insertInto('changes').values({ ...change, subject_id: 'approved', ...who }).execute() // biome-ignore format: short
      }
    })
    await migrate(database, contentMigrations, 0)
    const expected = new Map(rows.map(([id, , , , publishMs]) => [id, publishMs]))
    const objects = await read.selectFrom('objects').select(['id', 'publish_ms', 'updated_ms', 'version']).execute()
    for (const { id, publish_ms, updated_ms, version } of objects)
      assert.deepEqual([id, publish_ms, updated_ms, version], [id, expected.get(id), createdMs, 1])
    const fields = await read.selectFrom('object_fields').select(['object_id', 'publish_ms']).execute()
    assert.deepEqual(new Map(fields.map(({ object_id, publish_ms }) => [object_id, publish_ms])), expected)
    const revisions = await read.selectFrom('group_revisions').select(['group_id', 'revision']).execute()
    assert.deepEqual(new Map(revisions.map(({ group_id, revision }) => [group_id, revision])), new Map([['g', 8], ['other', 3]])) // biome-ignore format: short
    await assertTotalsAreRight({ groupId: 'g', database })
  })
})
