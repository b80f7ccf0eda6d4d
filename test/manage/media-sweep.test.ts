import assert from 'node:assert/strict'
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { UnfinishedUploadsUnavailable } from '../../src/media/storage.ts'
import { assertRefused, type Data } from '../helpers/editing.ts'
import { localFolder, onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { type Librarian, librarian } from '../helpers/media.ts'
import { photo, smallPicture } from '../helpers/pictures.ts'

const dayMs = 86_400_000
const mediaValue = ({ name, key, type }: Data) => ({ name, key, type })

/** Advances the clock by a day, also for the modification times of the bucket's files. */
async function waitDays({ clock, service, group, stored }: Librarian, days: number): Promise<void> {
  const folder = localFolder(service, group.group.bucketName)
  for (const key of await stored()) await utimes(join(folder, key), clock.now / 1000, clock.now / 1000)
  clock.now += days * dayMs
}

/** Adds a file to the bucket without an item. */
async function stray({ service, group, clock }: Librarian, name: string, ageMs: number): Promise<string> {
  const key = `${group.groupId}/${name}`
  await service.media.storage.write(group.group.bucketName, key, Buffer.from('stray'))
  const seconds = (clock.now - ageMs) / 1000
  await utimes(join(localFolder(service, group.group.bucketName), key), seconds, seconds)
  return key
}

async function withPosts(engine: TestEngine) {
  const created = await librarian(engine)
  const schema = { file: { type: 'file' }, text: { type: 'longText' } }
  const posts = await created.does('POST', '/collections', { name: 'Posts', schema })
  return {
    ...created,
    post: (objectValue: object): Promise<Data> =>
      created.does('POST', `/collections/${posts._id}/objects`, { objectValue }),
    sweep: (dryRun = false): Promise<Data> => created.does('POST', '/media/sweep', { dryRun }),
    namesLeft: async () => (await created.does('GET', '/media')).items.map(({ name }: Data) => name).toSorted(),
  }
}

onBothEngines('a sweep', (engine) => {
  it('removes unused items with their bytes, and lists them', async () => {
    const created = await withPosts(engine)
    const { add, post, sweep, namesLeft, does, service, stored } = created
    const [shown, referred, onSite] = [await add('a.txt', 'A'), await add('b.txt', 'B'), await add('c.txt', 'C')]
    const unused = await add('bun.png', await smallPicture('png'))
    await post({ file: mediaValue(shown), text: `<a href="media:${referred.key}">x</a>` })
    await does('POST', '/sites', { name: 'S', settings: { parts: [mediaValue(onSite)] } })
    await service.worker.runDue()
    assert.equal((await stored()).length, 6)
    await waitDays(created, 2)
    const removed = [{ key: unused.key, name: 'bun.png', bytes: unused.bytes }]
    const swept = { items: 1, strays: 0, uploads: 0, bytes: unused.bytes, removed }
    assert.deepEqual(await sweep(true), { dryRun: true, ...swept })
    assert.deepEqual(await namesLeft(), ['a.txt', 'b.txt', 'bun.png', 'c.txt'])
    assert.equal((await stored()).length, 6)
    assert.deepEqual(await sweep(), { dryRun: false, ...swept })
    assert.deepEqual(await namesLeft(), ['a.txt', 'b.txt', 'c.txt'])
    await service.worker.runDue()
    assert.equal((await stored()).length, 3)
    assert.deepEqual(await sweep(), { dryRun: false, items: 0, strays: 0, uploads: 0, bytes: 0, removed: [] })
  })

  it('leaves anything younger than a day', async () => {
    const created = await withPosts(engine)
    const { add, sweep, namesLeft, clock } = created
    await add('old.txt', 'old')
    clock.now += dayMs - 1
    await add('young.txt', 'young')
    const strays = [await stray(created, 'young.bin', dayMs - 1000), await stray(created, 'old.bin', dayMs + 1000)]
    assert.equal((await sweep()).items, 0)
    clock.now += 2
    const { removed } = await sweep()
    assert.deepEqual(removed.map(({ key }: Data) => key.split('-').at(-1)), ['old.txt']) // biome-ignore format: short
    assert.deepEqual(await namesLeft(), ['young.txt'])
    assert.ok((await created.stored()).includes(strays[0] ?? ''))
    assert.ok(!(await created.stored()).includes(strays[1] ?? ''))
  })

  it('leaves what a former version uses, since it can be restored', async () => {
    const created = await withPosts(engine)
    const { add, post, does, sweep, namesLeft } = created
    const [field, text] = [await add('field.txt', 'F'), await add('text.txt', 'T')]
    const { _id } = await post({ file: mediaValue(field), text: `<a href="media:${text.key}">x</a>` })
    await does('PUT', `/objects/${_id}`, { version: 1, objectValue: {} })
    await waitDays(created, 3)
    assert.equal((await sweep()).items, 0)
    assert.deepEqual(await namesLeft(), ['field.txt', 'text.txt'])
    await does('POST', `/objects/${_id}/versions/1/restore`, { version: 2 })
    await does('DELETE', `/objects/${_id}`)
    assert.equal((await sweep()).items, 2)
  })

  it('removes files in the bucket that belong to no item, and nothing of another group', async () => {
    const created = await withPosts(engine)
    const { add, post, sweep, stored, newManagedGroup, ask, service, group } = created
    const picture = await add('bun.png', await smallPicture('png'))
    await service.worker.runDue()
    await post({ text: `<img src="media:${picture.key}">` })
    const other = await newManagedGroup()
    const theirs = await ask('POST', `/manage/groups/${other.groupId}/media`, fileForm('x.txt', 'x'))
    await waitDays(created, 2)
    const kept = await stored()
    const id = 'a'.repeat(24)
    const names = [`2026/03/${id}-left.png`, `2026/03/${id}-left-320w.webp`, 'by-hand/old.png', 'old.png']
    const strays = await Promise.all(names.map((name) => stray(created, name, 2 * dayMs)))
    const planned = await sweep(true)
    assert.deepEqual([planned.items, planned.strays, planned.bytes], [0, 4, 20])
    assert.deepEqual(planned.removed.map(({ key }: Data) => key).toSorted(), strays.toSorted())
    assert.equal((await stored()).length, kept.length + 4)
    assert.deepEqual(await sweep(), { ...planned, dryRun: false })
    assert.deepEqual(await stored(), kept)
    const files = await Array.fromAsync(service.media.storage.list(group.group.bucketName, other.groupId))
    assert.equal(files.length, 1)
    assert.deepEqual(await ask('GET', `/manage/groups/${other.groupId}/media/${theirs._id}`).then(({ key }) => key), theirs.key) // biome-ignore format: short
  })

  it('removes files of any name that other programs have put into the folder', async () => {
    const created = await withPosts(engine)
    const { sweep, stored, service, group, clock } = created
    const folder = join(localFolder(service, group.group.bucketName), group.groupId)
    const names = ['bread & butter.png', '<draft>.txt', 'a"b;c']
    await mkdir(folder, { recursive: true })
    for (const name of names) {
      await writeFile(join(folder, name), 'stray')
      await utimes(join(folder, name), (clock.now - 2 * dayMs) / 1000, (clock.now - 2 * dayMs) / 1000)
    }
    const { strays, removed } = await sweep()
    assert.equal(strays, names.length)
    assert.deepEqual(removed.map(({ key }: Data) => key).toSorted(), names.map((name) => `${group.groupId}/${name}`).toSorted()) // biome-ignore format: short
    assert.deepEqual(await stored(), [])
  })

  it('aborts multipart uploads started more than a day ago', async () => {
    const { service, group, clock, sweep } = await withPosts(engine)
    const { storage } = service.media
    const begun = [2, 0.5].map((days) => ({
      key: `${group.groupId}/film.mp4`,
      uploadId: `begun ${days} days ago`,
      startedMs: clock.now - days * dayMs,
    }))
    const aborted: string[] = []
    storage.listUnfinished = async function* () {
      yield* begun
    }
    storage.removeUnfinished = async (_, { uploadId }) => void aborted.push(uploadId)
    assert.equal((await sweep(true)).uploads, 1)
    assert.deepEqual(aborted, [])
    assert.equal((await sweep()).uploads, 1)
    assert.deepEqual(aborted, ['begun 2 days ago'])
    // biome-ignore lint/correctness/useYield: it fails before
    storage.listUnfinished = async function* () {
      throw new UnfinishedUploadsUnavailable('The store does not list them.')
    }
    assert.equal((await sweep()).uploads, null)
  })

  it('runs once at a time in a group: a second one is refused until the first has ended', async () => {
    const { service, group, call, does } = await withPosts(engine)
    const { storage } = service.media
    const begun = Promise.withResolvers<void>()
    const mayEnd = Promise.withResolvers<void>()
    // biome-ignore lint/correctness/useYield: there is none
    storage.listUnfinished = async function* () {
      begun.resolve()
      await mayEnd.promise
    }
    const path = `/manage/groups/${group.groupId}/media/sweep`
    const first = call('POST', path, {})
    await begun.promise
    const second = await call('POST', path, {})
    mayEnd.resolve()
    assertRefused(second, 429, /already running for the group/)
    assert.equal(second.headers['retry-after'], '5')
    assert.equal((await first).statusCode, 200)
    assert.equal((await does('POST', '/media/sweep', {})).items, 0)
  })

  it('leaves files that were added by hand and are in use', async () => {
    const created = await withPosts(engine)
    const { sweep, stored, group } = created
    const key = await stray(created, 'by-hand/photo.png', 9 * dayMs)
    const posts = await group.collection('Old', { photo: { type: 'image' } })
    await group.add(posts, { value: { photo: { name: 'photo', key, type: 'image' } } })
    assert.equal((await sweep()).strays, 0)
    assert.deepEqual(await stored(), [key])
  })

  it('leaves a replaced file whose URLs are still valid', async () => {
    const created = await withPosts(engine)
    const { add, post, does, sweep, stored, service } = created
    const picture = await add('bun.png', await smallPicture('png'))
    await post({ text: `<img src="media:${picture.key}">` })
    await service.worker.runDue()
    await waitDays(created, 3)
    await does('PUT', `/media/${picture._id}/file`, fileForm('x.png', await photo(50, 50).png().toBuffer()))
    assert.deepEqual((await sweep()).removed, [])
    assert.equal((await stored()).length, 4)
    await service.worker.runDue()
    assert.equal((await stored()).length, 6)
  })

  it('is for owners', async () => {
    const { send, group } = await librarian(engine)
    assertRefused(await send('POST', '/media/sweep', {}, group.tokens.editor), 403, /needs the role owner/)
  })
})
