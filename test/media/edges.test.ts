import assert from 'node:assert/strict'
import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { it } from 'node:test'
import { addMedia } from '../../src/media/library.ts'
import { leaseMs } from '../../src/store/jobs/claim-jobs.ts'
import { findJob, insertJob } from '../../src/store/jobs/jobs.ts'
import { authoring, write } from '../helpers/authoring.ts'
import { assertRefused, type Data } from '../helpers/editing.ts'
import { harness, localFolder, onBothEngines, testStartMs } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { librarian } from '../helpers/media.ts'
import { photo, smallPicture } from '../helpers/pictures.ts'

const dayMs = 86_400_000

onBothEngines('a file of the library', (engine) => {
  it('that was lost from the bucket is restored with its derivatives when it is uploaded again', async () => {
    const { add, stored, service, config, group } = await librarian(engine)
    const picture = await smallPicture('png')
    const first = await add('bun.png', picture)
    await service.worker.runDue()
    const before = await stored()
    assert.equal(before.length, 3)
    await rm(join(localFolder(service, group.group.bucketName), group.groupId), { recursive: true })
    assert.deepEqual(await stored(), [])
    assert.equal((await add('bun.png', picture))._id, first._id)
    await service.worker.runDue()
    assert.deepEqual(await stored(), before)
    assert.deepEqual(await readdir(join(config.dataDir, 'inbox')), [])
  })

  it('has derivatives with unique keys, however its key and those of others were chosen', async () => {
    const { does, add, stored, service, group } = await librarian(engine)
    const { database, groupId } = group.store
    const [png, jpeg] = [await add('a.png', await smallPicture('png')), await add('a.jpg', await smallPicture('jpeg'))]
    // As from an old export: the keys differ only in their extensions.
    for (const [media, ending] of [
      [png, 'png'],
      [jpeg, 'jpg'],
    ] as const) {
      // biome-ignore format: short
      const { file_id } = await database.read
        .selectFrom('media')
        .select('file_id')
        .where('id', '=', media._id)
        .executeTakeFirstOrThrow()
      const key = `${groupId}/by-hand/a.${ending}`
      await service.media.storage.write('media', key, await smallPicture(ending === 'png' ? 'png' : 'jpeg'))
      await database.write((db) => db.updateTable('media_files').set({ key }).where('id', '=', file_id).execute())
    }
    await service.worker.runDue()
    const shown = await Promise.all([png, jpeg].map(({ _id }: Data) => does('GET', `/media/${_id}`)))
    const addresses = shown.flatMap(({ currentFile }) => `${currentFile.srcset}, ${currentFile.avifSrcset}`.split(', '))
    assert.equal(new Set(addresses).size, 4)
    assert.equal((await stored()).filter((key) => /\.(webp|avif)$/.test(key)).length, 4)
  })

  it('is not removed by a job queued before it was restored', async () => {
    const { add, stored, service, group, clock } = await librarian(engine)
    await add('note.txt', 'a note')
    const keys = await stored()
    await write(group.store, clock.now, (writer) => insertJob(writer, { kind: 'media.remove', payload: { keys } }))
    await service.worker.runDue()
    assert.deepEqual(await stored(), keys)
  })

  it('that was uploaded again today is not swept, although it is old and unused', async () => {
    const { add, does, clock } = await librarian(engine)
    const first = await add('note.txt', 'a note')
    clock.now += 30 * dayMs
    await add('note.txt', 'a note')
    assert.equal((await does('POST', '/media/sweep', {})).items, 0)
    assert.equal((await does('GET', `/media/${first._id}`))._id, first._id)
    clock.now += 2 * dayMs
    assert.equal((await does('POST', '/media/sweep', {})).items, 1)
  })

  it('reports why it has no derivatives when every process that started them has died', async () => {
    const { add, does, service, group, clock } = await librarian(engine)
    const picture = await add('bun.png', await smallPicture('png'))
    const { database } = group.store
    const died = { state: 'running', attempts: 3, worker: 'dead', due_ms: clock.now + leaseMs }
    await database.write((db) => db.updateTable('jobs').set(died).execute())
    clock.now += leaseMs
    await service.worker.runDue()
    assert.match((await does('GET', `/media/${picture._id}`)).problem, /started 3 times/)
    const [job] = (await does('GET', '/jobs?state=failed')).items
    assert.equal(job.kind, 'media.derive')
  })

  it('that is damaged fails its job and records the problem, in one transaction', async () => {
    const { add, does, service, group } = await librarian(engine)
    const picture = await add('bun.jpg', (await photo(400, 300).jpeg().toBuffer()).subarray(0, 4000))
    await service.worker.runDue()
    const { problem } = await does('GET', `/media/${picture._id}`)
    assert.match(problem, /damaged/)
    const [job] = (await does('GET', '/jobs')).items
    assert.deepEqual([job.state, job.problem], ['failed', problem])
    assert.equal((await findJob(group.store, job._id))?.attempts, 1)
  })

  it('is stored although its clean-up fails; the next sweep removes the rest', async () => {
    const { group, service, clock } = await librarian(engine)
    const { media } = service
    const remove = media.storage.remove
    media.storage.remove = async () => {
      throw new Error('the store is unreachable')
    }
    const upload = async () => {
      const library = {
        group: group.store,
        bucketName: 'media',
        storage: media.storage,
        authoring: authoring(clock.now),
      }
      const content = Readable.from(['a note'])
      return media.inbox.receive({ name: 'note.txt', content }, 1000, (received) =>
        addMedia(library, received, 'note.txt'),
      )
    }
    const stored = await Promise.all(Array.from({ length: 5 }, upload))
    media.storage.remove = remove
    assert.equal(new Set(stored.map(({ id }) => id)).size, 1)
  })

  it('that arrives after its group was deleted recreates nothing', async () => {
    const { group, service, clock, ask, stored, traces } = await librarian(engine)
    const { media } = service
    const library = { group: group.store, bucketName: 'media', storage: media.storage, authoring: authoring(clock.now) }
    const upload = { name: 'note.txt', content: Readable.from(['a note']) }
    const late = media.inbox.receive(upload, 1000, async (received) => {
      await ask('POST', `/manage/groups/${group.groupId}/delete`, { confirm: group.group.name })
      return addMedia(library, received, 'note.txt')
    })
    await assert.rejects(late, /being deleted/)
    assert.deepEqual([await stored(), (await traces()).media, (await traces()).files], [[], 0, 0])
  })

  it('whose derivatives are ready after its group was deleted leaves none of them', async () => {
    const { group, service, add, ask, stored } = await librarian(engine)
    await add('bun.png', await smallPicture('png'))
    const { media } = service
    const { write: store } = media.storage
    media.storage.write = async (...file) => {
      media.storage.write = store
      await ask('POST', `/manage/groups/${group.groupId}/delete`, { confirm: group.group.name })
      await store(...file)
    }
    await service.worker.runDue()
    assert.deepEqual(await stored(), [])
  })

  it('is omitted without an error when an old text refers to a file of no group', async () => {
    const { group, delivered, does } = await librarian(engine)
    const posts = await does('POST', '/collections', { name: 'Posts', schema: { text: { type: 'longText' } } })
    const post = await does('POST', `/collections/${posts._id}/objects`, { objectValue: { text: 'a' } })
    const text = '<a href="media:kit.pdf">the kit</a>'
    const value = JSON.stringify({ text })
    await group.store.database.write((db) =>
      db.updateTable('objects').set({ value }).where('id', '=', post._id).execute(),
    )
    assert.equal((await delivered(posts._id))[0].objectValue.text, text)
  })

  it('with the same bytes as another one remains the one in a text when an editor saves the text', async () => {
    const { add, does, delivered } = await librarian(engine)
    const picture = await smallPicture('png')
    const [first, second] = [await add('first.png', picture), await add('second.png', picture)]
    const posts = await does('POST', '/collections', { name: 'Posts', schema: { text: { type: 'longText' } } })
    const text = `<img src="media:${second.key}">`
    const post = await does('POST', `/collections/${posts._id}/objects`, { objectValue: { text } })
    const [{ objectValue }] = await delivered(posts._id)
    assert.match(objectValue.text, /signature=/)
    const again = { version: 1, objectValue: { text: objectValue.text } }
    const after = await does('PUT', `/objects/${post._id}`, again)
    assert.deepEqual([after.objectValue.text, after.version], [text, 1])
    const fresh = await does('POST', `/collections/${posts._id}/objects`, { objectValue: { text: objectValue.text } })
    assert.equal(fresh.objectValue.text, `<img src="media:${first.key}">`)
  })

  it('is the only part of its form: other parts belong in the query string, and are refused', async () => {
    const { send, traces } = await librarian(engine)
    const form = fileForm('note.txt', 'a note')
    const named = new FormData()
    named.set('name', 'another.txt')
    named.set('file', form.get('file') as File)
    assertRefused(await send('POST', '/media', named), 400, /"name" belongs in the query string/)
    assert.equal((await traces()).media, 0)
  })
})

it('temporary files of a killed process are removed at the next start, recent ones are not', async () => {
  const { service, clock } = await harness('sqlite')
  const drafts = join(localFolder(service, 'media'), '.drafts')
  await mkdir(drafts, { recursive: true })
  for (const [name, ageMs] of [
    ['old', 2 * dayMs],
    ['young', 1000],
  ] as const) {
    // biome-ignore format: short
    await writeFile(join(drafts, name), 'half a file')
    await utimes(join(drafts, name), new Date(testStartMs - ageMs), new Date(testStartMs - ageMs))
  }
  assert.equal(clock.now, testStartMs)
  await service.listen()
  assert.deepEqual(await readdir(drafts), ['young'])
})
