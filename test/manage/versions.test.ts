import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertRefused, type Data, type Editing, editingPosts, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, testStartMs } from '../helpers/harness.ts'
import type { Method } from '../helpers/manage.ts'

const schema = { title: { type: 'text', required: true }, rating: { type: 'integer' } }
const iso = (ms: number): string => new Date(ms).toISOString()
const tomorrow = iso(testStartMs + 86_400_000)

const versionsOf = async ({ does }: Pick<Editing, 'does'>, id: string) =>
  (await does('GET', `/objects/${id}/versions`)).items

/** A subject of each kind: its path, a change, and the changed part. */
type Subject = [kind: string, path: string, change: (text: string) => object, part: (data: Data) => unknown]

async function withSubjects(created: Awaited<ReturnType<typeof editingPosts>>): Promise<Subject[]> {
  const { does, post, posts, group } = created
  const object = await post({ title: 'First' })
  const site = await does('POST', '/sites', { name: 'First' })
  const stripe = await group.integration('stripe', { name: { type: 'text' }, productType: { type: 'text' } })
  const [product] = await group.add(stripe, { value: { name: 'Cake' }, externalId: 'p', accountHandle: 'a' })
  return [
    ['object', `/objects/${object._id}`, (title) => ({ objectValue: { title } }), ({ objectValue }) => objectValue.title],
    ['site', `/sites/${site._id}`, (name) => ({ name }), ({ name }) => name],
    ['collection', `/collections/${posts._id}`, (name) => ({ name }), ({ name }) => name],
    ['product', `/products/${product?.id}`, (productType) => ({ productType }), ({ objectValue }) => objectValue.productType],
  ] // biome-ignore format: a table
}

onBothEngines('versions', (engine) => {
  it('list who made each, when and how, newest first, with their values', async () => {
    const created = await editingPosts(engine, schema)
    const { post, does, group, clock } = created
    const { _id } = await post({ title: 'a' })
    const path = `/objects/${_id}`
    const steps: [method: Method, path: string, body: object | undefined, who: 'owner' | 'editor', change: string][] = [
      ['PATCH', path, { version: 1, objectValue: { title: 'b' } }, 'editor', 'updated'],
      ['POST', `${path}/archive`, undefined, 'owner', 'archived'],
      ['POST', `${path}/restore`, undefined, 'editor', 'restored'],
      ['POST', `${path}/schedule`, { publishDate: tomorrow }, 'owner', 'scheduled'],
      ['POST', `${path}/publish`, undefined, 'editor', 'published'],
      ['PUT', path, { version: 6, objectValue: { title: 'c', rating: 1 } }, 'owner', 'updated'],
      ['POST', `${path}/unpublish`, undefined, 'owner', 'unpublished'],
      ['POST', `${path}/versions/2/restore`, undefined, 'editor', 'restored version 2'],
    ]
    const expected = [{ ...(await does('GET', path)), change: 'created', changedBy: 'The owner' }]
    for (const [method, where, body, who, change] of steps) {
      clock.now += 1000
      expected.unshift({ ...(await does(method, where, body, group.tokens[who])), change, changedBy: `The ${who}` })
    }
    assert.deepEqual(
      await versionsOf(created, _id),
      expected.map(({ version, objectValue, publishDate, archived, change, changedBy, updatedAt }) => ({
        version,
        objectValue,
        publishDate,
        archived,
        change,
        changedBy,
        changedAt: updatedAt,
      })),
    )
  })

  it('are limited to 50 besides the current one, or to the group’s setting, from the next change on', async () => {
    const created = await editingPosts(engine, schema)
    const { post, does } = created
    const { _id } = await post({ title: 'x' })
    let version = 1
    const change = async (times: number) => {
      for (let n = 0; n < times; n += 1)
        version = (await does('PATCH', `/objects/${_id}`, { version, objectValue: { rating: version } })).version
    }
    const kept = async () => (await versionsOf(created, _id)).map((one: { version: number }) => one.version)
    const fromNewest = (count: number) => Array.from({ length: count }, (_, n) => version - n)
    await change(60)
    assert.deepEqual(await kept(), fromNewest(51))
    await does('POST', '/versionsKept', { versionsKept: 3 })
    assert.deepEqual(await kept(), fromNewest(51))
    await change(1)
    assert.deepEqual(await kept(), fromNewest(4))
    await does('POST', '/versionsKept', { versionsKept: 0 })
    await change(1)
    assert.deepEqual(await kept(), fromNewest(1))
    await does('POST', '/versionsKept', { versionsKept: 2 })
    await change(3)
    assert.deepEqual(await kept(), fromNewest(3))
  })

  it('are compared field by field', async () => {
    const { post, does, send } = await editingPosts(engine, schema)
    const { _id, publishDate } = await post({ title: 'a', rating: 1 })
    await does('PUT', `/objects/${_id}`, { version: 1, objectValue: { title: 'b' } })
    await does('POST', `/objects/${_id}/schedule`, { publishDate: tomorrow })
    await does('POST', `/objects/${_id}/archive`)
    const diff = async (from: number, to: number) =>
      (await does('GET', `/objects/${_id}/diff?from=${from}&to=${to}`)).items
    assert.deepEqual(await diff(1, 2), [
      { field: 'objectValue.title', from: 'a', to: 'b' },
      { field: 'objectValue.rating', from: 1 },
    ])
    assert.deepEqual(await diff(4, 1), [
      { field: 'publishDate', from: tomorrow, to: publishDate },
      { field: 'archived', from: true, to: false },
      { field: 'objectValue.title', from: 'b', to: 'a' },
      { field: 'objectValue.rating', to: 1 },
    ])
    assert.deepEqual(await diff(3, 3), [])
    assertRefused(
      await send('GET', `/objects/${_id}/diff?from=1&to=9`),
      404,
      /Version 9 of this object is not retained/,
    )
    assertRefused(await send('GET', `/objects/${_id}/diff?from=0&to=1`), 400, /from must be a whole number from 1/)
    assertRefused(await send('GET', `/objects/${_id}/diff?from=1`), 400, /to is required/)
  })

  it('are restored as a new version, which is delivered and can be undone', async () => {
    const { post, does, send, deliveredValues } = await editingPosts(engine, schema)
    const { _id } = await post({ title: 'a', rating: 1 })
    await does('PUT', `/objects/${_id}`, { version: 1, objectValue: { title: 'b' }, draft: true })
    assert.deepEqual(await deliveredValues('title'), [])
    const restored = await does('POST', `/objects/${_id}/versions/1/restore`, { version: 2 })
    assert.deepEqual(
      [restored.version, restored.status, restored.objectValue],
      [3, 'published', { title: 'a', rating: 1 }],
    )
    assert.deepEqual(await deliveredValues('title', '&filters[rating]=1&search=a'), ['a'])
    assert.equal((await does('POST', `/objects/${_id}/versions/2/restore`)).status, 'draft')
    assertRefused(await send('POST', `/objects/${_id}/versions/9/restore`), 404, /Version 9 .* not retained/)
    assertRefused(await send('POST', `/objects/${_id}/versions/1/restore`, { version: 3 }), 409, /at version 4/)
  })

  it('that no longer fit the schema are refused, and nothing is changed', async () => {
    const { post, posts, does, send, group } = await editingPosts(engine, schema)
    const { _id } = await post({ title: 'a', rating: 1 })
    const change = {
      version: 1,
      schema: { headline: schema.title, rating: { type: 'text' } },
      renames: { title: 'headline' },
    }
    await does('POST', `/collections/${posts._id}/schema`, change)
    assert.deepEqual((await does('GET', `/objects/${_id}`)).objectValue, { headline: 'a', rating: '1' })
    const before = await everythingIn(group.store)
    const answer = await send('POST', `/objects/${_id}/versions/1/restore`)
    assertRefused(answer, 400, /title is not a field.*headline is required.*rating must be a text/)
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('that are stale get both values in the answer, for every verb, and nothing is overwritten', async () => {
    const { post, does, send, group } = await editingPosts(engine, schema)
    const { _id } = await post({ title: 'a' })
    const current = await does('PATCH', `/objects/${_id}`, { version: 1, objectValue: { title: 'theirs' } })
    const before = await everythingIn(group.store)
    const mine = { objectValue: { title: 'mine' } }
    const calls: [method: Method, path: string, body: object][] = [
      ['PUT', '', mine],
      ['PATCH', '', { ...mine, archived: true }],
      ['POST', '/publish', {}],
      ['POST', '/schedule', { publishDate: tomorrow }],
      ['POST', '/unpublish', {}],
      ['POST', '/archive', {}],
      ['POST', '/restore', {}],
    ]
    for (const [method, path, body] of calls) {
      const answer = await send(method, `/objects/${_id}${path}`, { ...body, version: 1 })
      const details = assertRefused(answer, 409, /it is at version 2, you started from 1/)
      assert.deepEqual(details, { current, yours: { objectId: _id, ...body } }, path)
    }
    assertRefused(await send('DELETE', `/objects/${_id}?version=3`), 409, /it is at version 2, you started from 3/)
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('also protect sites, collections and products', async () => {
    const created = await editingPosts(engine, schema)
    const { does, send, group } = created
    for (const [kind, path, change] of (await withSubjects(created)).slice(1)) {
      await does('PATCH', path, { version: 1, ...change('theirs') })
      const before = await everythingIn(group.store)
      const answer = await send('PATCH', path, { version: 1, ...change('mine') })
      const details = assertRefused(answer, 409, new RegExp(`The ${kind} has been changed: it is at version 2`))
      const { workingCopy: _, ...current } = await does('GET', path)
      assert.deepEqual(details, { current, yours: change('mine') })
      assert.deepEqual(await everythingIn(group.store), before)
    }
  })

  it('let exactly one of 20 concurrent changes succeed', async () => {
    const created = await editingPosts(engine, schema)
    const { does, send } = created
    for (const [kind, path, change, part] of await withSubjects(created)) {
      const names = Array.from({ length: 20 }, (_, n) => `${kind} ${n}`)
      const answers = await Promise.all(names.map((name) => send('PATCH', path, { version: 1, ...change(name) })))
      const winners = names.filter((_, position) => answers[position]?.statusCode === 200)
      assert.equal(winners.length, 1, kind)
      const { workingCopy: _, ...after } = await does('GET', path)
      assert.deepEqual([part(after), after.version], [winners[0], 2])
      for (const answer of answers.filter(({ statusCode }) => statusCode !== 200))
        assert.deepEqual(assertRefused(answer, 409, /version 2/).current, after)
    }
  })
})
