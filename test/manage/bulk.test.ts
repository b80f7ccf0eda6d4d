import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertIndexIsRight, assertNoGaps, assertRefused, editingPosts, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine, testStartMs } from '../helpers/harness.ts'

const schema = { title: { type: 'text', required: true }, rating: { type: 'integer', max: 5 }, kind: { type: 'text' } }
const tomorrow = new Date(testStartMs + 86_400_000).toISOString()

async function withPosts(engine: TestEngine, count: number) {
  const created = await editingPosts(engine, schema)
  const many = (items: object[]) => created.send('POST', `/collections/${created.posts._id}/objects/bulk`, { items })
  const bulk = (action: string, items: object[]) => created.send('POST', '/objects/bulk', { action, items })
  const items = Array.from({ length: count }, (_, n) => ({ objectValue: { title: `Post ${n}`, rating: n % 5 } }))
  const made = count > 0 ? (await many(items)).json().data.items : []
  const ids: string[] = made.map(({ _id }: { _id: string }) => _id)
  return { ...created, many, bulk, ids }
}

/** Each action on three published posts: the item's input, the status and version afterwards, what is delivered. */
const actions: [action: string, item: object, status: string | undefined, version: number, delivered: string[]][] = [
  ['update', { version: 1, objectValue: { title: 'New', kind: 'update' } }, 'published', 2, ['New', 'New', 'New']],
  ['patch', { version: 1, objectValue: { rating: null }, draft: true }, 'draft', 2, []],
  ['delete', { version: 1 }, undefined, 0, []],
  ['duplicate', {}, 'draft', 1, ['Post 0', 'Post 1', 'Post 2']],
  ['publish', {}, 'published', 1, ['Post 0', 'Post 1', 'Post 2']],
  ['schedule', { publishDate: tomorrow }, 'scheduled', 2, []],
  ['unpublish', { version: 1 }, 'draft', 2, []],
  ['archive', {}, 'archived', 2, []],
  ['restore', {}, 'published', 1, ['Post 0', 'Post 1', 'Post 2']],
]

onBothEngines('bulk operations', (engine) => {
  it('create objects in one call, in order and each in its state', async () => {
    const { many, deliveredValues, group } = await withPosts(engine, 0)
    const answer = await many([
      { objectValue: { title: 'a' } },
      { objectValue: { title: 'b' }, draft: true },
      { objectValue: { title: 'c' }, publishDate: tomorrow },
      { objectValue: { title: 'd' }, archived: true },
    ])
    assert.equal(answer.statusCode, 201)
    const { items, totalCount } = answer.json().data
    assert.equal(totalCount, 4)
    assert.deepEqual(
      items.map(({ objectValue, status }: { objectValue: { title: string }; status: string }) => [
        objectValue.title,
        status,
      ]),
      [['a', 'published'], ['b', 'draft'], ['c', 'scheduled'], ['d', 'archived']], // biome-ignore format: a table
    )
    assert.deepEqual(await deliveredValues('title'), ['a'])
    await assertIndexIsRight(group.store)
  })

  it('apply every action as for single objects', async () => {
    const { many, bulk, deliveredValues, group } = await withPosts(engine, 0)
    for (const [action, item, status, version, shown] of actions) {
      const made = await many([0, 1, 2].map((n) => ({ objectValue: { title: `Post ${n}`, kind: action } })))
      const items = made.json().data.items.map(({ _id }: { _id: string }) => ({ objectId: _id, ...item }))
      const answer = await bulk(action, items)
      assert.equal(answer.statusCode, 200, answer.body)
      const { items: after, totalCount } = answer.json().data
      assert.equal(totalCount, 3)
      const states = after.map((object: { status: string; version: number }) => [object.status, object.version])
      assert.deepEqual(states, status ? items.map(() => [status, version]) : [], action)
      assert.deepEqual(await deliveredValues('title', `&filters[kind]=${action}`), shown, action)
    }
    await assertIndexIsRight(group.store)
    await assertNoGaps(group.store)
  })

  it('change all objects or none, and name the first that does not fit', async () => {
    const { many, bulk, ids, does, group, newManagedGroup, clock } = await withPosts(engine, 4)
    const stranger = await newManagedGroup()
    const theirs = await stranger.collection('Posts', schema)
    const [foreign] = await stranger.add(theirs, { value: { title: 'Theirs' } })
    await does('PATCH', `/objects/${ids[2]}`, { version: 1, objectValue: { title: 'Edited' } })
    const before = await everythingIn(group.store)
    clock.now += 1000
    const items = (third: object, more: object = {}) =>
      ids.map((objectId, position) => ({ objectId, ...more, ...(position === 2 && third) }))
    const good = { objectValue: { title: 'x' } }
    const refused: [answer: ReturnType<typeof bulk>, status: number, message: RegExp][] = [
      [many([good, { objectValue: { rating: 9 } }, good]), 400, /^items\[1\]: .*title is required; .*rating must be at most 5/],
      [many([good, good, { ...good, publishDate: 'soon' }]), 400, /^items\[2\]: publishDate must be a moment/],
      [bulk('publish', items({ objectId: 'nope' })), 404, /^items\[2\]: There is no such object/],
      [bulk('delete', items({ objectId: foreign?.id })), 404, /^items\[2\]: There is no such object/],
      [bulk('archive', items({ version: 1 }, {})), 409, /^items\[2\]: .*at version 2, you started from 1.* Nothing was changed/],
      [bulk('update', items({}, { ...good, version: 1 })), 409, /^items\[2\]: /],
      [bulk('patch', items({ version: undefined }, { ...good, version: 1 })), 400, /^items\[2\]: version is required/],
      [bulk('update', items({ version: 2, objectValue: undefined }, { ...good, version: 1 })), 400, /^items\[2\]: objectValue is required/],
      [bulk('schedule', items({ publishDate: undefined }, { publishDate: tomorrow })), 400, /^items\[2\]: publishDate is required/],
      [bulk('publish', items({ objectValue: { title: 'x' } })), 400, /^items\[2\]: objectValue cannot be given here/],
      [bulk('duplicate', items({ publishDate: tomorrow })), 400, /^items\[2\]: publishDate cannot be given here/],
      [bulk('publish', items({ surprise: 1 })), 400, /items\[2\]\.surprise cannot be given here/],
      [bulk('explode', items({})), 400, /action must be one of update, patch/],
    ] // biome-ignore format: a table
    for (const [answer, status, message] of refused) assertRefused(await answer, status, message)
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('report a version conflict with both values', async () => {
    const { bulk, ids, does } = await withPosts(engine, 2)
    const current = await does('PATCH', `/objects/${ids[1]}`, { version: 1, objectValue: { rating: 4 } })
    const items = ids.map((objectId) => ({ objectId, version: 1, objectValue: { title: 'Mine' } }))
    const details = assertRefused(await bulk('patch', items), 409, /^items\[1\]: /)
    assert.deepEqual(details, { current, yours: { objectId: ids[1], objectValue: { title: 'Mine' } } })
  })

  it('take at least 1 and at most 1000 objects', async () => {
    const { many, bulk, posts, does, group } = await withPosts(engine, 0)
    const items = Array.from({ length: 1001 }, (_, n) => ({ objectValue: { title: `t${n}` } }))
    assertRefused(await many(items), 400, /items must have at most 1000 entries/)
    assertRefused(await many([]), 400, /items must not be empty/)
    const made = (await many(items.slice(1))).json().data.items
    assert.equal(made.length, 1000)
    const targets = made.map(({ _id }: { _id: string }) => ({ objectId: _id }))
    assertRefused(await bulk('archive', [...targets, targets[0]]), 400, /items must have at most 1000 entries/)
    assert.equal((await bulk('archive', targets)).json().data.totalCount, 1000)
    assert.equal((await does('GET', `/collections/${posts._id}/objects?status=archived&limit=1`)).totalCount, 1000)
    await assertIndexIsRight(group.store)
    await assertNoGaps(group.store)
  })
})
