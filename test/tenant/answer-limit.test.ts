import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAnswerMeter } from '../../src/content/answer-limit.ts'
import type { CurrentFile } from '../../src/content/delivery.ts'
import { createItem, createPreviewToken, createSite } from '../helpers/authoring.ts'
import { type Harness, harness, onBothEngines, type TestGroup } from '../helpers/harness.ts'
import { managing } from '../helpers/manage.ts'

const maxBytes = 200_000
const env = { MAX_ANSWER_BYTES: String(maxBytes), ANSWER_CACHE_MB: '0', READ_THREADS: '0' }

const refusal = {
  success: false,
  data: null,
  error: `The answer would exceed the maximum of ${maxBytes} bytes. Request fewer items with limit.`,
  code: 'ValidationError',
}

const mediaOf = ({ group }: TestGroup, name: string) => ({ name, key: `${group.id}/${name}`, type: 'image' })

/** The calls to sign delivered files. */
function watchSigning({ service }: Harness): { keys: number } {
  const seen = { keys: 0 }
  const { currentFiles } = service.media
  const { prepare } = currentFiles
  currentFiles.prepare = (group, bucketName, keys, at) => {
    seen.keys += keys.length
    return prepare(group, bucketName, keys, at)
  }
  return seen
}

onBothEngines('an answer', (engine) => {
  it('is refused if it would exceed the maximum size, and unchanged below that', async () => {
    const { newGroup } = await harness(engine, { env })
    const group = await newGroup()
    const posts = await group.collection('Posts', {
      text: { type: 'longText' },
      secret: { type: 'text', private: true },
    })
    await group.add(posts, ...Array.from({ length: 25 }, () => ({ value: { text: 'ж'.repeat(5000) } })))
    const path = `/tenant/collectionObjects?collectionId=${posts.id}`
    for (let time = 0; time < 3; time += 1) {
      const refused = await group.get(path)
      assert.equal(refused.statusCode, 400)
      assert.deepEqual(refused.json(), refusal)
      const pages = await Promise.all([0, 15].map((skip) => group.get(`${path}&limit=15&skip=${skip}`)))
      const [first, second] = pages.map((page) => page.json().data)
      assert.deepEqual([first.totalCount, first.items.length, second.items.length], [25, 15, 10])
      for (const { objectValue } of [...first.items, ...second.items]) assert.equal(objectValue.text.length, 5000)
    }
  })

  it('with large objects among small ones has all of them, in order', async () => {
    const { newGroup } = await harness(engine, { env })
    const group = await newGroup()
    const posts = await group.collection('Posts', { text: { type: 'longText' }, n: { type: 'integer' } })
    const texts = [10, 60_000, 10, 3000, 70_000, 10]
    await group.add(posts, ...texts.map((length, n) => ({ value: { n, text: 'x'.repeat(length) } })))
    for (const sort of ['n:asc', 'n:desc', '_id:asc']) {
      for (let time = 0; time < 3; time += 1) {
        const { data } = (await group.get(`/tenant/collectionObjects?collectionId=${posts.id}&sort=${sort}`)).json()
        const lengths = data.items.map((item: { objectValue: { text: string } }) => item.objectValue.text.length)
        assert.deepEqual(lengths, sort === 'n:desc' ? texts.toReversed() : texts)
      }
    }
  })

  it('is refused before the values of its objects are read, and before any file is signed', async () => {
    const created = await harness(engine, { env })
    const group = await created.newGroup()
    const posts = await group.collection('Posts', { text: { type: 'longText' }, cover: { type: 'image' } })
    const value = { text: 'x'.repeat(20_000), cover: mediaOf(group, 'a.png') }
    await group.add(posts, ...Array.from({ length: 20 }, () => ({ value })))
    const signing = watchSigning(created)
    assert.equal((await group.get(`/tenant/collectionObjects?collectionId=${posts.id}`)).statusCode, 400)
    assert.equal(signing.keys, 0)
    assert.equal((await group.get(`/tenant/collectionObjects?collectionId=${posts.id}&limit=5`)).statusCode, 200)
    assert.ok(signing.keys > 0)
  })

  it('is stopped when files make it too large: in lists, groups, previews and sites', async () => {
    const { newGroup, clock } = await harness(engine, { env })
    const group = await newGroup()
    const gallery = { pictures: { type: 'list', of: { type: 'image' } } }
    const pictures = Array.from({ length: 800 }, () => mediaOf(group, 'picture.png'))
    await createItem(group.store, `${group.group.id}/picture.png`, clock.now)
    const posts = await group.collection('Posts', gallery)
    const [first] = await group.add(posts, { value: { pictures } }, { value: { pictures } })
    const products = await group.integration('stripe', {
      kind: { type: 'list', of: { type: 'text' } },
      text: { type: 'longText' },
    })
    const kind = Array.from({ length: 30 }, (_, n) => `kind ${n}`)
    await group.add(products, { value: { kind, text: 'x'.repeat(10_000) } })
    const { token } = await createPreviewToken(group.store, { objectId: first?.id ?? '' }, clock.now)
    const settings = { pictures: pictures.slice(0, 100), logo: mediaOf(group, 'picture.png') }
    const site = await createSite(group.store, { name: 'S', domainName: 'a.example', settings }, clock.now)
    const statuses: Record<string, number> = {}
    for (const path of [
      `/tenant/collectionObjects?collectionId=${posts.id}`,
      '/tenant/integrationObjects?type=stripe&groupBy[key]=kind',
      '/tenant/integrationObjects?type=stripe',
      `/tenant/preview?token=${token}`,
      `/tenant/siteDetails?siteId=${site.id}`,
    ]) {
      const { statusCode, body } = await group.get(path)
      statuses[path.replace(/[=&].*/, '') + (path.includes('groupBy') ? ' groups' : '')] = statusCode
      if (statusCode === 400) assert.match(body, /maximum of 200000 bytes/)
      else assert.ok(body.length <= maxBytes)
    }
    assert.deepEqual(statuses, {
      '/tenant/collectionObjects?collectionId': 400,
      '/tenant/integrationObjects?type groups': 400,
      '/tenant/integrationObjects?type': 200,
      '/tenant/preview?token': 400,
      '/tenant/siteDetails?siteId': 200,
    })
  })

  it('of the management API has the same limit: lists of objects and versions; a single object is shown', async () => {
    const { call, newManagedGroup } = await managing(engine, { env })
    const group = await newManagedGroup()
    const posts = await group.collection('Posts', { text: { type: 'longText' } })
    const ask = async (method: 'GET' | 'POST' | 'PATCH', path: string, body?: object) => {
      const answer = await call(method, `/manage/groups/${group.groupId}${path}`, body)
      return { statusCode: answer.statusCode, body: answer.json() }
    }
    const made = []
    for (let n = 0; n < 3; n += 1) {
      const { body } = await ask('POST', `/collections/${posts.id}/objects`, {
        objectValue: { text: 'x'.repeat(80_000) },
      })
      made.push(body.data)
    }
    const list = await ask('GET', `/collections/${posts.id}/objects`)
    assert.equal(list.statusCode, 400)
    assert.deepEqual(list.body, refusal)
    const some = await ask('GET', `/collections/${posts.id}/objects?limit=2`)
    assert.equal(some.statusCode, 200)
    assert.deepEqual([some.body.data.items.length, some.body.data.totalCount], [2, 3])
    let version = made[0].version
    for (let n = 0; n < 3; n += 1) {
      const { body } = await ask('PATCH', `/objects/${made[0]._id}`, {
        version,
        objectValue: { text: `${n}${'x'.repeat(80_000)}` },
      })
      version = body.data.version
    }
    assert.equal((await ask('GET', `/objects/${made[0]._id}`)).statusCode, 200)
    assert.deepEqual((await ask('GET', `/objects/${made[0]._id}/versions`)).body, refusal)
    const versions = await ask('GET', `/objects/${made[0]._id}/versions?limit=2`)
    assert.deepEqual([versions.statusCode, versions.body.data.totalCount], [200, 4])
  })
})

describe('the meter of an answer', () => {
  it('counts the URLs of media values before they are serialised, and those in texts with the text', () => {
    const file = { source: 'x'.repeat(1000), expiresAt: '' } as CurrentFile
    const meter = createAnswerMeter(10_000)
    const sign = meter.measured(() => file)
    for (let n = 0; n < 100; n += 1) sign('key', true)
    for (let n = 0; n < 9; n += 1) sign('key')
    assert.throws(() => sign('key'), /maximum of 10000 bytes/)
    meter.add(['x'.repeat(9_900)])
    assert.throws(() => sign('key'), /maximum of 10000 bytes/)
  })
})
