import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { readDatabaseBytes, readMediaBytes } from '../../src/store/content/usage.ts'
import { assertRefused, type Data, editing, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { assertUsageIsRight } from '../helpers/usage.ts'

const schema = { title: { type: 'text' }, body: { type: 'longText' }, email: { type: 'text', private: true } }
const env = {
  DATABASE_QUOTAS: 'free=200KB,basic=2GB,pro=10GB,proplus=50GB',
  MEDIA_QUOTAS: 'free=100KB,basic=20GB,pro=100GB,proplus=500GB',
}
const quotaBytes = 200 * 1024
const mediaQuotaBytes = 100 * 1024
const long = (length: number): string => 'x'.repeat(length)

async function withQuota(engine: TestEngine, more: Record<string, string> = {}) {
  const created = await editing(engine, { env: { ...env, ...more } })
  const { does, send, group } = created
  const posts = await does('POST', '/collections', { name: 'Posts', schema, accepts: ['createReview'] })
  const path = `/collections/${posts._id}/objects`
  return {
    ...created,
    posts,
    path,
    create: (bytes: number) => send('POST', path, { objectValue: { title: 'a', body: long(bytes) } }),
    upload: (name: string, bytes: number) => send('POST', '/media', fileForm(`${name}.txt`, name.padEnd(bytes, '.'))),
    usage: async (): Promise<Data> => (await does('GET', '')).usage,
    used: () => readDatabaseBytes(group.store),
  }
}

const isOverQuota = (answer: LightMyRequestResponse, message: RegExp): void => {
  assertRefused(answer, 413, message)
  assert.equal(answer.json().code, 'QuotaExceeded')
}

onBothEngines('a group over its storage quota', (engine) => {
  it('gets the name of the quota, the usage and advice, and nothing is stored', async () => {
    const { create, group, used } = await withQuota(engine)
    assert.equal((await create(45_000)).statusCode, 201)
    const before = await everythingIn(group.store)
    isOverQuota(
      await create(30_000),
      /would have 0\.\d+ MB in the database, of 0\.2 MB that its tier allows; it has 0\.\d+ MB\. Nothing was stored\. Delete/,
    )
    assert.deepEqual(await everythingIn(group.store), before)
    assert.ok((await used()) <= quotaBytes)
    await assertUsageIsRight(group.store)
  })

  it('is also limited by versions: saving the same object again and again ends', async () => {
    const { create, send, group, used } = await withQuota(engine)
    const { _id } = (await create(10_000)).json().data
    const save = (version: number) =>
      send('PUT', `/objects/${_id}`, { version, objectValue: { title: `${version}`, body: long(10_000) } })
    let saved = 0
    let answer = await save(1)
    for (; answer.statusCode === 200; answer = await save(saved + 1)) saved += 1
    isOverQuota(answer, /in the database/)
    assert.ok(saved > 1 && saved < 20, `${saved}`)
    assert.ok((await used()) <= quotaBytes)
    await assertUsageIsRight(group.store)
  })

  it('can delete to free space, and is served throughout', async () => {
    const { create, send, does, delivered, posts, group } = await withQuota(engine)
    const { _id } = (await create(35_000)).json().data
    await group.store.database.write((db) =>
      db
        .updateTable('group_revisions')
        .set({ changes_bytes: quotaBytes })
        .where('group_id', '=', group.groupId)
        .execute(),
    )
    isOverQuota(await create(1), /in the database/)
    isOverQuota(await send('POST', `/objects/${_id}/archive`, {}), /in the database/)
    assert.equal((await delivered(posts._id)).length, 1)
    await does('DELETE', `/objects/${_id}`)
    assert.equal((await delivered(posts._id)).length, 0)
  })

  it('refuses submissions and e-mails entirely: no object, no message, and no idempotency key is stored', async () => {
    const { create, group, posts } = await withQuota(engine)
    assert.equal((await create(45_000)).statusCode, 201)
    const key = { 'idempotency-key': 'once' }
    const review = (length: number) => ({
      collectionId: posts._id,
      type: 'createReview',
      objectValue: { title: 'b', body: long(length) },
    })
    const before = await everythingIn(group.store)
    isOverQuota(await group.post('/tenant/definedCollectionObject', review(30_000), key), /in the database/)
    const mail = { name: 'Ada', to: 'a@shop.example', message: long(9000), siteName: 'Shop', htmlInfo: { title: 'x' } }
    const sent: LightMyRequestResponse[] = []
    for (let n = 0; n < 8; n += 1) sent.push(await group.post('/tenant/sendContactEmail', mail))
    const last = sent.at(-1) as LightMyRequestResponse
    isOverQuota(last, /in the database/)
    const { rows } = await group.store.database.read
      .selectFrom('messages')
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
    assert.equal(Number(rows), sent.filter(({ statusCode }) => statusCode === 201).length)
    assert.deepEqual((await everythingIn(group.store)).objects, before.objects)
    await assertUsageIsRight(group.store)
  })
})

onBothEngines('the files of a group', (engine) => {
  it('use at most what its tier allows, also when several arrive at once', async () => {
    const { upload, usage, group } = await withQuota(engine)
    const answers = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => upload(name, 30_000)))
    const stored = answers.filter(({ statusCode }) => statusCode === 201)
    assert.ok(stored.length >= 1 && stored.length <= 3)
    for (const answer of answers.filter(({ statusCode }) => statusCode !== 201))
      isOverQuota(answer, /no room for this file: .+ of|its tier allows 0\.1 MB/)
    const { mediaBytes, mediaQuotaBytes: allowed, databaseBytes, databaseQuotaBytes } = await usage()
    assert.equal(allowed, mediaQuotaBytes)
    assert.equal(databaseQuotaBytes, quotaBytes)
    assert.equal(mediaBytes, stored.length * 30_000)
    assert.ok(databaseBytes > 0)
    await assertUsageIsRight(group.store)
  })

  it('count until they are removed from the bucket, including replaced ones', async () => {
    const { upload, send, does, service, clock, group } = await withQuota(engine)
    const { _id } = (await upload('a', 40_000)).json().data
    const replaced = await send('PUT', `/media/${_id}/file`, fileForm('b.txt', 'b'.padEnd(40_000, '.')))
    assert.equal(replaced.statusCode, 200, replaced.body)
    assert.equal(await readMediaBytes(group.store), 80_000)
    isOverQuota(await send('PUT', `/media/${_id}/file`, fileForm('c.txt', 'c'.padEnd(40_000, '.'))), /no room/)
    clock.now += 25 * 3_600_000
    await service.worker.runDue()
    assert.equal(await readMediaBytes(group.store), 40_000)
    await does('DELETE', `/media/${_id}`)
    await service.worker.runDue()
    assert.equal(await readMediaBytes(group.store), 0)
    await assertUsageIsRight(group.store)
  })
})
