import assert from 'node:assert/strict'
import { it } from 'node:test'
import { changeObject } from '../../src/store/content/change-objects.ts'
import { findContainerById } from '../../src/store/content/containers.ts'
import { readDueMs } from '../../src/store/content/due.ts'
import { findObject } from '../../src/store/content/objects.ts'
import { readRevision } from '../../src/store/content/revisions.ts'
import { write } from '../helpers/authoring.ts'
import { assertIndexIsRight, assertNoGaps, assertRefused, type Data, editingPosts } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'

const schema = {
  title: { type: 'text', required: true },
  price: { type: 'decimal' },
  note: { type: 'text' },
}
const hourMs = 3_600_000
const iso = (ms: number): string => new Date(ms).toISOString()

async function withScheduled(engine: TestEngine) {
  const created = await editingPosts(engine, schema)
  const { post, does, clock } = created
  const live: Data = await post({ title: 'Live', price: '4.00', note: 'a' })
  const path = `/objects/${live._id}/draft`
  const dueMs = clock.now + hourMs
  const schedule = async (objectValue: object, publishAt: string | null = iso(dueMs)) => {
    await does('PUT', path, { objectValue })
    return does('POST', `${path}/schedule`, { publishAt })
  }
  const versions = async () => (await does('GET', `/objects/${live._id}/versions`)).items
  return { ...created, live, path, dueMs, schedule, versions }
}

onBothEngines('a scheduled change', (engine) => {
  it('is delivered from its second on, though the former answer was cached, and is a version of that second', async () => {
    const { schedule, clock, dueMs, delivered, posts, versions, does, group, live } = await withScheduled(engine)
    const shown = async (query = '') => (await delivered(posts._id, query)).map(({ objectValue }) => objectValue.title)
    const scheduled = await schedule({ title: 'Due', price: '5.00' })
    assert.equal(scheduled.publishAt, iso(dueMs))
    clock.now = dueMs - 1
    assert.deepEqual(
      [await shown(), await shown('&search=due'), await shown('&filters[title]=Due')],
      [['Live'], [], []],
    )
    clock.now = dueMs
    assert.deepEqual(
      [await shown(), await shown('&search=due'), await shown('&filters[title]=Due')],
      [['Due'], ['Due'], ['Due']],
    )
    clock.now += 5000
    const [item] = await delivered(posts._id)
    assert.deepEqual([item.updatedAt, item.objectValue.price], [iso(dueMs), '5.00'])
    const [latest, former] = await versions()
    assert.deepEqual(
      [latest.change, latest.changedBy, latest.changedAt],
      ['scheduled change published', 'The owner', iso(dueMs)],
    )
    assert.equal(former.objectValue.title, 'Live')
    const { items } = await does('GET', '/events')
    const event = items.at(-1)
    assert.deepEqual([event.type, event.at, event.subjectId], ['content.updated', iso(dueMs), live._id])
    assert.equal((await does('GET', '/drafts')).totalCount, 0)
    await assertIndexIsRight(group.store)
    await assertNoGaps(group.store)
  })

  it('shows in the management API and in previews of its object at its second, too', async () => {
    const { schedule, clock, dueMs, does, live, group } = await withScheduled(engine)
    await schedule({ title: 'Due' })
    clock.now = dueMs
    assert.equal((await does('GET', `/objects/${live._id}`)).objectValue.title, 'Due')
    const { token } = await does('POST', '/previews', { objectId: live._id })
    assert.equal((await group.get(`/tenant/preview?token=${token}`)).json().data.objectValue.title, 'Due')
  })

  it('must be in the future, be valid, and cannot be edited until it is cancelled', async () => {
    const { schedule, send, does, path, dueMs, clock, deliveredValues } = await withScheduled(engine)
    assertRefused(await send('POST', `${path}/schedule`, { publishAt: iso(dueMs) }), 404, /no working copy/)
    await does('PUT', path, { objectValue: { price: '1' } })
    assertRefused(await send('POST', `${path}/schedule`, { publishAt: iso(dueMs) }), 400, /title is required/)
    await does('PUT', path, { objectValue: { title: 'Due' } })
    assertRefused(await send('POST', `${path}/schedule`, { publishAt: iso(clock.now) }), 400, /in the future/)
    assertRefused(await send('POST', `${path}/schedule`, { publishAt: 'soon' }), 400, /must be a moment/)
    await schedule({ title: 'Due' })
    assertRefused(await send('PUT', path, { objectValue: { title: 'Later' } }), 409, /is scheduled for/)
    assert.equal((await does('POST', `${path}/schedule`, { publishAt: null })).publishAt, null)
    await does('PUT', path, { objectValue: { title: 'Later' } })
    clock.now = dueMs
    assert.deepEqual(await deliveredValues('title'), ['Live'])
  })

  it('is merged with edits of other fields, and refuses edits that contradict it', async () => {
    const { schedule, send, does, live, clock, dueMs, delivered, posts } = await withScheduled(engine)
    await schedule({ title: 'Live', price: '5.00', note: 'a' })
    const edit = { version: 1, objectValue: { price: '6.00' } }
    const details = assertRefused(
      await send('PATCH', `/objects/${live._id}`, edit),
      409,
      /A change of price is scheduled/,
    )
    assert.deepEqual(details.fields, ['price'])
    await does('PATCH', `/objects/${live._id}`, { version: 1, objectValue: { note: 'b' } })
    clock.now = dueMs
    const [item] = await delivered(posts._id)
    assert.deepEqual([item.objectValue.price, item.objectValue.note], ['5.00', 'b'])
  })

  it('that can no longer be made stays as a working copy with the problem, and does not stop the others', async () => {
    const { schedule, does, path, live, clock, dueMs, group, deliveredValues, post } = await withScheduled(engine)
    await schedule({ title: 'Due' })
    const other = await post({ title: 'Other' })
    await does('PUT', `/objects/${other._id}/draft`, { objectValue: { title: 'Other, due' } })
    await does('POST', `/objects/${other._id}/draft/schedule`, { publishAt: iso(dueMs) })
    // As by a job or an older server, which no scheduled change can refuse.
    await write(group.store, clock.now, async (writer) => {
      const found = await findObject(writer.group, live._id)
      const container = found && (await findContainerById(writer.group, found.containerId))
      assert.ok(found && container)
      await changeObject(writer, container, found.object, { value: { title: 'Contradiction' } }, 'updated')
    })
    clock.now = dueMs
    assert.deepEqual(await deliveredValues('title'), ['Contradiction', 'Other, due'])
    const copy = await does('GET', path)
    assert.deepEqual([copy.publishAt, copy.objectValue.title], [null, 'Due'])
    assert.match(copy.problem, /same fields: title/)
    const { items } = await does('GET', '/events')
    assert.ok(items.some(({ type, subjectId }: Data) => type === 'draft.failed' && subjectId === live._id))
    assert.equal(await readDueMs(group.store), null)
  })

  it('that fails unexpectedly does not stop the others either', async () => {
    const { schedule, does, clock, dueMs, group, deliveredValues, post } = await withScheduled(engine)
    await schedule({ title: 'Due' })
    const broken = await post({ title: 'Broken' }, { draft: true })
    const path = `/objects/${broken._id}/draft`
    await does('PUT', path, { objectValue: { title: 'Mended' } })
    await does('POST', `${path}/schedule`, { publishAt: iso(dueMs) })
    const setValue = (value: string) =>
      group.store.database.write((db) =>
        db.updateTable('objects').set({ value }).where('id', '=', broken._id).execute(),
      )
    await setValue('{')
    clock.now = dueMs
    assert.deepEqual(await deliveredValues('title'), ['Due'])
    await setValue('{}')
    assert.match((await does('GET', path)).problem, /^Unexpected error: /)
  })

  it('appears together with all others of its second, however many they are', async () => {
    const { group, post, clock, dueMs, does, posts } = await withScheduled(engine)
    const { database, groupId } = group.store
    const { items } = await does('POST', `/collections/${posts._id}/objects/bulk`, {
      items: Array.from({ length: 450 }, (_, n) => ({ objectValue: { title: `Live ${n}` } })),
    })
    const first = items[0]
    await does('PUT', `/objects/${first._id}/draft`, { objectValue: { title: 'Due' } })
    const row = await database.read.selectFrom('working_copies').selectAll().executeTakeFirstOrThrow()
    const copies = items.map(({ _id, objectValue }: Data) => ({
      ...row, id: _id, object_id: _id, base_value: JSON.stringify(objectValue), due_ms: dueMs, versions_kept: 5,
    })) // biome-ignore format: one line reads better
    await database.write(async (db) => {
      await db.deleteFrom('working_copies').execute()
      for (let start = 0; start < copies.length; start += 50)
        await db
          .insertInto('working_copies')
          .values(copies.slice(start, start + 50))
          .execute()
    }, groupId)
    await post({ title: 'x' }, { archiveDate: iso(dueMs) }) // its date is that of the group
    clock.now = dueMs
    const list = `/tenant/collectionObjects?collectionId=${posts._id}&limit=1&filters[title]=Due`
    const answers = await Promise.all(Array.from({ length: 5 }, () => group.get(list)))
    assert.deepEqual(answers.map((answer) => answer.json().data.totalCount), [450, 450, 450, 450, 450]) // biome-ignore format: one line
  })

  it('is made in a transaction with others only up to a number of index entries, for which other writers wait', async () => {
    const list = { type: 'list', of: { type: 'text' }, filterable: true }
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const fieldsOf = (value: unknown) => Object.fromEntries(names.map((name) => [name, value]))
    const { post, does, deliveredValues, clock, group } = await editingPosts(engine, fieldsOf(list))
    const dueMs = clock.now + hourMs
    const objectValue = fieldsOf(Array.from({ length: 1000 }, (_, n) => String(n)))
    for (let n = 0; n < 3; n++) {
      const path = `/objects/${(await post({}))._id}/draft`
      await does('PUT', path, { objectValue })
      await does('POST', `${path}/schedule`, { publishAt: iso(dueMs) })
    }
    const revision = () => readRevision(group.store)
    const before = await revision()
    clock.now = dueMs
    assert.deepEqual(await deliveredValues('a'), Array(3).fill(objectValue.a))
    assert.equal((await revision()) - before, 2)
    await assertIndexIsRight(group.store)
  })

  it('that cannot be made for now leaves the former state in place, uncached, until it can', async () => {
    const { schedule, clock, dueMs, deliveredValues, group } = await withScheduled(engine)
    await schedule({ title: 'Due' })
    clock.now = dueMs
    const { database } = group.store
    const { settleDue } = database
    database.settleDue = async () => {
      throw new Error('The disk is full.')
    }
    assert.deepEqual(await deliveredValues('title'), ['Live'])
    database.settleDue = settleDue
    assert.deepEqual(await deliveredValues('title'), ['Due'])
  })

  it('is cancelled when its working copy is published or discarded, or its object is deleted', async () => {
    const { schedule, does, path, live, clock, dueMs, deliveredValues, group } = await withScheduled(engine)
    await schedule({ title: 'Due' })
    await does('DELETE', path)
    assert.equal(await readDueMs(group.store), null)
    await schedule({ title: 'Now' })
    await does('POST', `${path}/publish`)
    assert.equal(await readDueMs(group.store), null)
    await schedule({ title: 'Gone' })
    await does('DELETE', `/objects/${live._id}`)
    clock.now = dueMs
    assert.deepEqual(await deliveredValues('title'), [])
    assert.equal(await readDueMs(group.store), null)
  })
})

onBothEngines('an archive date', (engine) => {
  it('hides an object from its second on, in lists, totals, filters, searches and caches', async () => {
    const { post, clock, posts, group, does } = await withScheduled(engine)
    const archiveMs = clock.now + hourMs
    const made = await post({ title: 'Offer' }, { archiveDate: iso(archiveMs) })
    assert.deepEqual([made.archiveDate, made.status], [iso(archiveMs), 'published'])
    const total = async (query = '') =>
      (await group.get(`/tenant/collectionObjects?collectionId=${posts._id}${query}`)).json().data.totalCount
    const totals = async () => [await total(), await total('&filters[title]=Offer'), await total('&search=offer')]
    clock.now = archiveMs - 1
    assert.deepEqual(await totals(), [2, 1, 1])
    clock.now = archiveMs
    assert.deepEqual(await totals(), [1, 0, 0])
    const shown = await does('GET', `/objects/${made._id}`)
    assert.deepEqual(
      [shown.status, shown.archived, shown.archiveDate, shown.version, shown.updatedAt],
      ['archived', true, iso(archiveMs), 1, made.updatedAt],
    )
    const { items } = await does('GET', '/events')
    assert.deepEqual([items.at(-1).at, items.at(-1).note], [iso(archiveMs), 'archived by its archive date'])
    await assertIndexIsRight(group.store)
  })

  it('is not delivered', async () => {
    const { post, delivered, posts, clock } = await withScheduled(engine)
    await post({ title: 'Offer' }, { archiveDate: iso(clock.now + hourMs) })
    assert.ok(!JSON.stringify(await delivered(posts._id)).includes('archiveDate'))
  })

  it('can be changed and removed, lies in the future, and ends when the object is restored', async () => {
    const { post, does, send, clock, group } = await withScheduled(engine)
    const made = await post({ title: 'Offer' }, { archiveDate: iso(clock.now + hourMs) })
    const path = `/objects/${made._id}`
    const patch = (archiveDate: string | null, version: number) => does('PATCH', path, { version, archiveDate })
    assert.equal((await patch(iso(clock.now + 2 * hourMs), 1)).archiveDate, iso(clock.now + 2 * hourMs))
    assert.equal((await patch(null, 2)).archiveDate, null)
    assert.equal(await readDueMs(group.store), null)
    assertRefused(await send('PATCH', path, { version: 3, archiveDate: iso(clock.now) }), 400, /in the future/)
    assertRefused(await send('PATCH', path, { version: 3, archiveDate: 'never' }), 400, /must be a moment/)
    await patch(iso(clock.now + hourMs), 3)
    clock.now += hourMs
    const restored = await does('POST', `${path}/restore`)
    assert.deepEqual([restored.status, restored.archiveDate], ['published', null])
  })
})
