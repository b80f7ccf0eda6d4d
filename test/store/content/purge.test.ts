import assert from 'node:assert/strict'
import { it } from 'node:test'
import { deleteGroupContent, reopenGroupContent } from '../../../src/store/content/purge.ts'
import { readRevision } from '../../../src/store/content/revisions.ts'
import { harness, onBothEngines } from '../../helpers/harness.ts'

onBothEngines('deleted content', (engine) => {
  it('continues its revisions when it is restored, so that no number stands for two contents', async () => {
    const { newGroup, clock } = await harness(engine)
    const group = await newGroup()
    const seen = new Set<number>()
    for (let life = 0; life < 3; life += 1) {
      const posts = await group.collection('Posts', { title: { type: 'text' } })
      await group.add(posts, { value: { title: `life ${life}` } })
      const revision = await readRevision(group.store)
      assert.ok(!seen.has(revision) && revision > Math.max(0, ...seen))
      seen.add(revision)
      await deleteGroupContent(group.store, clock.now, () => {})
      await assert.rejects(group.collection('Late', {}), /being deleted/)
      await reopenGroupContent(group.store, clock.now)
      assert.ok((await readRevision(group.store)) > revision)
    }
  })

  it('of another group is left unchanged', async () => {
    const { newGroup, clock } = await harness(engine)
    const group = await newGroup()
    await group.collection('Posts', { title: { type: 'text' } })
    const revision = await readRevision(group.store)
    await reopenGroupContent(group.store, clock.now)
    assert.equal(await readRevision(group.store), revision)
  })
})
