import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Demo } from '../../src/demo/seed.ts'
import { changeObject } from '../../src/store/content/change-objects.ts'
import { findCollection } from '../../src/store/content/containers.ts'
import { iterateObjects } from '../../src/store/content/objects.ts'
import { listVersions } from '../../src/store/content/versions.ts'
import { findGroupById, listGroups, openContentOf, updateGroup } from '../../src/store/control/groups.ts'
import type { GroupStore } from '../../src/store/store.ts'
import { authoring, write } from '../helpers/authoring.ts'
import { createDemoDatabase } from '../helpers/demo.ts'
import {
  createHarness,
  type Harness,
  harness,
  localFolder,
  onBothEngines,
  type TestDatabase,
} from '../helpers/harness.ts'
import { deliveryOf, dumpOf, exportOf, importInto, newPath, readExport } from './exports.ts'

const options = { env: { PUBLIC_URL: 'https://content.example' } }
const monthsMs = 90 * 24 * 3600 * 1000

const contentOf = async ({ service }: Harness, groupId: string): Promise<GroupStore> =>
  openContentOf(service.store, await findGroupById(service.store, groupId))

/** Gives the first post of the demo a history, and returns its id. */
async function editPost(content: GroupStore, blogId: string, nowMs: number): Promise<string> {
  const [post] = await Array.fromAsync(iterateObjects(content, blogId))
  const blog = await findCollection(content, blogId)
  assert.ok(post && blog)
  let current = post
  for (const title of ['Second title', 'Third title']) {
    const value = { ...post.value, title }
    current = await write(content, nowMs, (writer) => changeObject(writer, blog, current, { value }, 'updated'))
  }
  return post.id
}

/** The original demo, its import on the other engine, and the import back from there. */
let demoDatabase: TestDatabase
let made: Harness
let moved: Harness
let returned: Harness
let groupId: string
let postId: string
const folder = newPath()

before(async () => {
  demoDatabase = await createDemoDatabase('sqlite')
  made = await createHarness('sqlite', { env: { ...options.env, ...demoDatabase.env } })
  moved = await createHarness('postgres', options)
  returned = await createHarness('sqlite', options)
  const { service, clock } = made
  const demo: Demo = JSON.parse(await readFile(join(demoDatabase.env.DATA_DIR, 'demo.json'), 'utf8'))
  groupId = demo.groupId
  for (const opened of [made, moved, returned]) opened.clock.now = Date.now() // the demo was created just now
  const group = await findGroupById(service.store, groupId)
  await updateGroup(service.store, group, { versionsKept: 7 }, authoring(clock.now))
  for (const { clock: each } of [made, moved, returned]) each.now += 60_000
  postId = await editPost(await contentOf(made, groupId), demo.collections.Blog ?? '', clock.now)
  await service.worker.runDue()
  await exportOf(made, groupId, folder)
  await importInto(moved, folder)
  await importInto(returned, await exportOf(moved, groupId))
})

after(async () => {
  for (const opened of [made, moved, returned]) await opened.close()
  await demoDatabase.remove()
})

describe('the demo', () => {
  const journeys = [
    ['from SQLite to PostgreSQL', () => moved],
    ['from PostgreSQL to SQLite', () => returned],
  ] as const
  for (const [journey, target] of journeys) {
    it(`answers every request byte for byte the same after an export and an import ${journey}`, async (context) => {
      const expected = await deliveryOf(made, groupId)
      const given = await deliveryOf(target(), groupId)
      assert.deepEqual([...given.keys()], [...expected.keys()])
      for (const [address, answer] of expected) {
        assert.match(answer, /^200 /, address)
        assert.equal(given.get(address), answer, address)
      }
      const all = [...given.values()].join()
      for (const part of ['srcset', 'avifSrcset', 'width', 'color', 'placeholder'])
        assert.ok(all.includes(`"${part}":`), `${part} is compared too`)
      const previews = [...expected.keys()].filter((name) => name.startsWith('preview'))
      assert.ok(previews.length >= 2, 'hidden objects are compared, too')
      context.diagnostic(`${expected.size} answers are the same, ${previews.length} previews among them`)
    })

    it(`keeps its versions, files and settings ${journey}`, async () => {
      const versions = await listVersions(await contentOf(made, groupId), postId)
      assert.equal(versions.length, 3)
      assert.deepEqual(await listVersions(await contentOf(target(), groupId), postId), versions)
      const [group] = await listGroups(target().service.store)
      const [original] = await listGroups(made.service.store)
      assert.deepEqual({ ...group, createdMs: 0 }, { ...original, createdMs: 0 })
      assert.equal(group?.versionsKept, 7)
      const pathsOf = async ({ service }: Harness) =>
        (await Array.fromAsync(service.media.storage.list('media', groupId))).map(({ key }) =>
          join(localFolder(service, 'media'), key),
        )
      const files = await pathsOf(target())
      assert.ok(files.filter((path) => path.endsWith('w.webp')).length >= 28, 'derivatives, too')
      for (const [position, path] of (await pathsOf(made)).entries())
        assert.ok((await readFile(path)).equals(await readFile(files[position] ?? '')), path)
    })
  }

  it('is the same file when it is exported again after its import', async () => {
    assert.deepEqual(readExport(await exportOf(returned, groupId)), readExport(folder))
  })

  it('is exported without keys, tokens, preview links, users and audit records', async () => {
    assert.deepEqual([...new Set(readExport(folder).map(({ type }) => type))].sort(), [
      'collection',
      'end',
      'integration',
      'libraryItem',
      'media',
      'object',
      'site',
      'sluice-export',
      'version',
    ])
    const text = await readFile(join(folder, 'group.ndjson'), 'utf8')
    assert.deepEqual(text.match(/slc_\w+|secret\w*":|hash":|Demo administrator/g), null)
  })
})

onBothEngines('an import', (engine) => {
  it('changes nothing the second time: no row, no version, no record, no revision', async () => {
    const target = await harness(engine)
    await importInto(target, folder)
    const dump = await dumpOf(target.service.store)
    target.clock.now += monthsMs // scheduled objects are due
    const report = await importInto(target, folder)
    assert.equal(report.isNew, false)
    assert.deepEqual(report.tally.objects, { added: 0, changed: 0, equal: 44 })
    assert.deepEqual(report.tally.libraryItems, { added: 0, changed: 0, equal: 28 })
    assert.deepEqual([report.tally.media.added, report.tally.media.changed], [0, 0])
    assert.equal(await dumpOf(target.service.store), dump)
  })

  it('changes nothing in its source', async () => {
    const source = engine === 'sqlite' ? made : moved
    const dump = await dumpOf(source.service.store)
    await importInto(source, folder)
    assert.equal(await dumpOf(source.service.store), dump)
  })

  it('as a dry run writes nothing, creates no database, and reports what the import would do', async () => {
    const target = await harness(engine)
    const { service, config } = target
    const location = { database: 'elsewhere', bucketName: 'pictures' }
    const dry = await importInto(target, folder, { ...location, isDryRun: true })
    assert.deepEqual(await listGroups(service.store), [])
    assert.equal(existsSync(localFolder(service, 'pictures')), false)
    assert.equal(existsSync(join(config.dataDir, 'databases', 'elsewhere.sqlite')), false)
    assert.deepEqual(await importInto(target, folder, location), dry)
    const [group] = await listGroups(service.store)
    assert.deepEqual([group?.database, group?.bucketName], ['elsewhere', 'pictures'])
    await assert.rejects(
      importInto(target, folder, { database: 'main' }),
      /already exists, in the database "elsewhere"/,
    )
  })
})
