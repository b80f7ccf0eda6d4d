import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertIndexIsRight } from '../../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../../helpers/harness.ts'
import { shop } from './shop.ts'

async function withBakery(engine: TestEngine) {
  const created = await shop(engine)
  const { provider, sync } = created
  provider.put(
    {
      id: 'rye',
      name: 'Rye',
      description: 'Dark bread',
      createdMs: 1,
      metadata: { productType: 'Bread', flour: 'rye' },
    },
    { id: 'price_rye', unitAmount: '1000' },
  )
  const loaf = (variant: string, weight: string) => ({
    metadata: { variant_of: 'loaf', variant_name: 'size', productType: 'Bread', flour: 'wheat', variant, weight },
  })
  provider.put(
    { id: 'loaf_l', name: 'Loaf, large', description: 'For a family', createdMs: 3, ...loaf('Large', '1 kg') },
    { id: 'price_l', unitAmount: '900' },
  )
  provider.put(
    { id: 'loaf_s', name: 'Loaf, small', description: 'For two', createdMs: 2, ...loaf('Small', '500 g') },
    { id: 'price_s', unitAmount: '450' },
  )
  provider.put(
    { id: 'tea', name: 'Green tea', description: 'From the hills', createdMs: 4, metadata: { productType: 'Drink' } },
    { id: 'price_tea_1', unitAmount: '10000', currency: 'jpy', nickname: 'Tin' },
    { id: 'price_tea_2', unitAmount: '200', currency: 'jpy', nickname: 'Bag' },
  )
  const monthly = { id: 'price_club', unitAmount: '1500', currency: 'kwd', interval: 'month' }
  provider.put({ id: 'club', name: 'Club', createdMs: 5 }, monthly)
  await sync()
  return created
}

onBothEngines('products of a provider’s catalogue', (engine) => {
  it('are delivered with plain fields if they are simple', async () => {
    const { products } = await withBakery(engine)
    const [rye] = await products('&filters[name]=Rye')
    const { _id, ...value } = rye.objectValue
    assert.deepEqual(value, {
      name: 'Rye',
      price: '10.00',
      description: 'Dark bread',
      default_price: 'price_rye',
      productType: 'Bread',
      currency: 'eur',
      flour: 'rye',
      mediaFields: {},
    })
    assert.equal(_id, rye._id)
    assert.deepEqual([rye.id, rye.type, rye.accountHandle], ['rye', 'stripe', 'main'])
    assert.equal(Object.hasOwn(rye, 'usingVariant'), false)
  })

  it('are delivered with a map in every field if several products are variants of one', async () => {
    const { products } = await withBakery(engine)
    const [loaf] = await products('&filters[default_price]=price_l')
    assert.equal(loaf.id, 'loaf')
    assert.deepEqual(loaf.usingVariant, { name: 'size', values: ['Small', 'Large'] })
    const { _id, mediaFields, ...value } = loaf.objectValue
    assert.deepEqual(value, {
      name: { Small: 'Loaf, small', Large: 'Loaf, large' },
      price: { Small: '4.50', Large: '9.00' },
      description: { Small: 'For two', Large: 'For a family' },
      default_price: { Small: 'price_s', Large: 'price_l' },
      productType: 'Bread',
      currency: 'eur',
      variantName: 'size',
      flour: 'wheat',
      weight: { Small: '500 g', Large: '1 kg' },
    })
    for (const field of ['name', 'price', 'description', 'default_price'])
      assert.deepEqual(Object.keys(loaf.objectValue[field]), loaf.usingVariant.values, field)
  })

  it('are delivered with a map in every field if one product has several prices', async () => {
    const { products } = await withBakery(engine)
    const [tea] = await products('&filters[productType]=Drink')
    assert.deepEqual(tea.usingVariant, { name: 'variant', values: ['Tin', 'Bag'] })
    assert.deepEqual(tea.objectValue.price, { Tin: '10000', Bag: '200' })
    assert.deepEqual(tea.objectValue.name, { Tin: 'Green tea', Bag: 'Green tea' })
    assert.deepEqual(tea.objectValue.default_price, { Tin: 'price_tea_1', Bag: 'price_tea_2' })
  })

  it('have the interval of a recurring price', async () => {
    const { products } = await withBakery(engine)
    const [club] = await products('&filters[interval]=month')
    assert.deepEqual([club.id, club.objectValue.price, club.objectValue.currency], ['club', '1.500', 'kwd'])
  })

  it('are found by their type, by metadata, and by the name or description of any variant', async () => {
    const { ids } = await withBakery(engine)
    const found = async (query: string) => (await ids(query)).toSorted()
    assert.deepEqual(await found('&filters[productType]=Bread'), ['loaf', 'rye'])
    assert.deepEqual(await found('&filters[flour]=rye'), ['rye'])
    assert.deepEqual(await found('&filters[weight]=1%20kg'), ['loaf'])
    assert.deepEqual(await found('&search=large'), ['loaf'])
    assert.deepEqual(await found('&search=two'), ['loaf'])
    assert.deepEqual(await found('&search=family%20LOAF'), ['loaf'])
    for (const nowhere of ['price_l', 'Bread%20Drink', 'wheat', 'eur', 'size', '500%20g'])
      assert.deepEqual(await found(`&search=${nowhere}`), [], nowhere)
  })

  it('are sorted by price as numbers', async () => {
    const { ids } = await withBakery(engine)
    assert.deepEqual(await ids('&sort=price:asc'), ['club', 'loaf', 'rye', 'tea'])
    assert.deepEqual(await ids('&sort=objectValue.price:desc'), ['tea', 'rye', 'loaf', 'club'])
  })

  it('are grouped by a field, and by one value of it', async () => {
    const { group, ids } = await withBakery(engine)
    const answer = await group.get('/tenant/integrationObjects?type=stripe&groupBy[key]=productType&sort=name:asc')
    const counts = answer.json().data.groups.map(({ value, count }: { value: string; count: number }) => [value, count])
    assert.deepEqual(Object.fromEntries(counts), { Bread: 2, Drink: 1, null: 1 })
    assert.deepEqual((await ids('&groupBy[key]=productType&groupBy[value]=Bread')).toSorted(), ['loaf', 'rye'])
    assert.deepEqual(await ids('&groupBy[key]=weight&groupBy[value]=500%20g'), ['loaf'])
  })

  it('can be filtered by metadata added later, including older products', async () => {
    const { provider, refresh, ids, group } = await withBakery(engine)
    assert.equal((await group.get('/tenant/integrationObjects?type=stripe&filters[vegan]=yes')).statusCode, 400)
    provider.put({ id: 'new', metadata: { vegan: 'yes' } }, {})
    await refresh('new')
    assert.deepEqual(await ids('&filters[vegan]=yes'), ['new'])
    assert.deepEqual(await ids('&filters[flour]=wheat'), ['loaf'])
    await assertIndexIsRight(group.store)
  })

  it('follow a variant that moves to another product', async () => {
    const { provider, refresh, products, ids } = await withBakery(engine)
    const small = provider.products.get('loaf_s')
    assert.ok(small)
    provider.products.set('loaf_s', { ...small, metadata: { ...small.metadata, variant_of: 'bun' } })
    await refresh('loaf_s')
    const [loaf] = await products('&filters[default_price]=price_l')
    assert.deepEqual(loaf.usingVariant.values, ['Large'])
    assert.deepEqual(await ids('&filters[default_price]=price_s'), ['bun'])
    provider.remove('loaf_l')
    await refresh('loaf_l')
    assert.equal((await ids()).includes('loaf'), false)
  })
})
