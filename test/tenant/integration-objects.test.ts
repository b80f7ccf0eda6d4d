import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertFailure } from '../helpers/common-suite.ts'
import { harness, onBothEngines, type TestEngine } from '../helpers/harness.ts'

type Product = { _id: string; id: string; objectValue: Record<string, unknown>; usingVariant?: object }

const variant = (type: string, more: object = {}) => ({ type: 'variant', of: { type }, ...more })
const schema = {
  name: variant('text'),
  price: variant('decimal'),
  description: variant('longText'),
  productImage: variant('image'),
  default_price: variant('text', { searchable: false }),
  productType: { type: 'text', searchable: false },
  currency: { type: 'text', searchable: false },
  variantName: { type: 'text', searchable: false },
  internal: { type: 'text', private: true },
}

async function withProducts(engine: TestEngine) {
  const { newGroup, clock } = await harness(engine)
  const group = await newGroup()
  const container = await group.integration('stripe', schema)
  const image = (name: string) => ({ name, key: `${group.group.id}/${name}.png`, type: 'image' })
  await group.add(
    container,
    {
      externalId: 'prod_bread',
      accountHandle: 'main',
      value: {
        name: 'Rye bread',
        price: '10.00',
        description: 'Dark <b>rye</b>',
        productImage: image('rye'),
        default_price: 'price_bread',
        productType: 'bread',
        currency: 'eur',
      },
    },
    {
      externalId: 'prod_loaf',
      accountHandle: 'main',
      value: {
        name: { Small: 'Loaf, small', Large: 'Loaf, large' },
        price: { Small: '4.50', Large: '9.00' },
        description: { Small: 'For two', Large: 'For a family' },
        productImage: { Small: image('s'), Large: image('l') },
        default_price: { Small: 'price_s', Large: 'price_l' },
        productType: 'bread',
        currency: 'eur',
        variantName: 'Size',
      },
    },
    {
      externalId: 'prod_cake',
      accountHandle: 'second',
      value: { name: 'cake', price: '9.50', default_price: 'price_cake', productType: 'cake', currency: 'eur' },
    },
    {
      externalId: 'prod_gift',
      accountHandle: 'second',
      value: { name: 'Gift card', price: '100', default_price: 'price_gift', currency: 'eur' },
    },
    {
      externalId: 'prod_old',
      accountHandle: 'main',
      archived: true,
      value: { name: 'Old', price: '1', default_price: 'price_old', productType: 'bread' },
    },
    {
      externalId: 'prod_new',
      accountHandle: 'main',
      publishMs: clock.now + 1,
      value: { name: 'New', price: '1', default_price: 'price_new', productType: 'bread' },
    },
  )
  const list = (more = '') => group.get(`/tenant/integrationObjects?type=stripe${more}`)
  const ids = async (more = '') => {
    const answer = await list(more)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json().data.items.map((item: Product) => item.id.slice(5))
  }
  return { group, list, ids }
}

onBothEngines('GET /tenant/integrationObjects', (engine) => {
  it('delivers a simple product in the documented shape', async () => {
    const { list } = await withProducts(engine)
    const { data } = (await list()).json()
    const [bread] = data.items
    const { productImage, ...fields } = bread.objectValue
    assert.deepEqual(fields, {
      _id: bread._id,
      name: 'Rye bread',
      price: '10.00',
      description: 'Dark <b>rye</b>',
      default_price: 'price_bread',
      productType: 'bread',
      currency: 'eur',
      mediaFields: { productImage: 'image' },
    })
    assert.match(productImage.currentFile.source, /\/rye\.png\?expires=/)
    const { objectValue: _, ...wrapper } = bread
    assert.deepEqual(wrapper, {
      _id: bread._id,
      id: 'prod_bread',
      type: 'stripe',
      platform: 'stripe',
      accountHandle: 'main',
      publishDate: null,
      archived: false,
      createdAt: '2026-03-01T12:00:00.000Z',
      updatedAt: '2026-03-01T12:00:00.000Z',
    })
    assert.equal(data.totalCount, 4)
  })

  it('delivers a variant product with every field as a map, and usingVariant in the maps’ order', async () => {
    const { list } = await withProducts(engine)
    const loaf = (await list('&filters[name]=Loaf,%20large')).json().data.items[0]
    assert.deepEqual(loaf.usingVariant, { name: 'Size', values: ['Small', 'Large'] })
    for (const field of ['name', 'price', 'description', 'productImage', 'default_price']) {
      assert.deepEqual(Object.keys(loaf.objectValue[field]), ['Small', 'Large'], field)
    }
    assert.match(loaf.objectValue.productImage.Large.currentFile.source, /\/l\.png\?expires=/)
    assert.equal(loaf.objectValue.variantName, 'Size')
  })

  it('does not deliver variant names that are private in the schema', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const hiding = { ...schema, variantName: { type: 'text', private: true } }
    const container = await group.integration('stripe', hiding)
    await group.add(container, { value: { name: { S: 'Small', L: 'Large' }, variantName: 'Secret' } })
    const answer = await group.get('/tenant/integrationObjects?type=stripe')
    assert.equal(answer.json().data.items[0].usingVariant.name, 'variant')
    assert.doesNotMatch(answer.body, /Secret/)
  })

  it('falls back to the _id, an empty account and "variant" if a product has no id, account or variant name', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const container = await group.integration('stripe', schema)
    const [stored] = await group.add(container, { value: { name: { S: 'Small', L: 'Large' } } })
    const [product] = (await group.get('/tenant/integrationObjects?type=stripe')).json().data.items
    assert.deepEqual([product.id, product.accountHandle], [stored?.id, ''])
    assert.deepEqual(product.usingVariant, { name: 'variant', values: ['S', 'L'] })
  })

  it('lists variants named by integers in the order of the maps’ keys', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const container = await group.integration('stripe', schema)
    await group.add(container, { value: { name: { '500': 'Large', '250': 'Small', rest: 'Rest' } } })
    const [product] = (await group.get('/tenant/integrationObjects?type=stripe')).json().data.items
    assert.deepEqual(product.usingVariant.values, ['250', '500', 'rest'])
    assert.deepEqual(Object.keys(product.objectValue.name), ['250', '500', 'rest'])
  })

  it('refuses to group by values of more than 200 bytes', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const container = await group.integration('stripe', { name: { type: 'text' } })
    await group.add(container, { value: { name: 'x'.repeat(201) }, externalId: 'p', accountHandle: 'a' })
    assertFailure(
      await group.get('/tenant/integrationObjects?type=stripe&groupBy[key]=name'),
      400,
      'ValidationError',
      /too long to group by/,
    )
  })

  const lists: [parameters: string, ids: string[]][] = [
    ['', ['bread', 'loaf', 'cake', 'gift']],
    ['&sort=objectValue.name:asc', ['cake', 'gift', 'loaf', 'bread']],
    ['&sort=name:desc', ['bread', 'loaf', 'gift', 'cake']],
    ['&sort=price:asc', ['loaf', 'cake', 'bread', 'gift']],
    ['&sort=price:desc&limit=2&skip=1', ['bread', 'cake']],
    ['&filters[productType]=bread', ['bread', 'loaf']],
    ['&filters[productType]=bread&filters[productType]=cake', ['bread', 'loaf', 'cake']],
    ['&filters[price]=9', ['loaf']],
    ['&filters[default_price]=price_l', ['loaf']],
    ['&search=LOAF', ['loaf']],
    ['&search=large%20family', ['loaf']],
    ['&search=rye%20dark', ['bread']],
    ['&search=price_l', []],
    ['&search=eur', []],
    ['&search=bread', ['bread']],
    ['&accountHandle=second', ['cake', 'gift']],
    ['&accountHandle=second&filters[productType]=cake', ['cake']],
    ['&accountHandle=unknown', []],
    ['&groupBy[key]=productType&groupBy[value]=bread', ['bread', 'loaf']],
    ['&groupBy[key]=objectValue.productType&groupBy[value]=cake', ['cake']],
    ['&groupBy[key]=productType&groupBy[value]=bread&filters[productType]=cake', []],
  ]
  it('sorts, filters, searches names and descriptions of all variants, and separates accounts', async () => {
    const { ids } = await withProducts(engine)
    for (const [parameters, expected] of lists) assert.deepEqual(await ids(parameters), expected, parameters)
  })

  it('groups by a field: counts over all matches, items of this page, products without a value last', async () => {
    const { list } = await withProducts(engine)
    const { data } = (await list('&groupBy[key]=productType&limit=2')).json()
    assert.equal(data.totalCount, 4)
    const summary = data.groups.map((group: { value: string; count: number; items: Product[] }) => [
      group.value,
      group.count,
      group.items.map((item) => item.id),
    ])
    assert.deepEqual(summary, [
      ['bread', 2, ['prod_bread', 'prod_loaf']],
      ['cake', 1, []],
      [null, 1, []],
    ])
    assert.deepEqual(
      data.items.map((item: Product) => item.id),
      ['prod_bread', 'prod_loaf'],
    )
  })

  it('groups products with another group’s file, and delivers none', async () => {
    const { newGroup } = await harness(engine)
    const [group, other] = [await newGroup(), await newGroup()]
    const products = await group.integration('stripe', { kind: { type: 'text' }, about: { type: 'longText' } })
    const about = `<img src="media:${other.group.id}/photo.jpg">`
    await group.add(products, { value: { kind: 'bread', about: '' } })
    // Texts from a provider are arbitrary.
    const value = JSON.stringify({ kind: 'bread', about })
    await group.store.database.write((db) =>
      db.updateTable('objects').set({ value }).where('group_id', '=', group.group.id).execute(),
    )
    const response = await group.get('/tenant/integrationObjects?type=stripe&groupBy[key]=kind')
    assert.equal(response.statusCode, 200, response.body)
    const { items, groups } = response.json().data
    assert.deepEqual(groups[0].items, items)
    assert.equal(items[0].objectValue.about, about)
  })

  it('puts a variant product into the group of each of its values', async () => {
    const { list } = await withProducts(engine)
    const { data } = (await list('&groupBy[key]=price&filters[productType]=bread')).json()
    const summary = data.groups.map((group: { value: string; items: Product[] }) => [
      group.value,
      group.items.map((item) => item.id),
    ])
    assert.deepEqual(summary, [
      ['4.5', ['prod_loaf']],
      ['9', ['prod_loaf']],
      ['10', ['prod_bread']],
    ])
    const ids = data.items.map((item: Product) => item.id)
    assert.equal(new Set(ids).size, ids.length, 'each is on the flat page once')
  })

  it('delivers only the fields named by fields, with usingVariant and groups as ever', async () => {
    const { list } = await withProducts(engine)
    const full = (await list('&groupBy[key]=price&sort=price:asc')).json().data
    const { data } = (await list('&groupBy[key]=price&sort=price:asc&fields=name,productType')).json()
    const narrowed = (item: Product) => {
      const { _id, name, productType } = item.objectValue
      const objectValue = { _id, name, ...(productType !== undefined && { productType }), mediaFields: {} }
      return { ...item, objectValue }
    }
    assert.deepEqual(data.items, full.items.map(narrowed))
    assert.deepEqual(
      data.groups,
      full.groups.map((group: { items: Product[] }) => ({ ...group, items: group.items.map(narrowed) })),
    )
    assert.ok(data.items.some((item: Product) => item.usingVariant))
  })

  it('has no groups by default', async () => {
    const { list } = await withProducts(engine)
    assert.deepEqual(Object.keys((await list()).json().data), ['items', 'totalCount'])
    assert.deepEqual(Object.keys((await list('&groupBy[key]=productType&groupBy[value]=x')).json().data), [
      'items',
      'totalCount',
    ])
  })

  const refused: [parameters: string, message: RegExp][] = [
    ['&groupby[key]=price', /^groupby\[key\] is not a parameter\. Write groupBy\[key\]\.$/],
    ['&group[key]=price', /With brackets there are groupBy\[key or value\] and filters\[<field>\]\.$/],
    ['&groupBy[value]=bread', /^groupBy\[value\] needs groupBy\[key\]/],
    ['&groupBy[key]=nope', /^groupBy\[key\] names "/],
    ['&groupBy[key]=internal', /^groupBy\[key\] names "/],
    ['&groupBy[key]=description', /^groupBy\[key\] names "/],
    ['&groupBy[key]=__proto__', /^groupBy\[key\] names "/],
    ['&groupBy[key]=price&groupBy[value]=cheap', /^groupBy\[value\] must be a number/],
    ['&groupBy[key]=a&groupBy[key]=b', /^groupBy\[key\] must be given once/],
    ['&groupBy=productType', /^groupBy is written groupBy\[key or value\]=/],
    ['&groupBy[other]=x', /^groupBy is written groupBy\[key or value\]=/],
    ['&groupBy[key][x]=productType', /^groupBy is written groupBy\[key or value\]=/],
    ['&filters[internal]=Size', /cannot be used here/],
    ['&filters[@accountHandle]=main', /cannot be used here/],
    ['&sort=internal:asc', /cannot be used here/],
    ['&sort=@accountHandle:asc', /cannot be used here/],
    [`&accountHandle=${'x'.repeat(201)}`, /^accountHandle must have at most 200/],
    [`&search=${'x'.repeat(201)}`, /^search must have at most 200/],
    ['&accountHandle=a&accountHandle=b', /^accountHandle must be given once/],
    ['&limit=101', /^limit must be/],
    ['&skip=-1', /^skip must be/],
  ]
  it('refuses invalid parameters with 400 and a message that names them', async () => {
    const { list } = await withProducts(engine)
    for (const [parameters, message] of refused) assertFailure(await list(parameters), 400, 'ValidationError', message)
  })

  it('refuses to return more than 1000 groups', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const container = await group.integration('stripe', { name: { type: 'text' } })
    await group.add(
      container,
      ...Array.from({ length: 1001 }, (_, n) => ({
        value: { name: `n${n}` },
        externalId: `p${n}`,
        accountHandle: 'a',
      })),
    )
    assertFailure(
      await group.get('/tenant/integrationObjects?type=stripe&groupBy[key]=name'),
      400,
      'ValidationError',
      /more than 1000/,
    )
  })

  it('refuses a page that groups into more than 1000 entries', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const container = await group.integration('stripe', { tags: { type: 'list', of: { type: 'text' } } })
    const tags = Array.from({ length: 300 }, (_, n) => `tag ${n}`)
    await group.add(container, ...Array.from({ length: 4 }, (_, n) => ({ value: { tags }, externalId: `p${n}` })))
    const list = (limit: number) => group.get(`/tenant/integrationObjects?type=stripe&groupBy[key]=tags&limit=${limit}`)
    assert.equal((await list(3)).json().data.groups.length, 300)
    assertFailure(await list(4), 400, 'ValidationError', /more than 1000 entries/)
  })

  it('answers 200 with an empty list for a type that is not connected', async () => {
    const { group } = await withProducts(engine)
    const answer = await group.get('/tenant/integrationObjects?type=paypal&limit=5&sort=name:asc')
    assert.equal(answer.statusCode, 200)
    assert.deepEqual(answer.json().data, { items: [], totalCount: 0 })
  })
})
