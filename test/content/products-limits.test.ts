import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keptPrices, keptProducts, objectKeyOf, pictureOf } from '../../src/content/catalogue.ts'
import type { Member } from '../../src/content/product-offers.ts'
import { projectProduct } from '../../src/content/products.ts'
import { fakePrice, fakeProduct } from '../helpers/fake-provider.ts'
import { assertLinear } from '../helpers/growth.ts'

const project = (members: readonly Member[]) => projectProduct(members, new Map())

const numbered = (number: number): string => String(number).padStart(5, '0')

/** Variants of one product, each with distinct metadata. */
const variants = (count: number, keysOfEach = 0): Member[] =>
  Array.from({ length: count }, (_, number) => {
    const id = `p${numbered(number)}`
    const own = Object.fromEntries(Array.from({ length: keysOfEach }, (_, key) => [`m${number}_${key}`, 'x']))
    const metadata = { variant_of: 'k', variant: `v${number}`, ...own }
    return { product: fakeProduct({ id, metadata }), prices: [fakePrice(id, 1, {})] }
  })

const priced = (count: number, nickname: (number: number) => string, defaultPriceId: string | null = null): Member => ({
  product: fakeProduct({ id: 'p', defaultPriceId }),
  prices: Array.from({ length: count }, (_, number) =>
    fakePrice('p', number, { id: `price_${numbered(number)}`, nickname: nickname(number) }),
  ),
})

describe('a product with very many parts', () => {
  it('is built in time linear in its parts', async () => {
    await assertLinear((count) => variants(count, 48), project, { size: 250 })
  })

  it('is built in time linear in its prices, including skipped ones', async () => {
    await assertLinear((count) => [priced(count, () => 'same')], project, { size: 4000 })
  })

  it('has the first 1,000 variants by id, in whichever order they arrive, and reports the rest', () => {
    const members = variants(1001)
    const { value, problems } = project(members.toReversed())
    assert.equal(Object.keys(Object(value?.price)).length, 1000)
    assert.equal(Object(value?.default_price).v1000, undefined)
    assert.deepEqual(problems, ['More than 1000 products are variants of "k": the rest are left out.'])
    assert.deepEqual(project(members.slice(0, 1000)).problems, [])
  })

  it('has the first 1,000 of its prices and its default price, and reports the rest', () => {
    const { value, problems } = project([priced(2000, (number) => `n${number}`, 'price_01999')])
    const sold = Object.values(Object(value?.default_price))
    assert.deepEqual([sold.length, sold.at(0), sold.at(-1)], [1000, 'price_00000', 'price_01999'])
    assert.deepEqual(problems, ['The product p has more than 1000 prices: the rest are left out.'])
  })

  it('uses a variant’s default price, however many other prices the variant has', () => {
    const [first, second] = variants(2)
    assert.ok(first && second)
    const prices = Array.from({ length: 150 }, (_, number) => fakePrice(first.product.id, 1000 + number, {}))
    const defaultPriceId = prices.at(-1)?.id ?? null
    const { value, problems } = project([{ product: { ...first.product, defaultPriceId }, prices }, second])
    assert.equal(Object(value?.default_price).v0, defaultPriceId)
    assert.equal(problems[0], 'The product p00000 has more than 100 prices: the rest are left out.')
  })

  it('has at most 100 metadata fields, and reports it once', () => {
    const { value, problems } = project(variants(10, 48))
    assert.equal(Object.keys(Object(value)).filter((name) => name.startsWith('m')).length, 100)
    assert.deepEqual(problems, ['Metadata is left out: a product has at most 100 fields of it.'])
  })

  it('reports the first 50 problems once each, and the number of the others', () => {
    const { problems } = project([priced(200, () => 'same')])
    assert.equal(problems.length, 51)
    assert.equal(new Set(problems).size, 51)
    assert.equal(problems.at(-1), '149 more problems.')
  })
})

describe('texts that cannot be stored', () => {
  const invalid = ['a\0b', '\ud800'] as const

  for (const text of invalid) {
    const shown = JSON.stringify(text)

    it(`make a product separate, not a variant of ${shown}, and are reported`, () => {
      const product = fakeProduct({ id: 'p', metadata: { variant_of: text } })
      assert.equal(objectKeyOf(product), 'p')
      const { value, problems } = project([{ product, prices: [fakePrice('p', 1, {})] }])
      assert.equal(value?.name, 'Product p')
      assert.match(problems.join('\n'), /^metadata "variant_of" of the product p is left out/)
    })

    it(`are left out of a product with ${shown} everywhere, or replaced in its name, and are reported`, () => {
      const metadata = { colour: text, productType: text, size: 'L', [`x${text}`]: 'x' }
      const product = { id: 'p', name: `n${text}`, description: text, images: [text, 'https://x/1'], metadata }
      const { value, problems, imageUrls } = project([
        { product: fakeProduct(product), prices: [fakePrice('p', 1, { nickname: text, lookupKey: text })] },
      ])
      const expected = { price: '10.00', default_price: 'price_p_1', currency: 'eur', size: 'L' }
      assert.deepEqual(value, { name: `n${text.replace(/\0|\ud800/, '\ufffd')}`, ...expected })
      assert.deepEqual(imageUrls, ['https://x/1'])
      const all = problems.join('\n')
      for (const what of [/The name .* are replaced/, /The description/, /A picture/, /"colour"/, /"productType"/])
        assert.match(all, what)
    })

    it(`are not valid ids: a row with ${shown} as its id is skipped and reported`, () => {
      const good = fakeProduct({ id: 'good', defaultPriceId: text })
      const products = keptProducts([fakeProduct({ id: text }), good])
      assert.deepEqual(products.items, [{ ...good, defaultPriceId: null }])
      assert.match(products.problems.join(), /^The product .* is left out: it has an id that cannot be stored/)
      const price = fakePrice('good', 1, {})
      const prices = keptPrices([price, fakePrice(text, 2, { id: 'x' }), fakePrice('good', 3, { id: text })])
      assert.deepEqual(prices.items, [price])
      assert.equal(prices.problems.length, 2)
    })
  }

  it('include empty ids and ids too long for an index', () => {
    const ids = ['', 'x'.repeat(256), 'x'.repeat(255)]
    const { items } = keptProducts(ids.map((id) => fakeProduct({ id })))
    assert.deepEqual(items.map(({ id }) => id.length), [255]) // biome-ignore format: short
  })

  it('make a product separate when its variant_of has more than 200 characters', () => {
    const product = fakeProduct({ id: 'p', metadata: { variant_of: 'x'.repeat(201) } })
    assert.equal(objectKeyOf(product), 'p')
    assert.match(project([{ product, prices: [fakePrice('p', 1, {})] }]).problems.join(), /variant_of is too long/)
    const longest = 'x'.repeat(200)
    assert.equal(objectKeyOf({ id: 'p', metadata: { variant_of: longest } }), longest)
  })

  it('are not valid image URLs', () => {
    assert.equal(pictureOf({ images: ['https://x/\0'] }), undefined)
  })
})
