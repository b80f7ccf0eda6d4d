import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CataloguePrice, CatalogueProduct } from '../../src/content/catalogue.ts'
import { projectProduct } from '../../src/content/products.ts'
import { fakePrice, fakeProduct } from '../helpers/fake-provider.ts'

type Given = Partial<CatalogueProduct> & { id: string }

const member = (product: Given, ...prices: Partial<CataloguePrice>[]) => ({
  product: fakeProduct(product),
  prices: prices.map((price, position) => fakePrice(product.id, position + 1, price)),
})

const project = (...members: ReturnType<typeof member>[]) => projectProduct(members, new Map())

const variant = (id: string, name: string, more: Given['metadata'] = {}, createdMs = 0) => ({
  id,
  name: `Loaf, ${name}`,
  createdMs,
  metadata: { variant_of: 'loaf', variant: name, ...more },
})

const picture = (key: string) => ({ name: key, key: `group/${key}`, type: 'image' })

describe('a product with one price', () => {
  it('has plain fields', () => {
    const metadata = { productType: 'Bread', colour: 'brown', empty: '' }
    const rye = { id: 'rye', name: 'Rye', description: 'Dark', images: ['https://x/1', 'https://x/2'], metadata }
    const { value, problems, imageUrls } = projectProduct(
      [member(rye, { id: 'price_1', unitAmount: '550' })],
      new Map([['https://x/1', picture('rye.png')]]),
    )
    assert.deepEqual(value, {
      name: 'Rye',
      price: '5.50',
      description: 'Dark',
      productImage: { name: 'rye.png', key: 'group/rye.png', type: 'image', alt: 'Rye' },
      default_price: 'price_1',
      productType: 'Bread',
      currency: 'eur',
      colour: 'brown',
    })
    assert.deepEqual(problems, [])
    assert.deepEqual(imageUrls, ['https://x/1'])
  })

  it('has its amount in the main unit of currencies with no, two and three decimals', () => {
    for (const [currency, unitAmount, price] of [
      ['jpy', '500', '500'],
      ['cad', '550', '5.50'],
      ['kwd', '1500', '1.500'],
      ['eur', '0.5', '0.005'],
    ] as const)
      assert.equal(project(member({ id: 'p' }, { currency, unitAmount })).value?.price, price)
  })

  it('has the interval of a recurring price', () => {
    assert.equal(project(member({ id: 'p' }, { interval: 'month' })).value?.interval, 'month')
    assert.equal(Object.hasOwn(project(member({ id: 'p' }, {})).value ?? {}, 'interval'), false)
  })

  it('uses its default price, else the oldest one-time price, else the oldest', () => {
    const prices = [
      { id: 'yearly', interval: 'year', createdMs: 1 },
      { id: 'newer', createdMs: 3 },
      { id: 'older', createdMs: 2 },
    ]
    const sold = (defaultPriceId: string | null, ...given: Partial<CataloguePrice>[]) =>
      project(member({ id: 'p', defaultPriceId }, ...given)).value?.default_price
    assert.equal(sold('newer', ...prices), 'newer')
    assert.equal(sold('elsewhere', ...prices), 'older')
    assert.equal(sold(null, { id: 'b', interval: 'year' }, { id: 'c', interval: 'month' }), 'b')
  })

  it('reports every skipped price', () => {
    const { problems } = project(
      member({ id: 'p', defaultPriceId: 'a' }, { id: 'a' }, { id: 'b' }, { id: 'c', unitAmount: null }),
    )
    assert.equal(problems.length, 2)
    assert.match(problems.join('\n'), /price c has no fixed amount/)
    assert.match(problems.join('\n'), /price b is left out: the product p is sold at a/)
  })

  it('is not built when nothing can be bought', () => {
    for (const none of [
      project(),
      project(member({ id: 'p', active: false }, {})),
      project(member({ id: 'p' })),
      project(member({ id: 'p' }, { active: false })),
      project(member({ id: 'p' }, { unitAmount: null })),
    ])
      assert.equal(none.value, undefined)
  })

  it('skips metadata that is invalid as a field, and reports it', () => {
    const metadata = { price: '0.01', 'two words': 'x', _id: 'x', constructor: 'x', mediaFields: 'x', good: 'x' }
    const { value, problems } = project(member({ id: 'p', metadata }, {}))
    assert.equal(value?.price, '10.00')
    assert.equal(value?.good, 'x')
    for (const name of ['price', 'two words', '_id', 'constructor', 'mediaFields'])
      assert.ok(
        problems.some((problem) => problem.startsWith(`metadata.${name} is left out`)),
        name,
      )
    assert.equal(problems.length, 5)
  })

  it('truncates a name that is too long, and reports it', () => {
    const { value, problems } = project(member({ id: 'p', name: 'x'.repeat(251) }, {}))
    assert.equal(String(value?.name).length, 250)
    assert.match(problems[0] ?? '', /name of the product p is truncated/)
  })
})

describe('products that are variants of the same', () => {
  it('are one product with a map in every field, in the order of their creation', () => {
    const small = variant('s', 'Small', { productType: 'Bread', variant_name: 'size' }, 1)
    const { value, problems, imageUrls } = projectProduct(
      [
        member({ ...variant('l', 'Large', {}, 2), description: 'Many', images: ['https://x/l'] }, { id: 'pl' }),
        member({ ...small, images: ['https://x/s'] }, { id: 'ps', unitAmount: '550' }),
      ],
      new Map([['https://x/l', picture('l.png')]]),
    )
    assert.deepEqual(value, {
      name: { Small: 'Loaf, Small', Large: 'Loaf, Large' },
      price: { Small: '5.50', Large: '10.00' },
      description: { Large: 'Many' },
      productImage: { Large: { ...picture('l.png'), alt: 'Loaf, Large' } },
      default_price: { Small: 'ps', Large: 'pl' },
      productType: 'Bread',
      currency: 'eur',
      variantName: 'size',
    })
    assert.deepEqual(Object.keys(Object(value?.price)), ['Small', 'Large'])
    assert.deepEqual(imageUrls, ['https://x/s', 'https://x/l'])
    assert.deepEqual(problems, [])
  })

  it('are ordered by id when created at the same moment', () => {
    const { value } = project(member(variant('b', 'B'), {}), member(variant('a', 'A'), {}))
    assert.deepEqual(Object.keys(Object(value?.name)), ['A', 'B'])
  })

  it('are variants even when there is only one', () => {
    assert.deepEqual(project(member(variant('s', 'Small'), {})).value?.name, { Small: 'Loaf, Small' })
  })

  it('have plain fields for shared values, and maps for differing ones', () => {
    const { value } = project(
      member(variant('a', 'A', { flour: 'rye', weight: '1' }, 1), { currency: 'eur' }),
      member(variant('b', 'B', { flour: 'rye', weight: '2' }, 2), { currency: 'usd', interval: 'month' }),
      member(variant('c', 'C', { flour: 'rye' }, 3), { currency: 'eur' }),
    )
    assert.equal(value?.flour, 'rye')
    assert.deepEqual(value?.weight, { A: '1', B: '2' })
    assert.deepEqual(value?.currency, { A: 'eur', B: 'usd', C: 'eur' })
    assert.deepEqual(value?.interval, { B: 'month' })
  })

  it('inherit what they lack from the product named by variant_of, which is not sold itself', () => {
    const parent = { id: 'loaf', images: ['https://x/p'], metadata: { productType: 'Bread', origin: 'here' } }
    const { value, problems, imageUrls } = project(member(parent, {}), member(variant('s', 'Small'), {}))
    assert.deepEqual(Object.keys(Object(value?.price)), ['Small'])
    assert.deepEqual([value?.productType, value?.origin, imageUrls], ['Bread', 'here', ['https://x/p']])
    assert.match(problems.join(), /product loaf is not sold by itself/)
    assert.deepEqual(project(member(parent), member(variant('s', 'Small'), {})).problems, [])
  })

  it('include the product named by variant_of if it has a variant name', () => {
    const parent = { id: 'loaf', name: 'Loaf', metadata: { variant: 'Plain' } }
    const { value } = project(member(parent, {}), member(variant('s', 'Small', {}, 1), {}))
    assert.deepEqual(Object.keys(Object(value?.price)), ['Plain', 'Small'])
  })

  it('are skipped and reported when they have no price, a duplicate name, or an invalid name', () => {
    const { value, problems } = project(
      member(variant('unpriced', 'Same', {}, 1)),
      member(variant('first', 'Same', {}, 2), {}),
      member(variant('second', 'Same', {}, 3), {}),
      member(variant('proto', '__proto__', {}, 4), {}),
      member(variant('long', 'x'.repeat(101), {}, 5), {}),
      member({ id: 'unnamed', name: 'By name', metadata: { variant_of: 'loaf' }, createdMs: 6 }, {}),
      member({ ...variant('off', 'Off', {}, 7), active: false }, {}),
    )
    assert.deepEqual(value?.default_price, { Same: 'price_first_1', 'By name': 'price_unnamed_1' })
    assert.deepEqual(
      problems.map((problem) => problem.split(' ')[2]),
      ['unpriced', 'second', 'proto', 'long', 'unnamed'],
    )
  })

  it('have maps in one order, even when names are whole numbers', () => {
    const { value } = project(
      member({ ...variant('b', '500', {}, 1), description: 'x' }, {}),
      member({ ...variant('a', '250', {}, 2), description: 'y' }, {}),
      member({ ...variant('c', 'rest', {}, 0), description: 'z' }, {}),
    )
    for (const field of ['name', 'price', 'description', 'default_price'])
      assert.deepEqual(Object.keys(Object(value?.[field])), ['250', '500', 'rest'], field)
  })
})

describe('a product with several prices', () => {
  const named = (...names: string[]) => names.map((nickname) => ({ id: `p_${nickname}`, nickname }))

  it('has one variant for each, named by metadata, else nickname, else lookup key', () => {
    const { value, problems } = project(
      member(
        { id: 'p', name: 'Tea', description: 'Green', metadata: { variant_name: 'pack', leaf: 'whole' } },
        { id: 'm', metadata: { variant: 'Meta' }, nickname: 'no', lookupKey: 'no', unitAmount: '100' },
        { id: 'n', nickname: 'Nick', lookupKey: 'no', unitAmount: '200' },
        { id: 'k', lookupKey: 'key', unitAmount: '300' },
      ),
    )
    assert.deepEqual(value, {
      name: { Meta: 'Tea', Nick: 'Tea', key: 'Tea' },
      price: { Meta: '1.00', Nick: '2.00', key: '3.00' },
      description: { Meta: 'Green', Nick: 'Green', key: 'Green' },
      default_price: { Meta: 'm', Nick: 'n', key: 'k' },
      currency: 'eur',
      variantName: 'pack',
      leaf: 'whole',
    })
    assert.deepEqual(problems, [])
  })

  it('skips and reports prices that recur, in another currency, without a name, or with a duplicate name', () => {
    const { value, problems } = project(
      member(
        { id: 'p', defaultPriceId: 'p_A' },
        ...named('A', 'B'),
        { id: 'p_twice', nickname: 'A' },
        { id: 'p_dollar', nickname: 'C', currency: 'usd' },
        { id: 'p_monthly', nickname: 'D', interval: 'month' },
        { id: 'p_nameless' },
      ),
    )
    assert.deepEqual(value?.default_price, { A: 'p_A', B: 'p_B' })
    assert.deepEqual(
      problems.map((problem) => problem.split(' ')[2]),
      ['p_twice', 'p_dollar', 'p_monthly', 'p_nameless'],
    )
  })

  it('uses the currency of its default price', () => {
    const dollars = named('C', 'D').map((price) => ({ ...price, currency: 'usd' }))
    const { value } = project(member({ id: 'p', defaultPriceId: 'p_C' }, ...named('A', 'B'), ...dollars))
    assert.deepEqual([value?.default_price, value?.currency], [{ C: 'p_C', D: 'p_D' }, 'usd'])
  })

  it('is a simple one when fewer than two prices have a name', () => {
    const { value, problems } = project(member({ id: 'p', defaultPriceId: 'plain' }, { id: 'plain' }, ...named('A')))
    assert.equal(value?.default_price, 'plain')
    assert.equal(Object.hasOwn(value ?? {}, 'variantName'), false)
    assert.match(problems.join(), /price p_A is left out/)
  })
})
