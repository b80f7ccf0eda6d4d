import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertRefused, editingPosts } from '../helpers/editing.ts'
import { harness, onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { assertUsageIsRight } from '../helpers/usage.ts'
import { exportOf, importInto, newPath, readExport, writeExport } from './exports.ts'

const hourMs = 3_600_000
const iso = (ms: number): string => new Date(ms).toISOString()

/** A group with working copies of each kind, exported. */
async function exported(engine: TestEngine) {
  const created = await editingPosts(engine, { title: { type: 'text', required: true }, note: { type: 'text' } })
  const { post, does, clock, group } = created
  const [draft, due, offer] = [
    await post({ title: 'One' }),
    await post({ title: 'Two' }),
    await post({ title: 'Three' }, { archiveDate: iso(clock.now + hourMs) }),
  ]
  await does('PUT', `/objects/${draft._id}/draft`, { objectValue: { note: 'unfinished' } })
  await does('PUT', `/objects/${due._id}/draft`, { objectValue: { title: 'Due' } })
  await does('POST', `/objects/${due._id}/draft/schedule`, { publishAt: iso(clock.now + hourMs) })
  const site = await does('POST', '/sites', { name: 'Shop', settings: { motto: 'Live' } })
  await does('PATCH', `/sites/${site._id}/draft`, { settings: { motto: 'Draft' } })
  const folder = await exportOf(created, group.groupId)
  return { ...created, draft, due, offer, site, folder }
}

onBothEngines('working copies and archive dates', (engine) => {
  it('are exported and imported, and take effect at their second in the other place', async () => {
    const { folder, group, posts } = await exported(engine)
    const elsewhere = await harness(engine === 'sqlite' ? 'postgres' : 'sqlite')
    await importInto(elsewhere, folder, { into: undefined })
    const again = await exportOf(elsewhere, group.groupId, newPath())
    const contentOf = (path: string) => readExport(path).filter(({ type }) => ['site', 'object'].includes(type))
    assert.deepEqual(contentOf(again), contentOf(folder))
    const { tally } = await importInto(elsewhere, folder)
    assert.deepEqual(
      [tally.objects, tally.sites],
      [
        { added: 0, changed: 0, equal: 3 },
        { added: 0, changed: 0, equal: 1 },
      ],
    )
    const content = await elsewhere.service.store.content('main')
    await assertUsageIsRight({ groupId: group.groupId, database: content })
    elsewhere.clock.now += hourMs
    await content.settleDue(group.groupId, elsewhere.clock.now)
    const rows = await content.read
      .selectFrom('objects')
      .select(['value', 'archived'])
      .where('container_id', '=', posts._id)
      .orderBy('id')
      .execute()
    assert.deepEqual(
      rows.map(({ value, archived }) => [JSON.parse(value).title, archived]),
      [['One', 0], ['Due', 0], ['Three', 1]],
    ) // biome-ignore format: a table
  })

  it('replace those of an existing group; those that are missing in the export stay', async () => {
    const created = await exported(engine)
    const { does, draft, due, folder } = created
    await does('PUT', `/objects/${draft._id}/draft`, { objectValue: { title: 'Later' } })
    const without = newPath()
    await exportOf(created, created.group.groupId, without)
    const lines = readExport(without).map((line) => ({ ...line, workingCopy: undefined }))
    writeExport(without, lines)
    await importInto(created, without, { isEdited: true })
    assert.equal((await does('GET', `/objects/${draft._id}/draft`)).objectValue.title, 'Later')
    const { tally } = await importInto(created, folder)
    assert.deepEqual(tally.objects, { added: 0, changed: 1, equal: 2 })
    assert.deepEqual((await does('GET', `/objects/${draft._id}/draft`)).objectValue, { note: 'unfinished' })
    assert.notEqual((await does('GET', `/objects/${due._id}/draft`)).publishAt, null)
  })

  it('are refused if their values cannot be stored', async () => {
    const created = await exported(engine)
    const { folder, draft, send } = created
    const lines = readExport(folder).map((line) =>
      line.type === 'object' && line.id === draft._id
        ? { ...line, workingCopy: { ...line.workingCopy, value: { title: 5 } } }
        : line,
    )
    writeExport(folder, lines)
    await assert.rejects(importInto(created, folder, { isEdited: true }), /objectValue.title must be a text/)
    assertRefused(await send('GET', `/objects/${created.offer._id}/draft`), 404, /no working copy/)
  })
})
