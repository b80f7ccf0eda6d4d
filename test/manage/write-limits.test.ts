import assert from 'node:assert/strict'
import { it } from 'node:test'
import { requestLimits } from '../../src/store/content/changes.ts'
import { assertIndexIsRight, assertRefused, editingPosts, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'

const schema = { title: { type: 'text' }, tags: { type: 'list', of: { type: 'text' } }, body: { type: 'longText' } }
/** Including the title, which has one row, too. */
const tagsOf = (name: string, rows: number): string[] => Array.from({ length: rows - 1 }, (_, n) => `${name} ${n}`)
const rowsOf = 500

async function withTagged(engine: TestEngine, count: number, rows = rowsOf) {
  const created = await editingPosts(engine, schema)
  const many = (items: object[]) => created.send('POST', `/collections/${created.posts._id}/objects/bulk`, { items })
  const bulk = (action: string, items: object[]) => created.send('POST', '/objects/bulk', { action, items })
  const ids: string[] = []
  const tagged = (n: number) => ({ objectValue: { title: `${n}`, tags: tagsOf(`${n}`, rows) } })
  for (let made = 0; made < count; made += 10) {
    const answer = await many(Array.from({ length: Math.min(10, count - made) }, (_, n) => tagged(made + n)))
    assert.equal(answer.statusCode, 201, answer.body)
    ids.push(...answer.json().data.items.map(({ _id }: { _id: string }) => _id))
  }
  return { ...created, many, bulk, tagged, items: ids.map((objectId) => ({ objectId })) }
}

const fits = requestLimits.indexRows / rowsOf

onBothEngines('one request', (engine) => {
  it('writes a limited number of index entries, and a refusal gives the number', async () => {
    const { many, bulk, tagged, items, group } = await withTagged(engine, fits + 1)
    const before = await everythingIn(group.store)
    const all = Array.from({ length: fits + 1 }, (_, n) => tagged(n))
    for (const refused of [
      await many(all),
      ...(await Promise.all(['archive', 'unpublish', 'duplicate', 'delete'].map((action) => bulk(action, items)))),
      await bulk('update', items.map((item) => ({ ...item, version: 1, objectValue: { title: 'another' } }))), // biome-ignore format: short
    ]) {
      assertRefused(
        refused,
        400,
        /writes 1\d{4} index entries or more, .+; a request may write 10000\. Send fewer objects/,
      )
    }
    assert.deepEqual(await everythingIn(group.store), before)
    for (const action of ['archive', 'restore', 'delete']) {
      const answer = await bulk(action, items.slice(0, fits))
      assert.equal(answer.statusCode, 200, answer.body)
    }
    await assertIndexIsRight(group.store)
  })

  it('processes a limited number of content bytes', async () => {
    const { posts, send, bulk, group } = await withTagged(engine, 0)
    const objectValue = { title: 'long', body: 'x'.repeat(990_000) }
    const items: { objectId: string }[] = []
    while (items.length < 17) {
      const answer = await send('POST', `/collections/${posts._id}/objects`, { objectValue })
      items.push({ objectId: answer.json().data._id })
    }
    const before = await everythingIn(group.store)
    const refused = await bulk('archive', items)
    assertRefused(refused, 400, /objects of 168\d{5} bytes.+may write 16777216\./)
    assert.deepEqual(await everythingIn(group.store), before)
    assert.equal((await bulk('archive', items.slice(0, 16))).statusCode, 200)
    await assertIndexIsRight(group.store)
  })

  it('can always archive or delete a single object, however large it has become', async () => {
    const { group, send, clock } = await withTagged(engine, 0)
    const tags = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`tags${n}`, tagsOf(`${n}`, 1001)]))
    const wide = Object.fromEntries(Object.keys(tags).map((name) => [name, schema.tags]))
    const collection = await group.collection('Wide', wide)
    const [object] = await group.add(collection, { value: tags })
    const again = await send('POST', `/collections/${collection.id}/objects`, { objectValue: tags })
    assertRefused(again, 400, /writes 11000 index entries/)
    clock.now += 1000
    assert.equal((await send('POST', `/objects/${object?.id}/archive`, {})).statusCode, 200)
    await assertIndexIsRight(group.store)
    assert.equal((await send('DELETE', `/objects/${object?.id}`)).statusCode, 200)
  })

  it('deletes a large collection at once, and leaves its rows to a job with short transactions', async () => {
    const { does, group, posts, items, service } = await withTagged(engine, 101, 60) // more objects, and more rows, than one transaction deletes
    await does('POST', `/objects/${items[0]?.objectId}/archive`, {})
    const preview = await does('POST', '/previews', { objectId: items[1]?.objectId })
    await does('DELETE', `/collections/${posts._id}?force=true`)
    assert.equal((await group.get(`/tenant/collectionObjects?collectionId=${posts._id}`)).statusCode, 404)
    assert.equal((await group.get(`/tenant/preview?token=${preview.token}`)).statusCode, 404)
    assert.deepEqual((await does('GET', '/collections')).items, [])
    await does('POST', '/collections', { name: 'Posts', schema })
    await service.worker.runDue()
    const left = await everythingIn(group.store)
    const rows = (
      ['containers', 'objects', 'object_fields', 'totals', 'object_versions', 'preview_tokens'] as const
    ).map((table) => left[table]?.length)
    assert.deepEqual(rows, [1, 0, 0, 0, 0, 0])
  })
})
