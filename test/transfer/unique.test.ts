import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { StoredObject } from '../../src/content/model.ts'
import { changeObjects } from '../../src/store/content/change-objects.ts'
import { findContainerById } from '../../src/store/content/containers.ts'
import { iterateObjects } from '../../src/store/content/objects.ts'
import { findGroupById, openContentOf } from '../../src/store/control/groups.ts'
import type { GroupStore } from '../../src/store/store.ts'
import { createObjects, write } from '../helpers/authoring.ts'
import { harness, onBothEngines } from '../helpers/harness.ts'
import { terminal } from '../helpers/terminal.ts'
import { dumpOf, exportOf, importInto } from './exports.ts'
import { folderOf } from './files.ts'

const schema = { title: { type: 'text' }, slug: { type: 'slug', unique: true } }

const slugsIn = async (group: GroupStore, containerId: string): Promise<unknown[]> =>
  (await Array.fromAsync(iterateObjects(group, containerId))).map(({ value }) => value.slug)

/** Gives objects the slugs of each other. */
const rotate = (group: GroupStore, containerId: string, objects: readonly StoredObject[], nowMs: number) =>
  write(group, nowMs, async (writer) => {
    const container = await findContainerById(writer.group, containerId)
    assert.ok(container)
    const planned = objects.map((before, position) => {
      const slug = objects[(position + 1) % objects.length]?.value.slug
      return { before, wanted: { value: { ...before.value, slug } } }
    })
    await changeObjects(writer, container, planned, 'updated')
  })

onBothEngines('unique values in an import', (engine) => {
  it('may have moved from one object to another, also over many steps, and are refused if two would have one', async () => {
    const source = await harness(engine)
    const group = await source.newGroup({ name: 'Shop' })
    const posts = await group.collection('Posts', schema)
    // More than one step of an import.
    const objects = await group.add(posts, ...Array.from({ length: 300 }, (_, n) => ({ value: { slug: `s${n}` } })))
    const target = await harness(engine)
    await importInto(target, await exportOf(source, group.group.id))
    await rotate(group.store, posts.id, objects, source.clock.now)
    const moved = await exportOf(source, group.group.id)
    await importInto(target, moved)
    const here = await openContentOf(target.service.store, await findGroupById(target.service.store, group.group.id))
    assert.deepEqual(await slugsIn(here, posts.id), await slugsIn(group.store, posts.id))

    await createObjects(group.store, posts, [{ value: { slug: 'new' } }], source.clock.now)
    const [other] = await createObjects(here, posts, [{ value: { slug: 'new' } }], target.clock.now)
    const before = await dumpOf(target.service.store)
    const folder = await exportOf(source, group.group.id)
    const problem = new RegExp(
      `slug must be unique, and the object ${other?.id}, which is not in the export, has the same`,
    )
    for (const isDryRun of [true, false]) await assert.rejects(importInto(target, folder, { isDryRun }), problem)
    assert.equal(await dumpOf(target.service.store), before)
  })

  it('of Markdown are compared when all pages are written', async (t) => {
    const { newGroup, run, service } = await terminal(engine)
    const group = await newGroup({ name: 'Shop' })
    const posts = await group.collection('Posts', { ...schema, title: { type: 'text', unique: true } })
    await group.add(posts, { value: { slug: 'a', title: 'A' } }, { value: { slug: 'b', title: 'B' } })
    const swapped = folderOf(t, { 'a.md': '---\ntitle: B\n---\n', 'b.md': '---\ntitle: A\n---\n' })
    await run('import', 'markdown', 'Shop', 'Posts', swapped)
    const titles = (await Array.fromAsync(iterateObjects(group.store, posts.id))).map(({ value }) => value.title)
    assert.deepEqual(titles, ['B', 'A'])
    const before = await dumpOf(service.store)
    const repeated = folderOf(t, { 'c.md': '---\ntitle: C\n---\n', 'd.md': '---\ntitle: C\n---\n' })
    await assert.rejects(run('import', 'markdown', 'Shop', 'Posts', repeated), /objectValue\.title must be unique/)
    assert.equal(await dumpOf(service.store), before)
  })
})
