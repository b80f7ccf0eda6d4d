import assert from 'node:assert/strict'
import { it } from 'node:test'
import { harness, onBothEngines } from '../helpers/harness.ts'

onBothEngines('GET /tenant/collectionObjects', (engine) => {
  it('delivers the items of a collection with their total', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    const [first] = await group.add(posts, { value: { title: 'One' } }, { value: { title: 'Two' } })
    const answer = await group.get(`/tenant/collectionObjects?collectionId=${posts.id}&limit=1`)
    console.log(answer.headers, answer.body)
    assert.equal(answer.statusCode, 200)
    assert.deepEqual(answer.json().data.items[0], {
      _id: first?.id,
      objectValue: { _id: first?.id, title: 'One', mediaFields: {} },
      collectionObj: { name: 'Posts', refID: posts.id },
      publishDate: null,
      archived: false,
      createdAt: '2026-03-01T12:00:00.000Z',
      updatedAt: '2026-03-01T12:00:00.000Z',
    })
    assert.equal(answer.json().data.totalCount, 2)
  })
})
