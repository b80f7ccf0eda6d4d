import assert from 'node:assert/strict'
import { it } from 'node:test'
import sharp from 'sharp'
import { assertIndexIsRight, assertRefused, editing, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine, testStartMs } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'

const schema = {
  name: { type: 'variant', of: { type: 'text' } },
  price: { type: 'variant', of: { type: 'decimal' } },
  productType: { type: 'text' },
  productImage: { type: 'image' },
}
const dayMs = 86_400_000
const tomorrow = new Date(testStartMs + dayMs).toISOString()

async function withProducts(engine: TestEngine) {
  const created = await editing(engine)
  const { group, does } = created
  const stripe = await group.integration('stripe', schema)
  await group.add(
    stripe,
    { value: { name: 'Cake', price: '4.50', productType: 'Sweet' }, externalId: 'prod_1', accountHandle: 'north' },
    { value: { name: { Small: 'Loaf', Large: 'Big loaf' }, price: '3' }, externalId: 'prod_2', accountHandle: 'south' },
    { value: { name: 'Secret' }, externalId: 'prod_3', accountHandle: 'north', archived: true },
  )
  const { items } = await does('GET', '/integrations/stripe/products')
  return {
    ...created,
    stripe,
    cake: items[0],
    path: `/products/${items[0]._id}`,
    delivered: async (query = '') =>
      (await group.get(`/tenant/integrationObjects?type=stripe${query}`)).json().data.items,
  }
}

onBothEngines('products', (engine) => {
  it('are listed in every state, with status, account, filters, sort, search and pages', async () => {
    const { does, send, cake, path } = await withProducts(engine)
    assert.deepEqual(await does('GET', '/integrations'), { items: [], totalCount: 0 }, 'no account is connected')
    assert.deepEqual([cake.id, cake.type, cake.accountHandle, cake.status], ['prod_1', 'stripe', 'north', 'published'])
    assert.deepEqual(await does('GET', path), cake)
    const lists: [query: string, ids: string[], total: number][] = [
      ['', ['prod_1', 'prod_2', 'prod_3'], 3],
      ['status=archived', ['prod_3'], 1],
      ['status=published&sort=price:asc', ['prod_2', 'prod_1'], 2],
      ['accountHandle=north', ['prod_1', 'prod_3'], 2],
      ['accountHandle=north&status=published', ['prod_1'], 1],
      ['filters[productType]=Sweet', ['prod_1'], 1],
      ['search=big loaf', ['prod_2'], 1],
      ['limit=1&skip=1', ['prod_2'], 3],
    ]
    for (const [query, ids, total] of lists) {
      const { items, totalCount } = await does('GET', `/integrations/stripe/products?${query}`)
      assert.deepEqual([items.map(({ id }: { id: string }) => id), totalCount], [ids, total], query)
    }
    assertRefused(await send('GET', '/integrations/paypal/products'), 404, /no such integration/)
  })

  it('can be edited in four fields, and are delivered accordingly', async () => {
    const { does, path, cake, group, delivered, clock } = await withProducts(engine)
    const { key } = await does(
      'POST',
      '/media',
      fileForm(
        'cake.png',
        await sharp(new Uint8Array(3), { raw: { width: 1, height: 1, channels: 3 } })
          .png()
          .toBuffer(),
      ),
    )
    const productImage = { name: 'Cake', key, type: 'image' }
    clock.now += 1000
    const after = await does('PATCH', path, { version: 1, productType: 'Bread', productImage })
    assert.deepEqual(after.objectValue, { ...cake.objectValue, productType: 'Bread', productImage })
    assert.equal(after.version, 2)
    const [shown] = await delivered('&filters[productType]=Bread')
    assert.deepEqual([shown.id, shown.objectValue.mediaFields], ['prod_1', { productImage: 'image' }])
    assert.match(shown.objectValue.productImage.currentFile.source, /-cake\.png/)
    assert.equal((await delivered('&filters[productType]=Sweet')).length, 0)
    await does('PATCH', path, { version: 2, productType: null, productImage: null })
    assert.deepEqual((await delivered('&accountHandle=north'))[0].objectValue.mediaFields, {})
    assert.equal((await does('PATCH', path, { version: 3, publishDate: tomorrow })).status, 'scheduled')
    assert.equal((await delivered('&accountHandle=north')).length, 0)
    clock.now += dayMs
    assert.equal((await delivered('&accountHandle=north')).length, 1)
    assert.equal((await does('PATCH', path, { version: 4, archived: true })).status, 'archived')
    assert.equal((await delivered('&accountHandle=north')).length, 0)
    const back = await does('PATCH', path, { version: 5, archived: false, publishDate: null })
    assert.deepEqual([back.status, back.publishDate], ['published', null])
    assert.deepEqual((await delivered())[0].objectValue.name, 'Cake')
    await assertIndexIsRight(group.store)
  })

  it('accept nothing else: the provider’s fields are refused, and nothing is changed', async () => {
    const { send, path, cake, group } = await withProducts(engine)
    const before = await everythingIn(group.store)
    const refused: [body: object, message: RegExp][] = [
      [{ name: 'Mine' }, /name cannot be given here/],
      [{ price: '0.01' }, /price cannot be given here/],
      [{ description: 'x', default_price: 'p' }, /description, default_price cannot be given here/],
      [{ objectValue: { name: 'Mine' } }, /objectValue cannot be given here/],
      [{ accountHandle: 'south' }, /accountHandle cannot be given here/],
      [{ draft: true }, /draft cannot be given here/],
      [{ productType: 7 }, /productType must be a text or null/],
      [{ productImage: { name: 'x' } }, /productImage must be a media value/],
      [{ productImage: { name: 'x', key: 'ffff/x.png', type: 'image' } }, /does not belong to this group/],
      [{ publishDate: 'soon' }, /publishDate must be a moment/],
    ]
    for (const [body, message] of refused)
      assertRefused(await send('PATCH', path, { version: 1, ...body }), 400, message)
    assertRefused(await send('PATCH', path, { productType: 'x' }), 400, /version is required/)
    const asObject = `/objects/${cake._id}`
    assertRefused(await send('PUT', asObject, { version: 1, objectValue: {} }), 404, /no such object/)
    assertRefused(await send('POST', `${asObject}/archive`), 404, /no such object/)
    assertRefused(await send('DELETE', asObject), 404, /no such object/)
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('are not affected by a change that changes nothing', async () => {
    const { does, path, cake, group, clock } = await withProducts(engine)
    const before = await everythingIn(group.store)
    clock.now += 1000
    for (const same of [{}, { productType: 'Sweet' }, { productImage: null, archived: false, publishDate: null }])
      assert.deepEqual({ ...(await does('PATCH', path, { version: 1, ...same })), workingCopy: null }, cake)
    assert.deepEqual(await everythingIn(group.store), before)
  })
})
