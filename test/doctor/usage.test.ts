import assert from 'node:assert/strict'
import { it } from 'node:test'
import { authoring } from '../helpers/authoring.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { assertUsageIsRight } from '../helpers/usage.ts'
import { assertOnly, assertSound, patient } from './patient.ts'

onBothEngines('the doctor’s check of storage', (engine) => {
  it('corrects wrong counts, and reports groups near their quota', async () => {
    const { examine, newGroup } = await patient(engine)
    const { store, collection, add } = await newGroup({ name: 'Shop' })
    const posts = await collection('Posts', { title: { type: 'text' } })
    await add(posts, { value: { title: 'Rye' } })
    assertSound(await examine())
    const damage = (bytes: number) =>
      store.database.write((db) => db.updateTable('group_usage').set({ database_bytes: bytes }).execute())
    await damage(7)
    const expected = {
      check: 'Storage of groups',
      level: 'wrong',
      what: /bytes of 1 group are wrong/,
    } as const
    assert.deepEqual(assertOnly(await examine(), expected).examples, ['Shop'])
    const repaired = { ...expected, level: 'attention', what: /recounted/ } as const
    assertOnly(await examine({ repairAs: authoring(0).author }), repaired)
    await assertUsageIsRight(store)
    assertSound(await examine())
    const blob = {
      id: 'f',
      group_id: store.groupId,
      key: 'k',
      sha256: 's',
      content_type: 'text/plain',
      derivatives: '[]',
    }
    await store.database.write(
      (db) =>
      db.insertInto('media_files').values({ ...blob, bytes: 4_939_212_390, created_ms: 0 }).execute(), // biome-ignore format: short
    )
    const findings = await examine()
    assert.match(JSON.stringify(findings), /Shop, files: 4\.6 GB of 5 GB/)
  })
})
