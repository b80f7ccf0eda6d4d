import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findCollection } from '../../src/store/content/containers.ts'
import { openStore } from '../../src/store/open.ts'
import { openGroup } from '../../src/store/store.ts'
import { createObjects } from '../helpers/authoring.ts'
import { assertIndexIsRight, assertRefused, type Data, editingPosts, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'

const schema = {
  title: { type: 'text' },
  slug: { type: 'slug', unique: true },
  price: { type: 'decimal', unique: true },
  seen: { type: 'dateTime', unique: true, filterable: false, sortable: false },
  email: { type: 'text', unique: true, private: true },
}

async function withPosts(engine: TestEngine, fields: object = schema) {
  const created = await editingPosts(engine, fields)
  const path = `/collections/${created.posts._id}`
  const create = (objectValue: object, state: object = {}) =>
    created.send('POST', `${path}/objects`, { objectValue, ...state })
  const patch = (object: Data, objectValue: object) =>
    created.send('PATCH', `/objects/${object._id}`, { version: object.version, objectValue })
  return { ...created, path, create, patch }
}

onBothEngines('a unique field', (engine) => {
  it('refuses a value that another object has, drafts and archived ones included, and names that object', async () => {
    const { group, post, create, patch } = await withPosts(engine)
    const draft = await post({ slug: 'rye', email: 'ada@shop.example' }, { draft: true })
    const archived = await post({ slug: 'oat' }, { archived: true })
    const other = await post({ slug: 'spelt' })
    const before = await everythingIn(group.store)
    for (const [answer, field, holder] of [
      [await create({ slug: 'rye' }), 'slug', draft],
      [await create({ slug: 'oat' }), 'slug', archived],
      [await create({ email: 'ada@shop.example' }), 'email', draft],
      [await patch(other, { slug: 'oat' }), 'slug', archived],
    ] as const) {
      const details = assertRefused(
        answer,
        409,
        new RegExp(`objectValue\\.${field} must be unique, and the object ${holder._id} already`),
      )
      assert.deepEqual(details, { field, objectId: holder._id })
    }
    assert.deepEqual(await everythingIn(group.store), before)
    await assertIndexIsRight(group.store)
  })

  it('compares values as filters do: numbers and moments by value, texts exactly, also very long ones', async () => {
    const { post, create } = await withPosts(engine)
    const long = 'x'.repeat(1000)
    await post({ price: '4.50', seen: '2026-03-01T10:00:00Z', email: `${long}a` })
    for (const taken of [
      { price: 4.5 },
      { price: '4.5' },
      { seen: '2026-03-01T11:00:00+01:00' },
      { email: `${long}a` },
    ])
      assertRefused(await create(taken), 409, /must be unique/)
    for (const free of [
      { price: '4.51' },
      { seen: '2026-03-01T10:00:01Z' },
      { email: `${long}b` },
      { email: `${long}A` },
    ])
      await post(free)
  })

  it('does not compare missing values', async () => {
    const { post } = await withPosts(engine)
    for (const value of [{}, {}, { slug: null }, { slug: null, email: null }]) await post(value)
  })

  it('can be changed to a value that was given up, and kept in every other change', async () => {
    const { post, patch, does } = await withPosts(engine)
    const first = await post({ slug: 'rye' })
    const second = await post({ slug: 'oat' })
    assert.equal((await patch(first, { slug: 'old-rye' })).statusCode, 200)
    assert.equal((await patch(second, { slug: 'rye' })).statusCode, 200)
    const kept = await does('PATCH', `/objects/${second._id}`, { version: 2, objectValue: { title: 'Rye' } })
    assert.equal(kept.version, 3)
    await does('DELETE', `/objects/${second._id}`)
    await post({ slug: 'rye' })
  })

  it('holds within one request, where two objects may swap their values', async () => {
    const { group, path, send, does, post } = await withPosts(engine)
    const many = (...slugs: string[]) =>
      send('POST', `${path}/objects/bulk`, { items: slugs.map((slug) => ({ objectValue: { slug } })) })
    assertRefused(await many('a', 'b', 'a'), 409, /objectValue\.slug must be unique/)
    const [first, second] = [await post({ slug: 'a' }), await post({ slug: 'b' })]
    const update = (items: [Data, string][]) =>
      send('POST', '/objects/bulk', {
        action: 'update',
        items: items.map(([{ _id }, slug]) => ({ objectId: _id, version: 1, objectValue: { slug } })),
      })
    assertRefused(await update([[first, 'c'], [second, 'c']]), 409, /must be unique/) // biome-ignore format: short
    assertRefused(await update([[first, 'b']]), 409, /must be unique/)
    const swapped = await update([[first, 'b'], [second, 'a']]) // biome-ignore format: short
    assert.equal(swapped.statusCode, 200, swapped.body)
    assert.equal((await does('GET', `/objects/${first._id}`)).objectValue.slug, 'b')
    await assertIndexIsRight(group.store)
  })

  it('is checked when a former version is restored', async () => {
    const { send, post, patch } = await withPosts(engine)
    const first = await post({ slug: 'rye' })
    await patch(first, { slug: 'oat' })
    const second = await post({ slug: 'rye' })
    const restore = () => send('POST', `/objects/${first._id}/versions/1/restore`, { version: 2 })
    assertRefused(await restore(), 409, new RegExp(second._id))
    await send('DELETE', `/objects/${second._id}`)
    assert.equal((await restore()).statusCode, 200)
  })

  it('is numbered in copies if it is a text or a slug, left out otherwise, and prevents a copy if it is required', async () => {
    const { does, send, post, posts } = await withPosts(engine, {
      slug: { type: 'slug', unique: true, maxLength: 6 },
      name: { type: 'text', unique: true },
      price: { type: 'decimal', unique: true },
      email: { type: 'text', unique: true, private: true },
    })
    const original = await post({ slug: 'rye', name: 'Rye', price: '4', email: 'ada@shop.example' })
    await post({ name: 'Rye (2)' })
    const copy = async (id: string) => (await does('POST', `/objects/${id}/duplicate`)).objectValue
    assert.deepEqual(await copy(original._id), { slug: 'rye-2', name: 'Rye (3)' })
    assert.deepEqual(await copy(original._id), { slug: 'rye-3', name: 'Rye (4)' })
    const long = await post({ slug: 'barley' })
    assert.deepEqual(await copy(long._id), { slug: 'barl-2' })
    const strict = { number: { type: 'integer', unique: true, required: true } }
    const orders = await does('POST', '/collections', { name: 'Orders', schema: strict })
    const numbered = await does('POST', `/collections/${orders._id}/objects`, { objectValue: { number: 1 } })
    assertRefused(await send('POST', `/objects/${numbered._id}/duplicate`), 409, /objectValue\.number must be unique/)
    assert.notEqual(orders._id, posts._id)
  })

  it('cannot be introduced while objects share a value: the dry run lists them', async () => {
    const plain = { title: { type: 'text' }, rank: { type: 'text' } }
    const { group, path, send, does, post } = await withPosts(engine, plain)
    const ids: string[] = []
    for (const rank of ['1', '2', '1.0', '1', 'x']) ids.push((await post({ rank, title: rank }))._id)
    const wanted = { version: 1, schema: { ...plain, rank: { type: 'text', unique: true } } }
    const { report } = await does('POST', `${path}/schema`, { ...wanted, dryRun: true })
    assert.deepEqual(report.failing, {
      count: 1,
      objects: [
        {
          objectId: ids[3],
          problems: [`objectValue.rank must be unique, and the object ${ids[0]} has the same value`],
        },
      ],
    })
    const before = await everythingIn(group.store)
    assertRefused(await send('POST', `${path}/schema`, wanted), 409, /1 object does not fit the new schema/)
    assert.deepEqual(await everythingIn(group.store), before)
    // A conversion can make values equal.
    await does('DELETE', `/objects/${ids[4]}`)
    await does('DELETE', `/objects/${ids[3]}`)
    const retyped = { version: 1, schema: { ...plain, rank: { type: 'decimal', unique: true } } }
    const converted = (await does('POST', `${path}/schema`, { ...retyped, dryRun: true })).report
    assert.deepEqual(
      converted.failing.objects.map(({ objectId }: Data) => objectId),
      [ids[2]],
    )
    assert.equal((await send('POST', `${path}/schema`, wanted)).statusCode, 200)
    assertRefused(await send('POST', `${path}/objects`, { objectValue: { rank: '2' } }), 409, new RegExp(ids[1] ?? ''))
    // A default for all objects is the same value for all.
    const added = { ...wanted.schema, code: { type: 'text', unique: true } }
    const defaulted = await send('POST', `${path}/schema`, { version: 2, schema: added, defaults: { code: 'a' } })
    assertRefused(defaulted, 409, /2 objects do not fit/)
    await assertIndexIsRight(group.store)
  })

  it('stays unique with concurrent writers of two services: one of them is refused', async () => {
    const { group, config, clock, posts } = await withPosts(engine)
    const other = await openStore({
      dataDir: config.dataDir,
      databaseUrl: config.databaseUrl,
      clock: Date.now,
      onConnectionError: () => {},
    })
    try {
      const there = await openGroup(other, { database: group.group.database, groupID: group.group.id })
      const collection = await findCollection(group.store, posts._id)
      assert.ok(collection)
      for (let round = 0; round < 10; round++) {
        const value = { slug: `round-${round}` }
        const results = await Promise.allSettled(
          [group.store, there, group.store, there].map(
            (store): Promise<unknown> => createObjects(store, collection, [{ value }], clock.now),
          ),
        )
        assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
        for (const result of results)
          if (result.status === 'rejected') assert.match(String(result.reason), /must be unique/)
      }
    } finally {
      await other.close()
    }
  })

  it('refuses a submission without naming the object that has its value', async () => {
    const { group, posts, does, post } = await withPosts(engine)
    await does('PATCH', `/collections/${posts._id}`, { version: 1, accepts: ['createReview'] })
    await post({ email: 'ada@visitor.example' }, { draft: true })
    const before = await everythingIn(group.store)
    const answer = await group.post('/tenant/definedCollectionObject', {
      collectionId: posts._id,
      type: 'createReview',
      objectValue: { title: 'Good', email: 'ada@visitor.example' },
    })
    assert.deepEqual(await everythingIn(group.store), before)
    assert.equal(answer.statusCode, 409, answer.body)
    assert.deepEqual(answer.json(), {
      success: false,
      data: null,
      code: 'Conflict',
      error: 'objectValue.email must be unique, and its value is already in use.',
    })
  })
})
