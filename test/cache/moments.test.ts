import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { Tier } from '../../src/core/tiers.ts'
import { readRevision } from '../../src/store/content/revisions.ts'
import { type GroupStore, openGroup } from '../../src/store/store.ts'
import { exportGroup } from '../../src/transfer/export/export-group.ts'
import { importGroup } from '../../src/transfer/import/import-group.ts'
import { authoring, createApiKey, createGroup, createSite } from '../helpers/authoring.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { newPath } from '../transfer/exports.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { matches, type Question } from './compare.ts'
import type { Instance } from './instances.ts'
import { newSides } from './side.ts'
import { spell } from './targets.ts'

const secondMs = 1000
const hourMs = 3_600_000
const plain: Question = { method: 'GET', acceptEncoding: undefined, ifNoneMatch: undefined }

/** A page of a website. */
interface Page {
  groupId: string
  key: string
  path: string
}

onBothEngines('a cached answer', (engine) => {
  let cluster: Cluster
  before(async () => {
    cluster = await startCluster(engine)
  })
  after(() => cluster.close())

  const load = (at: Instance, { path, key }: Page, headers: Record<string, string> = {}) =>
    at.send(path, { headers: { authorization: key, ...headers } })

  /** Requests it a few times: computed, stored, and served from the cache. */
  async function assertRight(at: Instance, page: Page, when: string, tier: Tier = 'pro'): Promise<void> {
    const truth = await cluster.reference.read(page.path, page.groupId, tier)
    for (let time = 0; time < 3; time += 1) {
      const answer = await load(at, page)
      assert.ok(matches(answer, truth, plain), `${at.name} ${when}: ${answer.status} ${answer.body}\nnot ${truth.body}`)
    }
  }

  async function assertRightEverywhere(page: Page, when: string): Promise<void> {
    for (const instance of cluster.instances) await assertRight(instance, page, when)
  }

  const wait = (ms: number) => cluster.setClock(cluster.clock.now + ms)

  async function newSite() {
    const [side, other] = await newSides(cluster)
    const { groupId, ids, targets, keys } = side
    const pageOf = (target: number): Page => ({
      groupId,
      key: keys[0]?.key ?? '',
      path: spell(targets[target] ?? assert.fail(), 0),
    })
    const path = `/manage/groups/${groupId}/sites/${ids.siteId}`
    async function change(at: Instance | 'elsewhere', motto: string): Promise<void> {
      const shown = JSON.parse((await cluster.manage(at, 'GET', path)).body).data
      const { status, body } = await cluster.manage(at, 'PATCH', path, { version: shown.version, settings: { motto } })
      assert.equal(status, 200, body)
    }
    return { side, other, list: pageOf(0), site: pageOf(1), shop: pageOf(2), change }
  }

  it('never predates a write that this process acknowledged', async () => {
    const { site, change } = await newSite()
    const [here] = cluster.instances
    await here.hold()
    const early = load(here, site)
    await here.held()
    await change(here, 'new')
    await assertRight(here, site, 'while the earlier computation still runs')
    await here.release()
    assert.equal((await early).status, 200)
    await assertRight(here, site, 'when the earlier computation has ended')
  })

  it('never predates a write of another process that is a second old', async () => {
    const { site, change } = await newSite()
    const [here, there] = cluster.instances
    await there.hold()
    const early = load(there, site)
    await there.held()
    await change(here, 'new')
    await wait(secondMs)
    await assertRight(there, site, 'while the earlier computation still runs')
    await there.release()
    assert.equal((await early).status, 200)
    await assertRight(there, site, 'when the earlier computation has ended')
  })

  it('never predates a publish date that has passed', async () => {
    const { list } = await newSite() // one of its objects appears in 700 ms
    const [here] = cluster.instances
    await here.hold()
    const early = load(here, list)
    await here.held()
    await wait(700)
    const joining = load(here, list) // joins the computation that is running
    await assertRight(here, { ...list, path: `${list.path}&limit=100` }, 'with another URL')
    await here.release()
    assert.equal((await early).status, 200)
    const truth = await cluster.reference.read(list.path, list.groupId, 'pro')
    assert.ok(matches(await joining, truth, plain), 'a request after the date must see the published object')
    await assertRight(here, list, 'when the earlier computation has ended')
  })

  it('is never sent to another group, even for the same URL', async () => {
    const { shop, list, other } = await newSite()
    const theirs: Page = { ...shop, groupId: other.groupId, key: other.keys[0]?.key ?? '' }
    const missing = await load(cluster.instances[0], { ...theirs, path: list.path.replace(/\w{24}/, 'f'.repeat(24)) })
    for (const instance of cluster.instances) {
      for (let time = 0; time < 4; time += 1) {
        for (const page of [shop, theirs]) await assertRight(instance, page, 'among those of the other group')
        const { etag = '' } = (await load(instance, shop)).headers
        assert.equal((await load(instance, shop, { 'if-none-match': etag })).status, 304)
        assert.equal((await load(instance, theirs, { 'if-none-match': etag })).status, 200)
        const foreign = await load(instance, { ...theirs, path: list.path })
        assert.equal(foreign.status, 404)
        assert.deepEqual(foreign.body, missing.body, 'another group’s id is like one that does not exist')
      }
    }
  })

  it('is not sent for a key revoked, or a group frozen, a second ago', async () => {
    const { side, site } = await newSite()
    const [key] = side.keys
    const second = { ...site, key: side.keys[1]?.key ?? '' }
    const [here, there] = cluster.instances
    for (const page of [site, second]) await assertRightEverywhere(page, 'at first')
    const group = `/manage/groups/${side.groupId}`
    await cluster.manage(here, 'POST', `${group}/keys/${key?.id}/revoke`)
    await wait(secondMs)
    for (const instance of [here, there]) {
      assert.equal((await load(instance, site)).status, 401)
      assert.equal((await load(instance, site, { 'if-none-match': '*' })).status, 401)
    }
    await assertRightEverywhere(second, 'with the other key')
    await cluster.manage(there, 'POST', `${group}/freeze`)
    await wait(secondMs)
    for (const instance of [here, there]) assert.equal((await load(instance, second)).status, 400)
    await cluster.manage(here, 'POST', `${group}/unfreeze`)
    await wait(secondMs)
    await assertRightEverywhere(second, 'when the group is served again')
  })

  it('does not show a tier changed more than a second ago', async () => {
    const { side, site } = await newSite()
    await assertRightEverywhere(site, 'at first')
    const { status } = await cluster.manage(cluster.instances[0], 'POST', `/manage/groups/${side.groupId}/tier`, {
      tier: 'free',
    })
    assert.equal(status, 200)
    for (const instance of cluster.instances) assert.equal((await load(instance, site)).status, 200)
    await wait(secondMs)
    for (const instance of cluster.instances) await assertRight(instance, site, 'a second later', 'free')
  })

  it('is trusted for at most a second after the process was suspended', async () => {
    const { site, list, change } = await newSite()
    const [here, there] = cluster.instances
    await assertRightEverywhere(site, 'at first')
    await there.hold()
    const early = load(there, list)
    await there.held()
    there.pause()
    await change(here, 'new')
    there.resume()
    await wait(secondMs)
    for (const page of [site, list]) await assertRight(there, page, 'when it continues')
    await there.release()
    assert.equal((await early).status, 200)
    for (const page of [site, list]) await assertRight(there, page, 'when its earlier computation has ended')
  })

  it('is not trusted after the clock was set back', async () => {
    const { list, site, change } = await newSite()
    const [here, there] = cluster.instances
    await wait(hourMs) // two of the objects have appeared
    for (const page of [list, site]) await assertRightEverywhere(page, 'at first')
    await wait(-hourMs)
    await assertRightEverywhere(list, 'an hour before')
    await wait(hourMs)
    await change(here, 'new')
    await wait(-hourMs)
    await assertRight(there, site, 'right after the clock was set back')
    await wait(hourMs)
    for (const page of [list, site]) await assertRightEverywhere(page, 'at the end')
  })

  /** A group with one site; an import preserves the ids of both. */
  async function newSmallGroup() {
    const { service } = cluster.reference
    const group = await createGroup(service.store, { name: 'Small', tier: 'pro' }, cluster.clock.now)
    const content = await openGroup(service.store, { database: group.database, groupID: group.id })
    const site = await createSite(
      content,
      { name: 'Site', domainName: '', settings: { motto: '0' } },
      cluster.clock.now,
    )
    const page = async (): Promise<Page> => ({
      groupId: group.id,
      key: (await createApiKey(service.store, group.id, 'website', cluster.clock.now)).key,
      path: `/tenant/siteDetails?siteId=${site.id}`,
    })
    const path = `/manage/groups/${group.id}/sites/${site.id}`
    async function change(at: Instance | 'elsewhere', motto: string): Promise<void> {
      const { version } = JSON.parse((await cluster.manage(at, 'GET', path)).body).data
      const { status, body } = await cluster.manage(at, 'PATCH', path, { version, settings: { motto } })
      assert.equal(status, 200, body)
    }
    return { group, content, page, change }
  }

  it('is not sent for a deleted group that was imported again under the same id', async () => {
    const { group, content, page, change } = await newSmallGroup()
    const { store, media } = cluster.reference.service
    const [here] = cluster.instances
    const folder = newPath()
    const deps = { store, storage: media.storage, nowMs: cluster.clock.now, onProgress: () => {} }
    const first = await page()
    await assertRightEverywhere(first, 'at first')
    await exportGroup(deps, group, folder)
    for (const motto of ['1', '2', '3']) {
      await change(here, motto)
      await assertRight(here, first, 'before the deletion')
    }
    await wait(secondMs)
    await assertRightEverywhere(first, 'before the deletion')
    const lastRevision = await readRevision(content)
    await cluster.manage(here, 'POST', `/manage/groups/${group.id}/delete`, { confirm: group.name })
    const { author } = authoring(cluster.clock.now)
    const options = { isEdited: false, isDryRun: false }
    await importGroup({ ...deps, author, signedUrlLifetimeMs: media.signedUrlLifetimeMs }, folder, options)
    const second = await page()
    await wait(secondMs)
    for (const instance of cluster.instances) assert.equal((await load(instance, first)).status, 401)
    await assertRightEverywhere(second, 'after the import')
    for (let n = 0; n <= lastRevision; n += 1) {
      await change(here, `other ${n}`)
      await assertRight(here, second, 'after a write to the imported group')
      await wait(secondMs)
      await assertRightEverywhere(second, 'a second after it')
    }
  })

  /** The rows of the sites and the revision. */
  async function takeBackup({ groupId, database }: GroupStore): Promise<() => Promise<void>> {
    const sites = await database.read.selectFrom('sites').selectAll().where('group_id', '=', groupId).execute()
    const { revision } = await database.read
      .selectFrom('group_revisions')
      .select('revision')
      .where('group_id', '=', groupId)
      .executeTakeFirstOrThrow()
    return () =>
      database.write(async (db) => {
        await db.deleteFrom('sites').where('group_id', '=', groupId).execute()
        await db.insertInto('sites').values(sites).execute()
        await db.updateTable('group_revisions').set({ revision }).where('group_id', '=', groupId).execute()
      })
  }

  it('does not survive a restored backup, even when its revision returns', async () => {
    const { content, page, change } = await newSmallGroup()
    const site = await page()
    const restore = await takeBackup(content)
    await change('elsewhere', 'lost')
    await wait(secondMs)
    await assertRightEverywhere(site, 'at first')
    await restore()
    await wait(secondMs)
    await assertRightEverywhere(site, 'after the backup was restored')
    await change('elsewhere', 'other')
    await wait(secondMs)
    await assertRightEverywhere(site, 'at the revision it had before')
  })
})
