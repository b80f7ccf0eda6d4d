import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sweepMedia } from '../../src/media/sweep.ts'
import { findPendingJobs } from '../../src/store/jobs/jobs.ts'
import { deleteMedia, readMediaRevision, updateMedia } from '../../src/store/media/items.ts'
import { write } from '../helpers/authoring.ts'
import { type Harness, harness, onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { smallPicture } from '../helpers/pictures.ts'
import { s3Credentials, startS3Server } from '../helpers/s3-server.ts'
import { deliveryOf, dumpOf, exportOf, importInto, newPath, readExport } from './exports.ts'
import { contentOf, findItem, keysIn, libraryOf, replace, upload } from './library.ts'

const dayMs = 24 * 3600 * 1000
const options = { env: { PUBLIC_URL: 'https://content.example' } }

/** A group with an object that shows a picture and a text, on two services. */
async function twins(engine: TestEngine, env: Record<string, string> = {}) {
  const source = await harness(engine, options)
  const group = await source.newGroup({ name: 'Shop' })
  const { id } = group.group
  const picture = await upload(source, id, 'bread.png', await smallPicture('png'))
  const recipe = await upload(source, id, 'recipe.txt', 'flour and water')
  const posts = await group.collection('Posts', { picture: { type: 'image' }, recipe: { type: 'file' } })
  const shown = ({ name, key, type }: typeof picture) => ({ name, key, type })
  await group.add(posts, { value: { picture: shown(picture), recipe: shown(recipe) } })
  await source.service.worker.runDue()
  const target = await harness(engine, { env: { ...options.env, ...env } })
  await importInto(target, await exportOf(source, id))
  const pass = (ms: number): void => {
    for (const { clock } of [source, target]) clock.now += ms
  }
  pass(1000)
  return { source, target, id, picture, recipe, pass }
}

const sync = async (from: Harness, to: Harness, id: string) => importInto(to, await exportOf(from, id))

async function assertSame(one: Harness, other: Harness, id: string): Promise<void> {
  assert.deepEqual([...(await deliveryOf(one, id))], [...(await deliveryOf(other, id))])
}

const pendingPayloads = async (of: Harness, id: string, kind: string) =>
  (await findPendingJobs((await libraryOf(of, id)).group, kind)).map(({ payload }) => payload)

onBothEnginesInProve('an import of a media library', (engine) => {
  it('delivers the same sizes, colors, placeholders and derivatives', async () => {
    const { source, target, id, picture } = await twins(engine)
    await assertSame(source, target, id)
    assert.deepEqual(await findItem(target, id, picture.key), await findItem(source, id, picture.key))
    assert.match([...(await deliveryOf(target, id)).values()].join(), /"width":40,"height":30,"color":"#[0-9a-f]{6}"/)
  })

  it('applies renames and replacements, and removes the old file when its URLs have expired', async () => {
    const { source, target, id, picture, recipe, pass } = await twins(engine)
    const { group } = await libraryOf(source, id)
    const item = await findItem(source, id, picture.key)
    assert.ok(item)
    await write(group, source.clock.now, (writer) => updateMedia(writer, item, { name: 'loaf.png' }))
    await replace(source, id, recipe, 'flour, water and salt')
    const revision = await readMediaRevision((await libraryOf(target, id)).group)
    const folder = await exportOf(source, id)
    const { tally } = await importInto(target, folder)
    assert.deepEqual(tally.libraryItems, { added: 0, changed: 2, equal: 0 })
    assert.equal((await findItem(target, id, picture.key))?.name, 'loaf.png')
    assert.equal(await contentOf(target, id, recipe.key), 'flour, water and salt')
    assert.equal(await readMediaRevision((await libraryOf(target, id)).group), revision + 1)
    await assertSame(source, target, id)
    const dump = await dumpOf(target.service.store)
    assert.deepEqual((await importInto(target, folder)).tally.libraryItems, { added: 0, changed: 0, equal: 2 })
    assert.equal(await dumpOf(target.service.store), dump)
    await target.service.worker.runDue()
    assert.ok((await keysIn(target, id)).includes(recipe.file.key), 'addresses that are out still work')
    pass(dayMs)
    await target.service.worker.runDue()
    assert.equal((await keysIn(target, id)).includes(recipe.file.key), false)
  })

  it('restores a file that was replaced here and is waiting for removal', async () => {
    const { target, source, id, recipe, pass } = await twins(engine)
    const former = await exportOf(source, id)
    await replace(target, id, recipe, 'a mistake')
    const [removal] = await pendingPayloads(target, id, 'media.remove')
    assert.deepEqual((removal as { keys: string[] }).keys, [recipe.file.key])
    await importInto(target, former)
    assert.equal(await contentOf(target, id, recipe.key), 'flour and water')
    pass(3 * dayMs)
    await target.service.worker.runDue()
    assert.equal(await contentOf(target, id, recipe.key), 'flour and water')
    await assertSame(source, target, id)
  })

  it('is refused before the first write while one of its files is being removed', async () => {
    const { target, source, id, recipe } = await twins(engine)
    await replace(target, id, recipe, 'a mistake')
    const { database } = (await libraryOf(target, id)).group
    await database.write((db) =>
      db.updateTable('jobs').set({ state: 'running' }).where('kind', '=', 'media.remove').execute(),
    )
    const dump = await dumpOf(target.service.store)
    await assert.rejects(sync(source, target, id), /is just being removed.+run the command again/)
    assert.equal(await dumpOf(target.service.store), dump)
  })

  it('restores files deleted here, and leaves additional ones', async () => {
    const { source, target, id, recipe } = await twins(engine)
    const { group } = await libraryOf(target, id)
    const item = await findItem(target, id, recipe.key)
    assert.ok(item)
    await write(group, target.clock.now, (writer) => deleteMedia(writer, item))
    const mine = await upload(target, id, 'mine.txt', 'mine')
    const report = await sync(source, target, id)
    assert.deepEqual(report.tally.libraryItems, { added: 1, changed: 0, equal: 1 })
    assert.deepEqual(report.onlyHere, { sites: 0, containers: 0, objects: 0, libraryItems: 1, orders: 0 })
    assert.equal(await contentOf(target, id, recipe.key), 'flour and water')
    assert.equal(await contentOf(target, id, mine.key), 'mine')
  })

  it('recognises the same bytes under another id, and stores them once', async () => {
    const { source, target, id } = await twins(engine)
    const here = await upload(target, id, 'menu.txt', 'soup')
    const there = await upload(source, id, 'menu.txt', 'soup')
    const folder = await exportOf(source, id)
    await importInto(target, folder)
    const both = [await findItem(target, id, here.key), await findItem(target, id, there.key)]
    assert.deepEqual(new Set(both.map((item) => item?.file.id)), new Set([here.file.id]))
    assert.equal(await contentOf(target, id, there.key), 'soup')
    assert.equal((await importInto(target, folder)).tally.libraryItems.equal, 3)
  })

  it('queues unprocessed pictures, also after an interrupted import', async () => {
    const { source, target, id } = await twins(engine)
    const fresh = await upload(source, id, 'fresh.jpg', await smallPicture('jpeg'))
    const folder = await exportOf(source, id)
    await importInto(target, folder)
    assert.deepEqual(await pendingPayloads(target, id, 'media.derive'), [{ fileId: fresh.file.id }])
    const { database } = (await libraryOf(target, id)).group
    await database.write((db) => db.deleteFrom('jobs').execute())
    await importInto(target, folder)
    assert.deepEqual(await pendingPayloads(target, id, 'media.derive'), [{ fileId: fresh.file.id }])
    await target.service.worker.runDue()
    await source.service.worker.runDue()
    await assertSame(source, target, id)
    const dump = await dumpOf(target.service.store)
    await importInto(target, folder) // which has less information than the target
    assert.equal(await dumpOf(target.service.store), dump)
  })

  it('is refused before the first write if a key or an id belongs to another file here', async () => {
    const { source, target, id, recipe } = await twins(engine)
    const { database } = (await libraryOf(target, id)).group
    const change = async (table: 'media' | 'media_files', columns: object, where: string): Promise<void> => {
      await database.write((db) => db.updateTable(table).set(columns).where('id', '=', where).execute())
    }
    const refusals: [damage: () => Promise<void>, repair: () => Promise<void>, message: RegExp][] = [
      [
        () => change('media', { type: 'video' }, recipe.id),
        () => change('media', { type: 'file' }, recipe.id),
        /has the type video here, which an import cannot change/,
      ],
      [
        () => change('media', { key: `${id}/other.txt` }, recipe.id),
        () => change('media', { key: recipe.key }, recipe.id),
        /the id \w{24} is that of the file "\w{24}\/other.txt" here/,
      ],
      [
        () => change('media_files', { sha256: '0'.repeat(64) }, recipe.file.id),
        () => change('media_files', { sha256: recipe.file.sha256 }, recipe.file.id),
        /the file "[^"]+recipe.txt" has other bytes here; delete it from the library, or replace it there/,
      ],
    ]
    const folder = await exportOf(source, id)
    for (const [damage, repair, message] of refusals) {
      await damage()
      const dump = await dumpOf(target.service.store)
      await assert.rejects(importInto(target, folder), message)
      assert.equal(await dumpOf(target.service.store), dump)
      await repair()
    }
    assert.equal((await importInto(target, folder)).tally.libraryItems.equal, 2)
  })

  it('is refused if another group of the database has one of its ids', async () => {
    const { source, target, id } = await twins(engine)
    const folder = await exportOf(source, id)
    const other = await target.newGroup({ name: 'Other' })
    await other.store.database.write(async (db) => {
      await db.deleteFrom('objects').execute()
      await db.deleteFrom('containers').execute()
      for (const table of ['media', 'media_files'] as const)
        await db.updateTable(table).set({ group_id: other.group.id }).execute()
    })
    await target.service.store.control.write((db) => db.deleteFrom('groups').where('id', '=', id).execute())
    await assert.rejects(importInto(target, folder), /line 4: the id \w+ is that of another group in this database/)
  })
})

describe('an import of a media library', () => {
  it('stores files in an S3 store, and is exported from there unchanged', async () => {
    const server = await startS3Server(['media'])
    after(() => server.stop())
    const env = {
      MEDIA_URL: server.mediaUrl,
      MEDIA_ACCESS_KEY_ID: s3Credentials.accessKeyId,
      MEDIA_SECRET_ACCESS_KEY: s3Credentials.secretAccessKey,
    }
    const { source, target, id, recipe } = await twins('sqlite', env)
    assert.deepEqual(await keysIn(target, id), await keysIn(source, id))
    assert.equal(await contentOf(target, id, recipe.key), 'flour and water')
    const folder = await exportOf(source, id)
    assert.deepEqual((await importInto(target, folder)).tally.media.equal, (await keysIn(source, id)).length)
    const ofLines = (path: string) => readExport(path).slice(1, -1)
    assert.deepEqual(ofLines(await exportOf(target, id, newPath())), ofLines(folder))
  })

  it('leaves nothing that a sweep would remove as unused', async () => {
    const { target, id, pass } = await twins('sqlite')
    pass(Date.now() + 2 * dayMs)
    assert.deepEqual(await sweepMedia(await libraryOf(target, id), { dryRun: true }), {
      dryRun: true,
      items: 0,
      strays: 0,
      uploads: 0,
      bytes: 0,
      removed: [],
    })
  })
})
