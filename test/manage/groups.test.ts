import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { readRevision } from '../../src/store/content/revisions.ts'
import { createApiKey } from '../helpers/authoring.ts'
import { assertRefused, everythingIn } from '../helpers/editing.ts'
import { localFolder, onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { type ManagedGroup, type Managing, managing } from '../helpers/manage.ts'

async function withGroup(engine: TestEngine) {
  const created = await managing(engine)
  const group = await created.newManagedGroup({ name: 'Bakery' })
  const path = `/manage/groups/${group.groupId}`
  return {
    ...created,
    group,
    path,
    show: () => created.ask('GET', path),
    /** Longer than the second for which the authorizer caches an answer. */
    deliver: async (url: string) => {
      created.clock.now += 1000
      return group.get(url)
    },
  }
}

/** A row in every table, and a file. */
async function fill({ ask, service, clock }: Managing, { groupId, group, members, integration, add }: ManagedGroup) {
  const path = `/manage/groups/${groupId}`
  const posts = await ask('POST', `${path}/collections`, { name: 'Posts', schema: { title: { type: 'text' } } })
  const pages = [{ name: 'Blog', slug: 'blog', collections: [{ collectionId: posts._id }] }]
  const site = await ask('POST', `${path}/sites`, { name: 'Site', settings: { pages } })
  const items = Array.from({ length: 1000 }, (_, n) => ({ objectValue: { title: `Post ${n}` } }))
  const made = await ask('POST', `${path}/collections/${posts._id}/objects/bulk`, { items })
  const [{ _id }] = made.items
  await ask('PATCH', `${path}/objects/${_id}`, { version: 1, objectValue: { title: 'Edited' } })
  await ask('POST', `${path}/previews`, { objectId: _id })
  await add(await integration('stripe', { name: { type: 'text' } }), { value: { name: 'Cake' }, externalId: 'p' })
  await createApiKey(service.store, groupId, 'another', clock.now)
  await ask('POST', `${path}/members/${members.editor.user.id}/tokens`, {})
  const { storage } = service.media
  await storage.write(group.bucketName, `${groupId}/pictures/cake.png`, Buffer.from('cake'))
  return { posts, site, file: join(localFolder(service, group.bucketName), groupId, 'pictures/cake.png') }
}

/** Every row of both databases that refers to the group or its content. */
async function rowsOf({ service }: Managing, { groupId, store }: ManagedGroup) {
  const { control } = service.store
  const controlTables = ['groups', 'api_keys', 'memberships', 'admin_tokens', 'invitations'] as const
  const dump = await everythingIn(store)
  const ids = (dump.objects ?? []).filter((row) => row.includes(groupId)).map((row) => JSON.parse(row).id)
  const rows = Object.values(dump).flat()
  for (const table of controlTables) {
    const found = await control.read.selectFrom(table).selectAll().execute()
    rows.push(...found.map((row) => JSON.stringify({ ...row, last_used_ms: null })))
  }
  return rows.filter((row) => row.includes(groupId) || ids.some((id) => row.includes(id))).toSorted()
}

/** All that remains of a deleted group is the marker that refuses late writes. */
function assertOnlyClosed(rows: string[]): void {
  assert.deepEqual(rows.map((row) => JSON.parse(row).closed), [1]) // biome-ignore format: short
}

onBothEngines('groups', (engine) => {
  it('are created, listed to those who can manage them, and renamed', async () => {
    const { ask, group, path, show } = await withGroup(engine)
    const made = await ask('POST', '/manage/groups', { name: 'New', tier: 'pro', bucketName: 'pictures' })
    assert.deepEqual([made.name, made.tier, made.bucketName, made.versionsKept], ['New', 'pro', 'pictures', 50])
    const { items } = await ask('GET', '/manage/groups')
    assert.deepEqual(items.map(({ name }: { name: string }) => name).toSorted(), ['Bakery', 'New'])
    assert.equal((await ask('GET', '/manage/groups', undefined, group.tokens.viewer)).totalCount, 1)
    assert.equal((await ask('POST', `${path}/rename`, { name: 'Boulangerie' }, group.tokens.owner)).name, 'Boulangerie')
    assert.equal((await show()).name, 'Boulangerie')
  })

  it('have a tier that their sites deliver', async () => {
    const { ask, group, path, deliver } = await withGroup(engine)
    const site = await ask('POST', `${path}/sites`, { name: 'Site' })
    const tier = async () => (await deliver(`/tenant/siteDetails?siteId=${site._id}`)).json().data.tier
    assert.equal(await tier(), 'free')
    const revision = await readRevision(group.store)
    assert.equal((await ask('POST', `${path}/tier`, { tier: 'proplus' })).tier, 'proplus')
    assert.equal(await tier(), 'proplus')
    assert.equal(await readRevision(group.store), revision + 1)
    await ask('POST', `${path}/tier`, { tier: 'proplus' })
    assert.equal(await readRevision(group.store), revision + 1)
  })

  it('are refused by the delivery API while frozen, and can still be managed', async () => {
    const { ask, path, deliver } = await withGroup(engine)
    const site = await ask('POST', `${path}/sites`, { name: 'Site' })
    const url = `/tenant/siteDetails?siteId=${site._id}`
    assert.equal((await ask('POST', `${path}/freeze`)).frozen, true)
    assert.equal((await deliver(url)).json().code, 'GroupFrozen')
    await ask('PATCH', `${path}/sites/${site._id}`, { version: 1, name: 'Changed' })
    assert.equal((await ask('POST', `${path}/unfreeze`)).frozen, false)
    assert.equal((await deliver(url)).json().data.name, 'Changed')
  })

  it('keep all of several concurrent changes', async () => {
    const { ask, path, show } = await withGroup(engine)
    await Promise.all([
      ask('POST', `${path}/rename`, { name: 'Renamed' }),
      ask('POST', `${path}/freeze`),
      ask('POST', `${path}/tier`, { tier: 'basic' }),
      ask('POST', `${path}/versionsKept`, { versionsKept: 7 }),
    ])
    const { name, frozen, tier, versionsKept } = await show()
    assert.deepEqual(
      { name, frozen, tier, versionsKept },
      { name: 'Renamed', frozen: true, tier: 'basic', versionsKept: 7 },
    )
  })

  it('are deleted with everything in them, without affecting other groups', async () => {
    const created = await withGroup(engine)
    const { group, path, call, ask, newManagedGroup, deliver, service } = created
    const other = await newManagedGroup({ name: 'Bakery' })
    const [mine, theirs] = [await fill(created, group), await fill(created, other)]
    const before = await rowsOf(created, other)
    assert.ok(before.length > 4000)
    assertRefused(await call('POST', `${path}/delete`, { confirm: 'bakery' }), 400, /confirm must be the exact name/)
    assert.equal((await deliver(`/tenant/siteDetails?siteId=${mine.site._id}`)).statusCode, 200)
    assert.deepEqual(await ask('POST', `${path}/delete`, { confirm: 'Bakery' }), { done: true })
    assertOnlyClosed(await rowsOf(created, group))
    assert.ok(!existsSync(mine.file))
    assert.deepEqual(await rowsOf(created, other), before)
    assert.ok(existsSync(theirs.file))
    assert.equal((await deliver(`/tenant/siteDetails?siteId=${mine.site._id}`)).statusCode, 401)
    assert.equal((await other.get(`/tenant/siteDetails?siteId=${theirs.site._id}`)).statusCode, 200)
    for (const token of [created.admin, group.tokens.owner])
      assertRefused(await call('GET', path, undefined, token), 404, /no such group/)
    const { items } = await ask('GET', '/manage/audit?limit=1')
    assert.deepEqual([items[0].what, items[0].type, items[0].note], ['group.delete', 'group.deleted', 'Bakery'])
    assert.equal((await service.store.control.read.selectFrom('users').selectAll().execute()).length, 7)
  })

  it('whose deletion was interrupted serve and accept nothing, and can be deleted again', async () => {
    const created = await withGroup(engine)
    const { group, path, call, ask, deliver, service, show } = created
    const { file, site } = await fill(created, group)
    const { storage } = service.media
    const { removeFolder } = storage
    storage.removeFolder = async () => {
      storage.removeFolder = removeFolder
      throw new Error('The disk is unreachable.')
    }
    assert.equal((await call('POST', `${path}/delete`, { confirm: 'Bakery' })).statusCode, 500)
    assert.ok(existsSync(file))
    assert.equal((await deliver(`/tenant/siteDetails?siteId=${site._id}`)).json().code, 'GroupFrozen')
    const verbs: [method: 'GET' | 'POST', path: string, body?: object][] = [
      ['GET', ''],
      ['POST', '/unfreeze'],
      ['POST', '/sites', { name: 'New' }],
      ['POST', '/keys', {}],
    ]
    for (const [method, where, body] of verbs)
      assertRefused(await call(method, path + where, body), 409, /is being deleted. Delete it again to finish/)
    await assert.rejects(show)
    assert.deepEqual(await ask('POST', `${path}/delete`, { confirm: 'Bakery' }), { done: true })
    assertOnlyClosed(await rowsOf(created, group))
    assert.ok(!existsSync(file))
  })

  it('deleted during concurrent writes leave nothing behind', async () => {
    const created = await withGroup(engine)
    const { group, path, call, ask } = created
    const posts = await ask('POST', `${path}/collections`, { name: 'Posts', schema: {} })
    const write = () => call('POST', `${path}/collections/${posts._id}/objects`, { objectValue: {} })
    const writes = Array.from({ length: 20 }, write)
    const deletion = call('POST', `${path}/delete`, { confirm: 'Bakery' })
    for (const { statusCode } of await Promise.all(writes)) assert.ok([201, 404, 409].includes(statusCode))
    assert.equal((await deletion).statusCode, 200)
    assertOnlyClosed(await rowsOf(created, group))
  })
})
