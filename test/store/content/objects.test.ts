import assert from 'node:assert/strict'
import { it } from 'node:test'
import { hashSecret } from '../../../src/security/tokens.ts'
import { readRevision } from '../../../src/store/content/revisions.ts'
import { createSite } from '../../helpers/authoring.ts'
import { harness, onBothEngines, type TestGroup } from '../../helpers/harness.ts'

onBothEngines('writing objects', (engine) => {
  it('stores all of a batch or nothing, and names every problem', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const posts = await group.collection('Posts', {
      title: { type: 'text', required: true },
      rating: { type: 'integer', max: 5 },
    })
    const bad = group.add(posts, { value: { title: 'Good' } }, { value: { rating: 9, surprise: 1 } })
    await assert.rejects(bad, (error: Error) => {
      assert.match(error.message, /surprise is not a field.*title is required.*rating must be at most 5/)
      return true
    })
    assert.equal((await group.get(`/tenant/collectionObjects?collectionId=${posts.id}`)).json().data.totalCount, 0)
  })

  it('refuses a value that is not an object, and lists at most 20 problems', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const posts = await group.collection('Posts', { cover: { type: 'image' } })
    for (const value of [null, [], 'text'])
      await assert.rejects(group.add(posts, { value } as never), /objectValue must be an object/)
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`field${n}`, 1]))
    await assert.rejects(group.add(posts, { value: many }), (error: Error) => error.message.endsWith('; and 480 more.'))
  })

  it('refuses another group’s file key', async () => {
    const { newGroup } = await harness(engine)
    const [group, other] = [await newGroup(), await newGroup()]
    const posts = await group.collection('Posts', { cover: { type: 'image' } })
    const cover = { name: 'x', key: `${other.group.id}/secret.png`, type: 'image' }
    await assert.rejects(group.add(posts, { value: { cover } }), /does not belong to this group/)
  })

  it('preserves every character: emoji, combining marks, right-to-left, 4-byte, quotes, very long text', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    const titles = ['😀👩‍👩‍👧', 'e\u0301', 'שלום', '𝒳', `'"\\;--`, 'x'.repeat(50_000), '\u0001\u001f', '\u2028', '%_*']
    await group.add(posts, ...titles.map((title) => ({ value: { title } })))
    const { data } = (await group.get(`/tenant/collectionObjects?collectionId=${posts.id}`)).json()
    assert.deepEqual(
      data.items.map((item: { objectValue: { title: string } }) => item.objectValue.title),
      titles,
    )
    for (const title of titles.filter((text) => text.length < 1000)) {
      const url = `/tenant/collectionObjects?collectionId=${posts.id}&filters[title]=${encodeURIComponent(title)}`
      assert.equal((await group.get(url)).json().data.totalCount, 1, title)
    }
  })

  it('bumps the group’s revision with every write, and no other group’s', async () => {
    const { newGroup, clock } = await harness(engine)
    const [group, other] = [await newGroup(), await newGroup()]
    const revisionOf = (of: TestGroup) => readRevision(of.store)
    assert.equal(await revisionOf(group), 0)
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    assert.equal(await revisionOf(group), 1)
    await group.add(posts, { value: { title: 'a' } }, { value: { title: 'b' } })
    assert.equal(await revisionOf(group), 2)
    await createSite(group.store, { name: 's', domainName: 'd', settings: {} }, clock.now)
    assert.equal(await revisionOf(group), 3)
    assert.equal(await revisionOf(other), 0)
  })

  it('stores only a hash of an API key, and the prefix that lists show', async () => {
    const { newGroup, service } = await harness(engine)
    const { key } = await newGroup()
    const rows = await service.store.control.read.selectFrom('api_keys').selectAll().execute()
    assert.equal(rows[0]?.secret_hash, hashSecret(key))
    assert.equal(rows[0]?.prefix, key.slice(0, 13))
    assert.ok(!JSON.stringify(rows).includes(key.slice(0, 20)))
  })
})
