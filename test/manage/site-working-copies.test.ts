import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readRevision } from '../../src/store/content/revisions.ts'
import { createItem } from '../helpers/authoring.ts'
import { assertRefused, editing } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'

const hourMs = 3_600_000
const iso = (ms: number): string => new Date(ms).toISOString()

async function withSite(engine: TestEngine) {
  const created = await editing(engine)
  const { does, group, clock } = created
  const site = await does('POST', '/sites', { name: 'Shop', settings: { motto: 'Live', accent: 'a' } })
  const path = `/sites/${site._id}/draft`
  const get = (query = '') => group.get(`/tenant/siteDetails?siteId=${site._id}${query}`)
  const motto = async (query = '') => (await get(query)).json().data.motto
  const save = (settings: object, more: object = {}) => does('PATCH', path, { settings, ...more })
  return { ...created, site, path, get, motto, save, dueMs: clock.now + hourMs }
}

onBothEngines('a working copy of a site', (engine) => {
  it('changes nothing that is delivered until it is published, and is shown by a preview of the site', async () => {
    const { save, get, motto, does, path, group, site } = await withSite(engine)
    const before = await get()
    const revision = await readRevision(group.store)
    const first = await save({ motto: 'Draft', accent: null }, { ifRevision: 0 })
    assert.deepEqual([first.settings, first.version, first.problems], [{ motto: 'Draft' }, 1, []])
    const after = await get()
    assert.deepEqual([after.body, after.headers.etag], [before.body, before.headers.etag])
    assert.equal(await readRevision(group.store), revision)
    const { token } = await does('POST', '/previews/site')
    assert.equal(await motto(`&preview=${token}`), 'Draft')
    const { items } = await does('GET', '/drafts')
    assert.deepEqual([items[0]._id, items[0].kind, items[0].collectionId], [site._id, 'site', null])
    const published = await does('POST', `${path}/publish`)
    assert.deepEqual([published.version, published.settings], [2, { motto: 'Draft' }])
    assert.equal(await motto(), 'Draft')
  })

  it('names collections and files that are missing, and protects the files that it uses', async () => {
    const { save, send, does, path, group, clock } = await withSite(engine)
    const pages = [{ name: 'Home', slug: 'home', collections: [{ collectionId: '66f0c0ffee0123456789abcd' }] }]
    const saved = await save({ pages })
    assert.match(saved.problems[0], /which the group does not have/)
    assertRefused(await send('POST', `${path}/publish`), 400, /which the group does not have/)
    const key = `${group.groupId}/logo.png`
    await createItem(group.store, key, clock.now)
    await save({ pages: null, logo: { name: 'logo', key, type: 'image' } })
    const [item] = (await does('GET', '/media')).items
    assertRefused(await send('DELETE', `/media/${item._id}`), 409, /used by the working copy of the site/)
  })

  it('is refused when the same settings were changed live, and discarded on request', async () => {
    const { save, send, does, path, site, motto } = await withSite(engine)
    const { revision } = await save({ motto: 'Draft' })
    await does('PATCH', `/sites/${site._id}`, { version: 1, settings: { motto: 'Other' } })
    const details = assertRefused(await send('POST', `${path}/publish`), 409, /Both changed motto/)
    assert.deepEqual(details.fields, { draft: [], live: [], both: ['motto'] })
    assert.deepEqual(await does('GET', `${path}/diff`), details)
    assertRefused(await send('PATCH', path, { settings: {}, ifRevision: revision - 1 }), 409, /has saved/)
    await does('DELETE', path)
    assertRefused(await send('GET', path), 404, /no working copy/)
    assert.equal(await motto(), 'Other')
  })

  it('can be scheduled: it is delivered from its second on, with what else was changed meanwhile', async () => {
    const { save, send, does, path, site, get, motto, clock, dueMs } = await withSite(engine)
    await save({ motto: 'Due' })
    await does('POST', `${path}/schedule`, { publishAt: iso(dueMs) })
    assertRefused(await send('PATCH', path, { settings: { motto: 'x' } }), 409, /is scheduled/)
    const edit = { version: 1, settings: { motto: 'Contradiction' } }
    assertRefused(await send('PATCH', `/sites/${site._id}`, edit), 409, /A change of motto is scheduled/)
    await does('PATCH', `/sites/${site._id}`, { version: 1, settings: { accent: 'b' } })
    clock.now = dueMs - 1
    assert.equal(await motto(), 'Live')
    clock.now = dueMs
    const { data } = (await get()).json()
    assert.deepEqual([data.motto, data.accent], ['Due', 'b'])
    assert.equal((await does('GET', `/sites/${site._id}`)).updatedAt, iso(dueMs))
  })

  it('is deleted with its site', async () => {
    const { save, does, site } = await withSite(engine)
    await save({ motto: 'Draft' })
    await does('DELETE', `/sites/${site._id}`)
    assert.equal((await does('GET', '/drafts')).totalCount, 0)
  })
})
