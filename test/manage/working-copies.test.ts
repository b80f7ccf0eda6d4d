import assert from 'node:assert/strict'
import { it } from 'node:test'
import { maxWorkingCopies } from '../../src/store/content/working-copies.ts'
import { createItem } from '../helpers/authoring.ts'
import { assertIndexIsRight, assertRefused, editingPosts, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { assertUsageIsRight } from '../helpers/usage.ts'

const schema = {
  title: { type: 'text', required: true, maxLength: 20 },
  body: { type: 'longText' },
  rating: { type: 'integer', min: 1, max: 5 },
  cover: { type: 'image' },
}

async function withPost(engine: TestEngine, value: object = { title: 'Live', rating: 3 }) {
  const created = await editingPosts(engine, schema)
  const post = await created.post(value)
  const path = `/objects/${post._id}/draft`
  const save = (objectValue: object, more: object = {}) => created.does('PUT', path, { objectValue, ...more })
  return { ...created, live: post, path, save }
}

onBothEngines('a working copy', (engine) => {
  it('changes nothing that is delivered, and neither revision, version, index nor change log', async () => {
    const { group, posts, live, save } = await withPost(engine)
    const deliver = () => group.get(`/tenant/collectionObjects?collectionId=${posts._id}&search=live`)
    const before = { answer: await deliver(), rows: await everythingIn(group.store) }
    for (const title of ['a', 'ab', 'abc']) await save({ title })
    const { working_copies, ...rows } = await everythingIn(group.store)
    assert.equal(working_copies?.length, 1)
    assert.deepEqual({ ...rows, working_copies: [] }, before.rows)
    const after = await deliver()
    assert.equal(after.body, before.answer.body)
    assert.equal(after.headers.etag, before.answer.headers.etag)
    assert.equal(after.json().data.items[0]._id, live._id)
    await assertUsageIsRight(group.store)
  })

  it('is begun by the first save, and replaced by the next ones, which need the revision only if they name it', async () => {
    const { does, path, save, live, send } = await withPost(engine)
    assertRefused(await send('GET', path), 404, /no working copy/)
    const first = await save({ title: 'One' }, { ifRevision: 0 })
    assert.deepEqual(
      [first.objectValue, first.version, first.baseVersion, first.publishAt, first.savedBy],
      [{ title: 'One' }, live.version, live.version, null, 'The owner'],
    )
    const second = await save({ title: 'Two' }, { ifRevision: first.revision })
    assert.ok(second.revision > first.revision)
    const details = assertRefused(
      await send('PUT', path, { objectValue: { title: 'Late' }, ifRevision: first.revision }),
      409,
      /The owner has saved/,
    )
    assert.deepEqual(details.current.value, { title: 'Two' })
    assert.deepEqual(await does('GET', path), second)
    assert.deepEqual(await save({ title: 'Two' }), second) // unchanged
    const patched = await does('PATCH', path, { objectValue: { rating: 4, title: null } })
    assert.deepEqual(patched.objectValue, { rating: 4 })
  })

  it('is named in the object and in lists of objects, without its value', async () => {
    const { does, save, live, posts, post } = await withPost(engine)
    const other = await post({ title: 'Untouched' })
    const { revision, baseVersion, publishAt, problem, savedAt, savedBy } = await save({ title: 'Edited' })
    const shown = await does('GET', `/objects/${live._id}`)
    assert.equal(shown.objectValue.title, 'Live')
    assert.deepEqual(shown.workingCopy, { revision, baseVersion, publishAt, problem, savedAt, savedBy })
    const { items } = await does('GET', `/collections/${posts._id}/objects?sort=title:asc`)
    assert.deepEqual(items, [shown, { ...other, workingCopy: null }])
  })

  it('may be unfinished, and the answer names what would stop publishing', async () => {
    const { save, send, path } = await withPost(engine)
    const cover = { name: 'x', key: 'nowhere', type: 'image' }
    const saved = await save({ rating: 9, body: 'x' })
    assert.deepEqual(saved.problems, ['objectValue.title is required', 'objectValue.rating must be at most 5'])
    assertRefused(await send('POST', `${path}/publish`), 400, /title is required; .*at most 5/)
    for (const [wrong, message] of [
      [{ title: 5 }, /title must be a text/],
      [{ nope: 1 }, /nope is not a field/],
      [{ title: 'x', cover }, /does not belong to this group/],
    ] as const)
      assertRefused(await send('PUT', path, { objectValue: wrong }), 400, message)
  })

  it('replaces the live value when it is published, as a new version, and ends', async () => {
    const { does, save, path, live, send, deliveredValues, group } = await withPost(engine)
    await save({ title: 'Edited', body: 'New' })
    const published = await does('POST', `${path}/publish`)
    assert.deepEqual([published.version, published.objectValue], [2, { title: 'Edited', body: 'New' }])
    assert.equal(published.publishDate, live.publishDate)
    assert.deepEqual(await deliveredValues('title', '&search=new'), ['Edited'])
    assertRefused(await send('GET', path), 404, /no working copy/)
    const { items } = await does('GET', `/objects/${live._id}/versions`)
    assert.deepEqual(
      items.map(({ change, objectValue }: { change: string; objectValue: { title: string } }) => [change, objectValue.title]),
      [['working copy published', 'Edited'], ['created', 'Live']],
    ) // biome-ignore format: a table
    await assertIndexIsRight(group.store)
  })

  it('is refused with base, live and draft, field by field, when the live value was changed since', async () => {
    const { does, save, path, live, send } = await withPost(engine, { title: 'Live', rating: 3, body: 'a' })
    await save({ title: 'Draft', rating: 3, body: 'b' })
    await does('PATCH', `/objects/${live._id}`, { version: 1, objectValue: { rating: 5, body: 'c' } })
    const refused = await send('POST', `${path}/publish`)
    const details = assertRefused(refused, 409, /at version 2.*based on 1.*Both changed body/)
    assert.deepEqual(details, {
      version: 2,
      baseVersion: 1,
      base: { title: 'Live', rating: 3, body: 'a' },
      live: { title: 'Live', rating: 5, body: 'c' },
      draft: { title: 'Draft', rating: 3, body: 'b' },
      fields: { draft: ['title'], live: ['rating'], both: ['body'] },
    })
    assert.deepEqual(await does('GET', `${path}/diff`), details)
    assertRefused(await send('POST', `${path}/publish`, { merge: true }), 409, /Both changed body/)
    assertRefused(await send('POST', `${path}/publish`, { onto: 1 }), 409, /save the values you want, and send onto: 2/)
    const published = await does('POST', `${path}/publish`, { onto: 2 })
    assert.deepEqual(published.objectValue, { title: 'Draft', rating: 3, body: 'b' })
  })

  it('is merged on request with fields that only the live value changed', async () => {
    const { does, save, path, live, send } = await withPost(engine)
    await save({ title: 'Draft', rating: 3 })
    await does('PATCH', `/objects/${live._id}`, { version: 1, objectValue: { rating: 5 } })
    assertRefused(await send('POST', `${path}/publish`), 409, /at version 2/)
    const { objectValue } = await does('POST', `${path}/publish`, { merge: true })
    assert.deepEqual(objectValue, { title: 'Draft', rating: 5 })
  })

  it('is not stale because of a change that keeps the value', async () => {
    const { does, save, path, live } = await withPost(engine)
    await save({ title: 'Draft' })
    await does('POST', `/objects/${live._id}/archive`)
    assert.equal((await does('POST', `${path}/publish`)).version, 3)
  })

  it('is discarded without a trace in the live object, and recorded', async () => {
    const { does, save, path, live, send } = await withPost(engine)
    const { revision } = await save({ title: 'Draft' })
    assertRefused(await send('DELETE', `${path}?ifRevision=${revision - 1}`), 409, /has saved/)
    await does('DELETE', `${path}?ifRevision=${revision}`)
    assertRefused(await send('DELETE', path), 404, /no working copy/)
    assert.equal((await does('GET', `/objects/${live._id}`)).version, 1)
    const { items } = await does('GET', '/events')
    assert.equal(items.at(-1).type, 'draft.discarded')
  })

  it('is shown by a preview of its object', async () => {
    const { does, save, live, group } = await withPost(engine)
    const { token } = await does('POST', '/previews', { objectId: live._id })
    const open = async () => (await group.get(`/tenant/preview?token=${token}`)).json().data.objectValue.title
    assert.equal(await open(), 'Live')
    await save({ title: 'Draft' })
    assert.equal(await open(), 'Draft')
  })

  it('protects the files it uses', async () => {
    const { save, send, does, group, clock, live } = await withPost(engine)
    const key = `${group.groupId}/cover.png`
    await createItem(group.store, key, clock.now)
    const [item] = (await does('GET', '/media')).items
    await save({ title: 'Draft', cover: { name: 'cover', key, type: 'image' } })
    const usage = await does('GET', `/media/${item._id}/usage`)
    assert.deepEqual(usage.items, [
      { kind: 'object', _id: live._id, collectionId: live.collectionId, draft: true },
    ]) // biome-ignore format: one line
    assertRefused(await send('DELETE', `/media/${item._id}`), 409, /used by the working copy of the object/)
    clock.now += 3 * 86_400_000
    assert.equal((await does('POST', '/media/sweep', { dryRun: false })).items, 0)
  })

  it('of a provider’s product has only the fields that editors may change', async () => {
    const { group, does, send } = await withPost(engine)
    const stripe = await group.integration('stripe', { name: { type: 'text' }, productType: { type: 'text' } })
    const [cake] = await group.add(stripe, { value: { name: 'Cake', productType: 'Cakes' }, externalId: 'p1' })
    const path = `/objects/${cake?.id}/draft`
    assertRefused(await send('PATCH', path, { objectValue: { name: 'Mine' } }), 400, /name comes from the provider/)
    await does('PATCH', path, { objectValue: { productType: 'Sweets' } })
    assert.deepEqual((await does('GET', `${path}/diff`)).fields, { draft: ['productType'], live: [], both: [] })
    const published = await does('POST', `${path}/publish`)
    assert.deepEqual(published.objectValue, { name: 'Cake', productType: 'Sweets' })
  })

  it('is changed with the schema, and refuses a change that would lose one of its values', async () => {
    const { does, save, path, posts, send } = await withPost(engine, { title: 'Live' })
    await save({ title: 'Draft', body: 'Text', rating: 9 })
    const change = { version: 1, schema: { heading: { type: 'text', required: true }, rating: { type: 'text' } }, renames: { title: 'heading' } } // biome-ignore format: one line
    const dryRun = await does('POST', `/collections/${posts._id}/schema`, { ...change, dryRun: true })
    assert.equal(dryRun.report.lost.count, 1)
    assertRefused(
      await send('POST', `/collections/${posts._id}/schema`, change),
      409,
      /1 value would be lost, such as body/,
    )
    await does('POST', `/collections/${posts._id}/schema`, { ...change, allowLoss: true })
    const copy = await does('GET', path)
    assert.deepEqual(copy.objectValue, { heading: 'Draft', rating: '9' })
    assert.deepEqual((await does('POST', `${path}/publish`)).objectValue, { heading: 'Draft', rating: '9' })
  })

  it('is deleted with its object, and listed until then', async () => {
    const { does, save, live, group } = await withPost(engine)
    await save({ title: 'Draft' })
    const { items } = await does('GET', '/drafts')
    assert.deepEqual(
      items.map(({ _id, kind }: { _id: string; kind: string }) => [_id, kind]),
      [[live._id, 'object']],
    )
    await does('DELETE', `/objects/${live._id}`)
    assert.equal((await does('GET', '/drafts')).totalCount, 0)
    await assertUsageIsRight(group.store)
  })

  it('is one of a limited number', async () => {
    const { group, live, save, send, path } = await withPost(engine)
    await save({ title: 'Draft' })
    const { database, groupId } = group.store
    const row = await database.read.selectFrom('working_copies').selectAll().executeTakeFirstOrThrow()
    const others = Array.from({ length: maxWorkingCopies }, (_, n) => ({
      ...row,
      id: `other ${n}`,
      object_id: live._id,
    }))
    await database.write((db) => db.insertInto('working_copies').values(others).execute(), groupId)
    assertRefused(await send('PUT', path, { objectValue: { title: 'x' } }), 409, /at most 1000 working copies/)
  })
})
