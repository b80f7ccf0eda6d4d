import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { managing } from '../helpers/manage.ts'

/** Submissions of 30 KB each, with a limit of 100 KB per answer. */
async function withSubmissions(engine: TestEngine) {
  const created = await managing(engine, { env: { MAX_ANSWER_BYTES: '100000' } })
  const group = await created.newManagedGroup()
  const posts = await group.collection('Posts', { title: { type: 'text' }, body: { type: 'longText' } })
  const submission = { value: { title: 'x', body: 'a'.repeat(30_000) }, review: 'pending' as const }
  const add = (count: number) => group.add(posts, ...Array.from({ length: count }, () => submission))
  const ask = (path: string) =>
    created.call('GET', `/manage/groups/${group.groupId}${path}`, undefined, group.tokens.viewer)
  return { add, ask, csv: () => ask(`/collections/${posts.id}/submissions.csv`) }
}

onBothEngines('submissions', (engine) => {
  it('are not read when their list would exceed the maximum answer', async () => {
    const { add, ask } = await withSubmissions(engine)
    const added = await add(5)
    const refused = await ask('/submissions?limit=100')
    assert.equal(refused.statusCode, 400)
    assert.match(refused.json().error, /exceed the maximum of \d+ bytes\. Request fewer items with limit/)
    const taken = await ask('/submissions?limit=3')
    assert.equal(taken.statusCode, 200, taken.body.slice(0, 200))
    const ids = added.map(({ id }) => id).toSorted()
    assert.deepEqual(
      taken.json().data.items.map(({ _id }: { _id: string }) => _id),
      ids.toReversed().slice(0, 3),
      'newest first',
    )
  })

  it('are not read when their CSV would exceed the maximum answer, and are complete otherwise', async () => {
    const { add, csv } = await withSubmissions(engine)
    const added = await add(3)
    const whole = await csv()
    assert.equal(whole.statusCode, 200, whole.body.slice(0, 200))
    const ids = added.map(({ id }) => id).toSorted()
    const lines = whole.body.trimEnd().split(/\r?\n/)
    assert.deepEqual(
      lines.slice(1).map((line) => line.slice(0, 24)),
      ids.toReversed(),
    )
    await add(1)
    const refused = await csv()
    assert.equal(refused.statusCode, 409)
    assert.match(refused.json().error, /There are 4 submissions, more than .* the 100000 bytes .* in pages/)
  })
})
