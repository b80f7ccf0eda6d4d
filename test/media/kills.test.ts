import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { iterateMediaFiles, keysOfFile } from '../../src/store/media/files.ts'
import { iterateMediaItems } from '../../src/store/media/items.ts'
import { onBothEnginesInProve } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { type Librarian, librarian } from '../helpers/media.ts'
import { photo } from '../helpers/pictures.ts'
import { type ServerProcess, startServer } from '../helpers/process.ts'

/** `npm run prove -- media` sets more. */
const kills = Number(process.env.MEDIA_KILLS ?? 2)
const senders = 3
const dayMs = 86_400_000

interface Acknowledged {
  media: string[]
  objects: string[]
}

type Fetch = (path: string, body: object) => Promise<{ data: { _id: string; key: string; name: string; type: string } }>

/** Each sender uploads pictures one after another, each with an object that shows it, until the server is gone. */
async function sendUntilKilled(
  { baseUrl, output }: ServerProcess,
  { library, token, collectionId }: { library: Librarian; token: string; collectionId: string },
  nextPicture: () => Promise<Buffer>,
  acknowledged: Acknowledged,
): Promise<void> {
  const post: Fetch = async (path, body) => {
    const isForm = body instanceof FormData
    const headers = { authorization: `Bearer ${token}`, ...(!isForm && { 'content-type': 'application/json' }) }
    const answer = await fetch(`${baseUrl}/manage/groups/${library.group.groupId}${path}`, {
      method: 'POST',
      headers,
      body: isForm ? body : JSON.stringify(body),
    })
    const text = await answer.text()
    assert.equal(answer.status, 201, `${text}\n${output()}`)
    return JSON.parse(text)
  }
  try {
    for (;;) {
      const { data } = await post('/media', fileForm('photo.png', await nextPicture()))
      acknowledged.media.push(data._id)
      const objectValue = { photo: { name: data.name, key: data.key, type: data.type } }
      acknowledged.objects.push((await post(`/collections/${collectionId}/objects`, { objectValue })).data._id)
    }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error // a wrong answer
  }
}

/** Asserts: no item without its bytes, no picture without its derivatives, no object without its item. */
async function assertWhole(library: Librarian, collectionId: string, acknowledged: Acknowledged): Promise<void> {
  const { group, stored, service, does } = library
  const inBucket = new Set(await stored())
  const files = await Array.fromAsync(iterateMediaFiles(group.store))
  const missing = files.flatMap(keysOfFile).filter((key) => !inBucket.has(key))
  assert.deepEqual(missing, [], 'every referenced file exists')
  const media = await Array.fromAsync(iterateMediaItems(group.store))
  const rows = await group.store.database.read.selectFrom('media').select('id').execute()
  assert.equal(media.length, rows.length, 'every item has its file')
  const ids = new Set(media.map(({ id }) => id))
  assert.deepEqual(acknowledged.media.filter((id) => !ids.has(id)), []) // biome-ignore format: short
  const keys = new Set(media.map(({ key }) => key))
  const objects = new Set<string>()
  for (let skip = 0; ; skip += 100) {
    const { items } = await does('GET', `/collections/${collectionId}/objects?limit=100&skip=${skip}`)
    for (const { _id, objectValue } of items) {
      objects.add(_id)
      assert.ok(keys.has(objectValue.photo.key), 'every object references an existing item')
    }
    if (items.length === 0) break
  }
  assert.deepEqual(acknowledged.objects.filter((id) => !objects.has(id)), []) // biome-ignore format: short
  for (const { source } of (await does('GET', '/media?limit=20')).items.map((item: Shown) => item.currentFile)) {
    const answer = await service.app.inject(new URL(source).pathname + new URL(source).search)
    assert.equal(answer.statusCode, 200)
  }
}

interface Shown {
  currentFile: { source: string }
}

onBothEnginesInProve('kill -9 of a server that takes pictures in and makes smaller ones of them', (engine) => {
  it('leaves no item without its file, loses no job, and blocks nothing afterwards', async (context) => {
    const library = await librarian(engine)
    const { service, clock, group, config, does, newUser, traces, stored } = library
    clock.now = Date.now() // like the real server's
    const { token } = await newUser({ name: 'The sender' }, { [group.groupId]: 'editor' })
    const schema = { photo: { type: 'image' } }
    const { _id: collectionId } = await does('POST', '/collections', { name: 'Photos', schema })
    const env = { DATA_DIR: config.dataDir, DATABASE_URL: config.databaseUrl ?? '', MANAGE_RATE_LIMIT: '9999/9999' }
    const acknowledged: Acknowledged = { media: [], objects: [] }
    let made = 0
    const nextPicture = () => {
      made += 1
      return photo(200 + made, 150)
        .png({ compressionLevel: 0 })
        .toBuffer()
    }
    for (let round = 0; round < kills; round += 1) {
      const server = await startServer(env)
      const before = acknowledged.media.length
      const sending = Array.from({ length: senders }, () =>
        sendUntilKilled(server, { library, token, collectionId }, nextPicture, acknowledged),
      )
      const deadline = Date.now() + 60_000
      while (acknowledged.media.length < before + 4 && Date.now() < deadline) await sleep(1)
      await sleep((round * 137) % 700) // at a different point each time
      server.child.kill('SIGKILL')
      await once(server.child, 'close')
      await Promise.all(sending)
      assert.ok(acknowledged.media.length >= before + 4, server.output())
      await assertWhole(library, collectionId, acknowledged)
    }
    const { inbox } = await traces()

    clock.now = Date.now() + 600_000 // every lease of a killed process has expired
    await service.worker.runDue()
    await assertWhole(library, collectionId, acknowledged)
    const jobs = await group.store.database.read.selectFrom('jobs').select(['state', 'problem']).execute()
    const givenUp = jobs.filter(
      ({ state, problem }) => state === 'failed' && /^It was started \d times/.test(problem ?? ''),
    )
    const done = jobs.filter(({ state }) => state === 'done')
    assert.equal(done.length + givenUp.length, jobs.length, 'all work has finished')
    const files = await Array.fromAsync(iterateMediaFiles(group.store))
    assert.equal(jobs.length, files.length, 'each picture was processed')
    assert.equal(files.filter(({ derivatives }) => derivatives.length > 0).length, done.length)

    const spokenOf = new Set(files.flatMap(keysOfFile))
    const strays = (await stored()).filter((key) => !spokenOf.has(key))
    clock.now = Date.now() + 2 * dayMs
    assert.equal((await does('POST', '/media/sweep', { dryRun: false })).strays, strays.length)
    await service.media.inbox.tidy(clock.now)
    assert.deepEqual(await readdir(join(config.dataDir, 'inbox')), [], 'the remains of killed processes are removed')
    const { objects } = acknowledged // unused ones were swept too
    await assertWhole(library, collectionId, { media: [], objects })
    context.diagnostic(
      `${engine}: ${kills} kills, ${acknowledged.media.length} uploads acknowledged, ${files.length} stored, ` +
        `${strays.length} strays swept, ${inbox.length} files of the inbox removed`,
    )
  })
})
