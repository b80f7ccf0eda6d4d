import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { makePreviewToken } from '../../src/security/tokens.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { type Data, editingPosts } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'

const schema = {
  title: { type: 'text' },
  rating: { type: 'integer' },
  tags: { type: 'list', of: { type: 'text' } },
  secret: { type: 'text', private: true },
}
const hourMs = 3_600_000

async function withPreview(engine: TestEngine, options: object = {}) {
  const created = await editingPosts(engine, schema)
  const { does, group, posts } = created
  const { token, _id } = await does('POST', '/previews/site', options)
  const open = (query = '', of = token) =>
    group.get(`/tenant/collectionObjects?collectionId=${posts._id}&preview=${of}${query}`)
  const titles = async (query = ''): Promise<string[]> => {
    const answer = await open(query)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json().data.items.map(({ objectValue }: Data) => objectValue.title)
  }
  const edit = (object: Data, objectValue: object) => does('PATCH', `/objects/${object._id}/draft`, { objectValue })
  return { ...created, token, previewId: _id, open, titles, edit }
}

onBothEngines('a preview of the whole site', (engine) => {
  it('delivers working copies in place of live values, and drafts and scheduled items, but none that is archived', async () => {
    const { post, titles, edit, open, clock } = await withPreview(engine)
    const [one] = [await post({ title: 'One', secret: 'canary' }), await post({ title: 'Two' })]
    await post({ title: 'Draft' }, { draft: true })
    await post({ title: 'Soon' }, { publishDate: new Date(clock.now + hourMs).toISOString() })
    const archived = await post({ title: 'Archived' }, { archived: true })
    assert.deepEqual(await titles(), ['One', 'Two', 'Draft', 'Soon'])
    await edit(one, { title: 'Edited' })
    await edit(archived, { title: 'Still archived' })
    assert.deepEqual(await titles(), ['Edited', 'Two', 'Draft', 'Soon'])
    const answer = await open()
    assert.equal(answer.json().data.totalCount, 4)
    assert.ok(!answer.body.includes('canary'))
  })

  it('ranks working copies by their own texts with sort=relevance', async () => {
    const { post, titles, edit } = await withPreview(engine)
    const one = await post({ title: 'One', tags: ['rye'] })
    await post({ title: 'Ryebread' })
    await post({ title: 'Two', tags: ['ryegrass'] })
    assert.deepEqual(await titles('&search=rye&sort=relevance'), ['Ryebread', 'One', 'Two'])
    await edit(one, { title: 'Rye' })
    assert.deepEqual(await titles('&search=rye&sort=relevance'), ['Rye', 'Ryebread', 'Two'])
    assert.deepEqual(await titles('&search=rye&sort=relevance&limit=1&skip=1'), ['Ryebread'])
  })

  it('changes nothing for others, and is never cached', async () => {
    const { post, titles, edit, open, deliveredValues, group, posts } = await withPreview(engine)
    const one = await post({ title: 'One' })
    const list = `/tenant/collectionObjects?collectionId=${posts._id}`
    const before = await group.get(list)
    for (const title of ['a', 'b', 'c']) {
      await edit(one, { title })
      assert.deepEqual(await titles(), [title])
      const after = await group.get(list, { 'if-none-match': String(before.headers.etag) })
      assert.equal(after.statusCode, 304)
    }
    assert.deepEqual(await deliveredValues('title'), ['One'])
    const { headers } = await open()
    assert.deepEqual([headers['cache-control'], headers.etag], ['no-store', undefined])
  })

  it('needs a token of a site preview of the same group, which is neither revoked nor expired nor used up', async () => {
    const { open, does, previewId, post, newGroup, token, posts, clock, group } = await withPreview(engine)
    const object = await post({ title: 'One' })
    const ofObject = await does('POST', '/previews', { objectId: object._id })
    const stranger = await newGroup()
    const refused = [
      await open('', makePreviewToken()),
      await open('', 'nonsense'),
      await open('', ofObject.token),
      await group.get(`/tenant/preview?token=${token}`),
      await stranger.get(`/tenant/collectionObjects?collectionId=${posts._id}&preview=${token}`),
      await stranger.get(`/tenant/siteDetails?siteId=x&preview=${token}`),
      await stranger.get(`/tenant/integrationObjects?type=x&preview=${token}`),
    ]
    for (const answer of refused) assertFailure(answer, 404, 'NotFound')
    assert.equal(new Set(refused.map(({ body }) => body)).size, 1)
    assertFailure(await open('', ''), 400, 'ValidationError')
    const limited = await does('POST', '/previews/site', { maxUses: 1 })
    assert.equal((await open('', limited.token)).statusCode, 200)
    assertFailure(await open('', limited.token), 404, 'NotFound')
    const shown = (await does('GET', '/previews')).items
    assert.deepEqual(
      shown.map(({ objectId, uses }: Data) => [objectId, uses]),
      [[null, 0], [object._id, 0], [null, 1]],
    ) // biome-ignore format: a table
    assert.equal((await open()).statusCode, 200)
    await does('POST', `/previews/${previewId}/revoke`)
    assertFailure(await open(), 404, 'NotFound')
    const brief = await does('POST', '/previews/site', { lifeSeconds: 60 })
    clock.now += 60_000
    assertFailure(await open('', brief.token), 410, 'PreviewExpired')
  })

  it('takes working copies of products, also in groups', async () => {
    const { group, does, token } = await withPreview(engine)
    const stripe = await group.integration('stripe', { name: { type: 'text' }, productType: { type: 'text' } })
    const [cake] = await group.add(
      stripe,
      { value: { name: 'Cake', productType: 'Sweet' }, externalId: 'p1' },
      { value: { name: 'Loaf', productType: 'Bread' }, externalId: 'p2' },
      { value: { name: 'Roll', productType: 'Bread' }, externalId: 'p3' },
    )
    await does('PATCH', `/objects/${cake?.id}/draft`, { objectValue: { productType: 'Bread' } })
    const path = `/tenant/integrationObjects?type=stripe&preview=${token}&sort=name:desc`
    const { items, groups, totalCount } = (await group.get(`${path}&groupBy[key]=productType`)).json().data
    assert.deepEqual(items.map(({ objectValue }: Data) => objectValue.name), ['Roll', 'Loaf', 'Cake']) // biome-ignore format: one line
    assert.deepEqual(items[2].objectValue.productType, 'Bread')
    assert.deepEqual(
      groups.map(({ value, count, items: its }: Data) => [value, count, its.length]),
      [['Bread', 3, 3]],
    )
    assert.equal(totalCount, 3)
    assert.equal((await group.get(`${path}&filters[productType]=Sweet`)).json().data.totalCount, 0)
  })

  it('filters, sorts, searches and pages as the list would after publishing everything', async (context) => {
    const { post, does, open, posts, group, delivered } = await withPreview(engine)
    const words = ['a', 'b', 'ab', 'Ä', 'z 10', '9']
    const value = fc.record(
      {
        title: fc.constantFrom(...words),
        rating: fc.constantFrom(-1, 0, 5, 10),
        tags: fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 2 }),
      },
      { requiredKeys: [] },
    )
    const query = fc.constantFrom(
      '', '&filters[tags]=x', '&filters[title]=a', '&filters[rating][gte]=0', '&filters[rating][lt]=5', '&filters[title][ne]=a',
      '&filters[rating][exists]=false', '&search=a', '&search=10', '&filters[createdAt][gte]=2020-01-01',
    ) // biome-ignore format: two lines read better
    const sort = fc.constantFrom(
      '',
      '&sort=title:asc',
      '&sort=rating:desc',
      '&sort=rating:asc,title:desc',
      '&sort=createdAt:desc',
    )
    const page = fc.record({ limit: fc.integer({ min: 1, max: 6 }), skip: fc.nat(12) })
    const objects: Data[] = []
    for (const [live] of fc.sample(fc.tuple(value), { numRuns: 12, seed: 3 })) objects.push(await post(live ?? {}))
    for (const object of objects.filter((_, n) => n % 3 !== 0)) {
      const [draft = {}] = fc.sample(value, { numRuns: 1, seed: Number.parseInt(object._id.slice(-6), 16) })
      await does('PUT', `/objects/${object._id}/draft`, { objectValue: draft })
    }
    const queries = fc.sample(fc.tuple(query, sort, page), { numRuns: 60, seed: 5 })
    const paths = queries.map(([filters, order, { limit, skip }]) => `${filters}${order}&limit=${limit}&skip=${skip}`)
    paths.push('&search=a&sort=relevance', '&search=a&sort=relevance&limit=2&skip=1')
    const shape = ({ items, totalCount }: Data) => ({
      items: items.map(({ _id, objectValue }: Data) => [_id, objectValue]),
      totalCount,
    })
    const previewed = []
    for (const path of paths) previewed.push(shape((await open(path)).json().data))
    for (const [filters, order, { limit }] of queries.slice(0, 20)) {
      const whole = shape((await open(`${filters}${order}`)).json().data)
      const items: unknown[] = []
      for (let after: string | null = ''; after !== null; ) {
        const { data }: Data = (await open(`${filters}${order}&limit=${limit}&after=${after}`)).json()
        items.push(...shape(data).items)
        after = data.nextCursor
      }
      assert.deepEqual({ ...whole, items }, whole, `by cursor: ${filters}${order}`)
    }
    for (const object of objects.filter((_, n) => n % 3 !== 0))
      await does('POST', `/objects/${object._id}/draft/publish`)
    for (const [position, path] of paths.entries()) {
      const answer = await group.get(`/tenant/collectionObjects?collectionId=${posts._id}${path}`)
      assert.deepEqual(previewed[position], shape(answer.json().data), path)
    }
    assert.equal((await delivered(posts._id)).length, objects.length)
    context.diagnostic(`${engine}: ${paths.length} queries`)
  })

  it('pages by cursor like by skip', async () => {
    const { post, edit, open, titles } = await withPreview(engine)
    const posts: Data[] = []
    for (const title of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) posts.push(await post({ title }))
    for (const [position, title] of [[0, 'h'], [3, 'bb'], [6, 'a']] as const) await edit(posts[position], { title }) // biome-ignore format: one line
    const all = await titles('&sort=title:asc')
    assert.deepEqual(all, ['a', 'b', 'bb', 'c', 'e', 'f', 'h'])
    const paged: string[] = []
    for (let after: string | null = ''; after !== null; ) {
      const { data }: { data: Data } = (await open(`&sort=title:asc&limit=2&after=${after}`)).json()
      paged.push(...data.items.map(({ objectValue }: Data) => objectValue.title))
      after = data.nextCursor
    }
    assert.deepEqual(paged, all)
  })

  it('expands references to working copies and drafts', async () => {
    const { does, group, token } = await withPreview(engine)
    const text = { type: 'text' }
    const authors = await does('POST', '/collections', { name: 'Authors', schema: { name: text } })
    const schema = { title: text, author: { type: 'reference', collections: ['Authors'] } }
    const books = await does('POST', '/collections', { name: 'Books', schema })
    const add = (collection: Data, objectValue: object, state: object = {}) =>
      does('POST', `/collections/${collection._id}/objects`, { objectValue, ...state })
    const [known, hidden] = [await add(authors, { name: 'Ann' }), await add(authors, { name: 'Bo' }, { draft: true })]
    await does('PUT', `/objects/${known._id}/draft`, { objectValue: { name: 'Anna' } })
    await add(books, { title: 'One', author: known._id })
    const second = await add(books, { title: 'Two', author: known._id })
    await does('PATCH', `/objects/${second._id}/draft`, { objectValue: { author: hidden._id } })
    const names = async (preview = '') => {
      const path = `/tenant/collectionObjects?collectionId=${books._id}&expand=author${preview}`
      const { items } = (await group.get(path)).json().data
      return items.map(({ expanded }: Data) => expanded.author?.objectValue.name)
    }
    assert.deepEqual(await names(), ['Ann', 'Ann'])
    assert.deepEqual(await names(`&preview=${token}`), ['Anna', 'Bo'])
    assert.deepEqual(await names(), ['Ann', 'Ann'])
  })
})
