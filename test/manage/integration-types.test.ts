import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Container } from '../../src/content/model.ts'
import { findIntegration } from '../../src/store/content/containers.ts'
import { assertIndexIsRight, assertRefused, type Data, editing, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { plainPng } from '../helpers/pictures.ts'

const schema = {
  status: { type: 'enum', values: ['published', 'hidden'] },
  permalink: { type: 'text' },
  caption: { type: 'longText', required: true },
  likes: { type: 'integer' },
  media: { type: 'list', of: { type: 'image' } },
}

async function withPosts(engine: TestEngine) {
  const created = await editing(engine)
  const { does, group } = created
  const posts = await does('POST', '/integrationTypes', { type: 'instagram', schema })
  const listed = async (query = '', type = 'instagram') =>
    (await group.get(`/tenant/integrationObjects?type=${type}${query}`)).json().data
  return { ...created, posts, listed, path: `/collections/${posts._id}/objects` }
}

onBothEngines('integration types', (engine) => {
  it('of any name are created, filled and delivered; an unknown one is an empty list', async () => {
    const { does, posts, listed, path, group } = await withPosts(engine)
    assert.deepEqual([posts.type, posts.mirrored, posts.version, posts.schema], ['instagram', false, 1, schema])
    const { name, key, type: mediaType } = await does('POST', '/media', fileForm('rye.png', plainPng(4, 4)))
    const value = {
      status: 'published',
      permalink: 'https://social.example/p/1',
      caption: 'Rye is <b>back</b>',
      likes: 12,
      media: [{ name, key, type: mediaType }],
    }
    const first = await does('POST', path, { objectValue: value, externalId: 'post-1', accountHandle: 'bakery' })
    assert.deepEqual([first.externalId, first.accountHandle], ['post-1', 'bakery'])
    const second = await does('POST', path, { objectValue: { caption: 'Draft' }, draft: true })
    const { items, totalCount } = await listed()
    assert.equal(totalCount, 1)
    const { _id, id, type, platform, accountHandle, objectValue } = items[0]
    assert.deepEqual(
      [_id, id, type, platform, accountHandle],
      [first._id, 'post-1', 'instagram', 'instagram', 'bakery'],
    )
    const [{ currentFile, ...picture }] = objectValue.media
    assert.match(currentFile.source, /\?expires=/)
    assert.deepEqual(objectValue, {
      _id: first._id,
      ...value,
      media: [{ ...picture, currentFile }],
      mediaFields: { media: 'image' },
    })
    await does('POST', `/objects/${second._id}/publish`)
    assert.deepEqual(
      (await listed('&sort=likes:desc')).items.map((one: Data) => one.id),
      ['post-1', second._id],
    )
    assert.equal((await listed('&accountHandle=bakery')).totalCount, 1)
    assert.equal((await listed('&filters[status]=published')).totalCount, 1)
    assert.equal((await listed('&search=rye')).totalCount, 1)
    assert.deepEqual(await listed('', 'tiktok'), { items: [], totalCount: 0 })
    await assertIndexIsRight(group.store)
  })

  it('have objects that are changed, archived, restored, deleted, previewed and versioned like those of a collection', async () => {
    const { does, listed, path, group } = await withPosts(engine)
    const one = await does('POST', path, { objectValue: { caption: 'One' }, externalId: 'p1' })
    const at = `/objects/${one._id}`
    await does('PATCH', at, { version: 1, objectValue: { likes: 3 } })
    assert.equal((await listed()).items[0].objectValue.likes, 3)
    await does('POST', `${at}/archive`)
    assert.equal((await listed()).totalCount, 0)
    await does('POST', `${at}/restore`)
    assert.equal((await does('GET', `${at}/versions`)).totalCount, 4)
    assert.deepEqual(
      (await does('GET', path)).items.map(({ _id }: Data) => _id),
      [one._id],
    )
    const { token } = await does('POST', '/previews', { objectId: one._id })
    const previewed = (await group.get(`/tenant/preview?token=${token}`)).json().data
    assert.deepEqual([previewed.id, previewed.type], ['p1', 'instagram'])
    const items = [{ objectValue: { caption: 'Two' }, externalId: 'p2' }, { objectValue: { caption: 'Three' } }]
    await does('POST', `${path}/bulk`, { items })
    assert.equal((await listed()).totalCount, 3)
    await does('DELETE', at)
    assert.equal((await listed()).totalCount, 2)
  })

  it('accept an external id once per account, and refuse invalid objects; nothing is stored', async () => {
    const { does, send, path, group } = await withPosts(engine)
    await does('POST', path, { objectValue: { caption: 'One' }, externalId: 'p1', accountHandle: 'a' })
    await does('POST', path, { objectValue: { caption: 'One' }, externalId: 'p1', accountHandle: 'b' })
    const posts = await does('POST', '/collections', { name: 'Posts', schema: {} })
    const before = await everythingIn(group.store)
    const again = { objectValue: { caption: 'One' }, externalId: 'p1', accountHandle: 'a' }
    assertRefused(await send('POST', path, again), 409, /already an object with the externalId "p1"/)
    const twice = [{ objectValue: { caption: 'x' }, externalId: 'p9' }, { objectValue: { caption: 'x' }, externalId: 'p9' }] // biome-ignore format: short
    assertRefused(await send('POST', `${path}/bulk`, { items: twice }), 409, /already an object/)
    assertRefused(await send('POST', path, { objectValue: { likes: 'many' } }), 400, /likes must be a whole number/)
    const inCollection = await send('POST', `/collections/${posts._id}/objects`, { objectValue: {}, externalId: 'x' })
    assertRefused(inCollection, 400, /are only for objects of integration types/)
    assertRefused(await send('POST', '/integrationTypes', { type: 'instagram', schema }), 409, /already a/)
    assertRefused(await send('POST', '/integrationTypes', { type: 'a b', schema }), 400, /type/)
    assertRefused(await send('GET', '/integrationTypes/tiktok'), 404, /no such integration type/)
    assertRefused(await send('DELETE', '/integrationTypes/instagram'), 409, /holds 2 objects/)
    assert.deepEqual(await everythingIn(group.store), before)
    await does('DELETE', '/integrationTypes/instagram?force=true')
    assert.deepEqual((await does('GET', '/integrationTypes')).items, [])
  })

  it('of a payment provider are filled by it only', async () => {
    const { does, send, group } = await withPosts(engine)
    const stripe = await does('POST', '/integrationTypes', { type: 'stripe', schema: {} })
    assert.deepEqual([stripe.mirrored, Object.keys(stripe.schema).slice(0, 2)], [true, ['name', 'price']])
    const [product] = await group.add((await findIntegration(group.store, 'stripe')) as Container, {
      value: { name: 'Loaf', price: '1', default_price: 'p' },
      externalId: 'prod_1',
    })
    const value = { objectValue: { name: 'x', price: '1', default_price: 'p' } }
    assertRefused(await send('POST', `/collections/${stripe._id}/objects`, value), 404, /no such collection/)
    assertRefused(await send('GET', `/collections/${stripe._id}/objects`), 404, /no such collection/)
    assertRefused(await send('POST', `/objects/${product?.id}/archive`), 404, /no such object/)
    assertRefused(await send('DELETE', `/objects/${product?.id}`), 404, /no such object/)
  })

  it('have their schema changed with all their objects', async () => {
    const { does, send, listed, path } = await withPosts(engine)
    await does('POST', path, { objectValue: { caption: 'One', permalink: '5' } })
    const { caption, ...others } = schema
    const wanted = { ...others, text: caption, permalink: { type: 'integer' } }
    const body = { version: 1, schema: wanted, renames: { caption: 'text' } }
    assertRefused(
      await send('POST', '/integrationTypes/instagram/schema', { ...body, version: 7 }),
      409,
      /has been changed: it is at version/,
    )
    const { integrationType, report } = await does('POST', '/integrationTypes/instagram/schema', body)
    assert.deepEqual([integrationType.version, report.changed], [2, 1])
    const [{ objectValue }] = (await listed()).items
    assert.deepEqual([objectValue.text, objectValue.permalink], ['One', 5])
  })
})
