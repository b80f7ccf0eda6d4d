import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { it } from 'node:test'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { changeObject } from '../../src/store/content/change-objects.ts'
import { changeSchema } from '../../src/store/content/change-schema.ts'
import { writeContent } from '../../src/store/content/changes.ts'
import { findContainerById, updateContainer } from '../../src/store/content/containers.ts'
import { findObject } from '../../src/store/content/objects.ts'
import { readRevision } from '../../src/store/content/revisions.ts'
import { listSites, updateSite } from '../../src/store/content/sites.ts'
import { listVersions } from '../../src/store/content/versions.ts'
import { findGroupById, listGroups, openContentOf } from '../../src/store/control/groups.ts'
import type { GroupStore } from '../../src/store/store.ts'
import { addStep } from '../../src/transfer/import/apply-import.ts'
import { checkExport } from '../../src/transfer/import/check-export.ts'
import { readSteps } from '../../src/transfer/import/read-steps.ts'
import { authoring, createContainer, createObjects, createSite, write } from '../helpers/authoring.ts'
import { type Harness, harness, onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { deliveryOf, dumpOf, exportOf, importInto, newPath } from './exports.ts'

const schema = { title: { type: 'text' }, rank: { type: 'integer' } }

/** A group on one service, and its import on another. */
async function twins(engine: TestEngine) {
  const source = await harness(engine)
  const group = await source.newGroup({ name: 'Shop' })
  const posts = await group.collection('Posts', schema)
  const objects = await group.add(posts, ...[1, 2, 3, 4].map((rank) => ({ value: { title: `Post ${rank}`, rank } })))
  await createSite(group.store, { name: 'Site', domainName: '', settings: {} }, source.clock.now)
  const { id } = group.group
  const target = await harness(engine)
  await importInto(target, await exportOf(source, id))
  const here = await openContentOf(target.service.store, await findGroupById(target.service.store, id))
  for (const { clock } of [source, target]) clock.now += 60_000
  return { source, target, id, posts, objects, there: group.store, here }
}

async function edit(group: GroupStore, objectId: string, value: Record<string, unknown>, nowMs: number): Promise<void> {
  await write(group, nowMs, async (writer) => {
    const found = await findObject(writer.group, objectId)
    const container = await findContainerById(writer.group, found?.containerId ?? '')
    assert.ok(found && container)
    await changeObject(writer, container, found.object, { value }, 'updated')
  })
}

/** Everything delivered, except the times of the last change, which are those of the import. */
async function shown(harness: Harness, groupId: string): Promise<[string, string][]> {
  const answers = [...(await deliveryOf(harness, groupId))].filter(([address]) => !address.includes('sort=updatedAt'))
  return answers.map(([address, answer]) => [address, answer.replace(/"updatedAt":"[^"]+"/g, '')])
}

onBothEngines('an import into an existing group', (engine) => {
  it('changes it only if it is named: a forged head is not enough', async () => {
    const { source, target, id, objects, there } = await twins(engine)
    await edit(there, objects[0]?.id ?? '', { title: 'Defaced', rank: 0 }, source.clock.now)
    const folder = await exportOf(source, id)
    const stranger = await target.newGroup({ name: 'Stranger' })
    const before = await dumpOf(target.service.store)
    const unnamed = { into: undefined }
    await assert.rejects(
      importInto(target, folder, unnamed),
      new RegExp(
        `of the group "Shop" \\(${id}\\), which exists here: 0 items would be added and 1 changed.+--into ${id}`,
      ),
    )
    await assert.rejects(importInto(target, folder, { into: stranger.group.id }), /not of "Stranger"/)
    await assert.rejects(importInto(target, folder, { into: 'Unknown' }), /There is no group "Unknown"/)
    const shownBefore = await importInto(target, folder, { ...unnamed, isDryRun: true })
    assert.equal(shownBefore.needsInto, true)
    assert.deepEqual(shownBefore.tally.objects, { added: 0, changed: 1, equal: 3 })
    assert.equal(await dumpOf(target.service.store), before, 'nothing was written so far')
    const done = await importInto(target, folder, { into: 'Shop' })
    assert.deepEqual(done.tally.objects, { added: 0, changed: 1, equal: 3 })
    assert.equal(
      (await importInto(target, folder, unnamed)).needsInto,
      false,
      'statements without changes need no name',
    )
  })

  it('makes it equal to the export in one revision, and stores the former values as versions', async () => {
    const { source, target, id, posts, objects, there, here } = await twins(engine)
    const [first, second, third] = objects.map((object) => object.id)
    await edit(there, first ?? '', { title: 'Edited there', rank: 9 }, source.clock.now)
    await edit(here, second ?? '', { title: 'Edited here' }, target.clock.now)
    const [added] = await createObjects(there, posts, [{ value: { title: 'New', rank: 5 } }], source.clock.now)
    await edit(there, added?.id ?? '', { title: 'New and edited', rank: 5 }, source.clock.now)
    await write(there, source.clock.now, async (writer) => {
      const [site] = await listSites(writer.group)
      assert.ok(site)
      await updateSite(writer, site, { name: 'New name' })
    })
    const revision = await readRevision(here)
    const report = await importInto(target, await exportOf(source, id))
    assert.deepEqual(report.tally.objects, { added: 1, changed: 2, equal: 2 })
    assert.deepEqual(report.tally.sites, { added: 0, changed: 1, equal: 0 })
    assert.equal(await readRevision(here), revision + 1)
    assert.deepEqual(await shown(target, id), await shown(source, id))
    const versions = await listVersions(here, second ?? '')
    assert.deepEqual(
      versions.map(({ version, change, value }) => [version, change, value.title]),
      [
        [3, 'imported', 'Post 2'],
        [2, 'updated', 'Edited here'],
        [1, 'created', 'Post 2'],
      ],
    )
    assert.equal((await listVersions(here, third ?? '')).length, 1)
    assert.deepEqual(await listVersions(here, added?.id ?? ''), await listVersions(there, added?.id ?? ''))
  })

  it('leaves and reports additional content', async () => {
    const { source, target, id, here } = await twins(engine)
    const only = await createContainer(here, { kind: 'collection', name: 'Only here', schema }, target.clock.now)
    await createObjects(here, only, [{ value: { title: 'Stays' } }], target.clock.now)
    const dump = await dumpOf(target.service.store)
    const report = await importInto(target, await exportOf(source, id))
    assert.deepEqual(report.onlyHere, { sites: 0, containers: 1, objects: 1, libraryItems: 0, orders: 0 })
    assert.equal(await dumpOf(target.service.store), dump)
  })

  it('applies a changed schema with removed, required or retyped fields, and updates the index', async () => {
    const { source, target, id, posts, there } = await twins(engine)
    const changed = parseSchema({
      name: { type: 'text', required: true },
      rank: { type: 'text' },
      color: { type: 'color', required: true },
    })
    const change = { schema: changed, renames: { title: 'name' }, defaults: { color: '#fff' } }
    await write(there, source.clock.now, async (writer) => {
      const current = await findContainerById(writer.group, posts.id)
      assert.ok(current)
      const { container } = await changeSchema(writer, current, change, { allowLoss: false })
      await updateContainer(writer, container, { name: 'Articles', settings: { moderation: true } })
    })
    const folder = await exportOf(source, id)
    const report = await importInto(target, folder)
    assert.deepEqual(report.tally.collections, { added: 0, changed: 1, equal: 0 })
    assert.deepEqual(await shown(target, id), await shown(source, id))
    const dump = await dumpOf(target.service.store)
    await importInto(target, folder)
    assert.equal(await dumpOf(target.service.store), dump)
  })

  it('converts additional objects to a new schema, and is refused if they would lose data', async () => {
    const { source, target, id, posts, there, here } = await twins(engine)
    const [kept] = await createObjects(here, posts, [{ value: { rank: 7 } }], target.clock.now)
    const changed = parseSchema({ rank: { type: 'text' } })
    await write(there, source.clock.now, async (writer) => {
      const current = await findContainerById(writer.group, posts.id)
      assert.ok(current)
      await changeSchema(writer, current, { schema: changed, renames: {}, defaults: {} }, { allowLoss: true })
    })
    const folder = await exportOf(source, id)
    const [lossy] = await createObjects(here, posts, [{ value: { title: 'Dear' } }], target.clock.now)
    const dump = await dumpOf(target.service.store)
    await assert.rejects(
      importInto(target, folder),
      /line 3: by the new schema of "Posts" the object \w+, which is not in the export, would lose its title/,
    )
    assert.equal(await dumpOf(target.service.store), dump)
    await edit(here, lossy?.id ?? '', { rank: 1 }, target.clock.now)
    await importInto(target, folder)
    assert.deepEqual((await findObject(here, kept?.id ?? ''))?.object.value, { rank: '7' })
  })

  it('is refused before the first write if a name or a product exists here, or an object differs', async () => {
    const { source, target, id, there, here, posts } = await twins(engine)
    const { now } = target.clock
    const products = await createContainer(there, { kind: 'integration', name: 'stripe', schema }, now)
    const folder = newPath()
    const refusals: [prepare: () => Promise<unknown>, message: RegExp][] = [
      [
        () => createContainer(here, { kind: 'integration', name: 'stripe', schema }, now),
        /there is another integration "stripe" here, under the id/,
      ],
      [
        async () => {
          await write(here, now, (writer) => writer.db.deleteFrom('containers').where('name', '=', 'stripe').execute())
          await importInto(target, await exportOf(source, id))
          await createObjects(there, products, [{ value: {}, externalId: 'p1' }], now)
          await createObjects(here, products, [{ value: {}, externalId: 'p1' }], now)
        },
        /the product p1 already exists here, under the id \w+/,
      ],
      [
        () =>
          write(here, now, (writer) =>
            writer.db.updateTable('objects').set({ created_ms: 5 }).where('container_id', '=', posts.id).execute(),
          ),
        /has another createdAt here, which an import cannot change/,
      ],
    ]
    for (const [prepare, message] of refusals) {
      await prepare()
      await exportOf(source, id, folder)
      const dump = await dumpOf(target.service.store)
      await assert.rejects(importInto(target, folder), message)
      assert.equal(await dumpOf(target.service.store), dump)
    }
  })
})

onBothEngines('an import of a new group', (engine) => {
  it('is refused before the first write if another group of the database has one of its ids', async () => {
    const source = await harness(engine)
    const target = await harness(engine)
    const mine = await source.newGroup({ name: 'Mine' })
    const posts = await mine.collection('Posts', schema)
    await mine.add(posts, { value: { title: 'x' } })
    const folder = await exportOf(source, mine.group.id)
    await importInto(target, folder)
    const { store } = target.service
    const other = await target.newGroup({ name: 'Other' })
    await other.store.database.write(async (db) => {
      for (const table of ['containers', 'objects'] as const)
        await db.updateTable(table).set({ group_id: other.group.id }).execute()
    })
    await store.control.write((db) => db.deleteFrom('groups').where('id', '=', mine.group.id).execute())
    const dump = await dumpOf(store)
    const message =
      /line 2: the id \w+ is that of another group in this database; import into another one with --database\n {2}line 3:/
    await assert.rejects(importInto(target, folder), message)
    assert.equal(await dumpOf(store), dump)
    await importInto(target, folder, { database: 'second' })
    assert.equal((await listGroups(store)).length, 2)
  })

  it('continues an interrupted one, and removes the remains of another export', async () => {
    const source = await harness(engine)
    const group = await source.newGroup({ name: 'Shop' })
    const posts = await group.collection('Posts', schema)
    await group.add(posts, ...Array.from({ length: 600 }, (_, rank) => ({ value: { title: `Post ${rank}`, rank } })))
    const { id } = group.group
    const folder = await exportOf(source, id)
    const leaveHalf = async (target: Harness) => {
      const checked = await checkExport(folder, { isEdited: false, onProgress: () => {} })
      const content = await openContentOf(target.service.store, { id, database: 'main' })
      let steps = 0
      for await (const step of readSteps(checked)) {
        await writeContent(content, authoring(target.clock.now), (writer) => addStep(writer, step))
        if (++steps === 2) return
      }
    }
    const whole = await harness(engine)
    await importInto(whole, folder)
    const expected = await shown(whole, id)

    const resumed = await harness(engine)
    await leaveHalf(resumed)
    assert.deepEqual(await listGroups(resumed.service.store), [])
    assert.deepEqual((await importInto(resumed, folder)).tally.objects, { added: 100, changed: 0, equal: 500 })
    assert.deepEqual(await shown(resumed, id), expected)

    const renewed = await harness(engine)
    await leaveHalf(renewed)
    await write(group.store, source.clock.now, (writer) =>
      writer.db.deleteFrom('objects').where('container_id', '=', posts.id).execute(),
    )
    rmSync(folder, { recursive: true })
    await exportOf(source, id, folder)
    assert.deepEqual((await importInto(renewed, folder)).counts.objects, 0)
    assert.deepEqual(await shown(renewed, id), await shown(source, id))
  })
})
