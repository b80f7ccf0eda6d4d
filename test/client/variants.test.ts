import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type IntegrationObject,
  imageProps,
  isVariant,
  type MediaValue,
  priceOf,
  variantsOf,
} from '../../client/src/index.ts'

const picture = (name: string): MediaValue => ({
  name,
  key: `library/${name}`,
  type: 'image',
  currentFile: { source: `https://m.example/${name}`, expiresAt: '2026-01-01T00:00:00.000Z' },
})

function productOf(objectValue: Partial<IntegrationObject['objectValue']>, variants?: string[]): IntegrationObject {
  return {
    _id: 'o1',
    id: 'prod_1',
    type: 'stripe',
    platform: 'stripe',
    accountHandle: 'main',
    objectValue: { _id: 'o1', mediaFields: {}, name: '', price: '', default_price: '', ...objectValue },
    ...(variants && { usingVariant: { name: 'Size', values: variants } }),
    publishDate: null,
    archived: false,
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
  }
}

const simple = productOf({
  name: 'Rye bread',
  description: 'Dark.',
  price: '5.50',
  default_price: 'price_1',
  currency: 'cad',
  productImage: picture('rye.jpg'),
})

const offerOfSimple = {
  variant: undefined,
  name: 'Rye bread',
  description: 'Dark.',
  price: '5.50',
  currency: 'cad',
  priceId: 'price_1',
  image: picture('rye.jpg'),
}

const sized = productOf(
  {
    name: { Large: 'Large rye', Small: 'Small rye' },
    description: { Large: 'Feeds four.' },
    price: { Large: '9.00', Small: '5.50' },
    default_price: { Large: 'price_l', Small: 'price_s' },
    currency: 'cad',
    productImage: { Large: picture('large.jpg') },
  },
  ['Small', 'Large'],
)

const small = {
  variant: 'Small',
  name: 'Small rye',
  description: undefined,
  price: '5.50',
  currency: 'cad',
  priceId: 'price_s',
  image: undefined,
}

const large = {
  variant: 'Large',
  name: 'Large rye',
  description: 'Feeds four.',
  price: '9.00',
  currency: 'cad',
  priceId: 'price_l',
  image: picture('large.jpg'),
}

describe('isVariant', () => {
  it('distinguishes products with variants from simple ones', () => {
    assert.equal(isVariant(simple), false)
    assert.equal(isVariant(sized), true)
  })

  it('narrows the type for TypeScript', () => {
    assert.ok(isVariant(sized))
    assert.deepEqual(sized.usingVariant.values, ['Small', 'Large'])
  })
})

describe('variantsOf', () => {
  it('returns what can be bought, in the order of the variants', () => {
    assert.deepEqual(variantsOf(sized), [small, large])
  })

  it('returns one entry for a simple product', () => {
    assert.deepEqual(variantsOf(simple), [offerOfSimple])
  })

  it('leaves out a variant without a price', () => {
    const { objectValue, ...rest } = sized
    const pricey = { ...rest, objectValue: { ...objectValue, price: { Large: '9.00' } } }
    assert.deepEqual(
      variantsOf(pricey).map(({ variant }) => variant),
      ['Large'],
    )
  })

  it('copies values that all variants share to each of them', () => {
    const { objectValue, ...rest } = sized
    const alike = { ...rest, objectValue: { ...objectValue, name: 'Rye', productImage: picture('rye.jpg') } }
    assert.deepEqual(
      variantsOf(alike).map(({ name, image }) => [name, image?.name]),
      [
        ['Rye', 'rye.jpg'],
        ['Rye', 'rye.jpg'],
      ],
    )
  })

  it('returns each variant’s own currency', () => {
    const abroad = productOf({ ...sized.objectValue }, ['Small', 'Large'])
    const offers = variantsOf({
      ...abroad,
      objectValue: { ...abroad.objectValue, currency: { Small: 'cad', Large: 'usd' } },
    })
    assert.deepEqual(
      offers.map(({ currency }) => currency),
      ['cad', 'usd'],
    )
  })

  it('accepts any variant name', () => {
    const names = ['constructor', 'toString', 'currentFile', '__proto__', '0']
    const map = <Value>(make: (name: string) => Value) => Object.fromEntries(names.map((name) => [name, make(name)]))
    const odd = productOf(
      {
        name: map((name) => name),
        price: map(() => '1.00'),
        default_price: map((name) => `price_${name}`),
        productImage: map((name) => picture(name)),
      },
      names,
    )
    assert.deepEqual(
      variantsOf(odd).map(({ variant, priceId, image }) => [variant, priceId, image?.name]),
      names.map((name) => [name, `price_${name}`, name]),
    )
    const bare = productOf({ name: {}, price: {}, default_price: {} }, names)
    assert.deepEqual(variantsOf(bare), [])
  })

  it('returns images that the image helpers accept, and undefined where there is none', () => {
    assert.deepEqual(
      variantsOf(sized).map(({ image, name }) => imageProps(image, { alt: name })?.src),
      [undefined, 'https://m.example/large.jpg'],
    )
  })
})

describe('priceOf', () => {
  it('returns the price of a simple product', () => {
    assert.deepEqual(priceOf(simple), offerOfSimple)
  })

  it('returns the price of the chosen variant', () => {
    assert.deepEqual(priceOf(sized, 'Large'), large)
  })

  for (const [what, product, variant, message] of [
    ['a variant that there is not', sized, 'Huge', 'There is no variant "Huge": the product has "Small", "Large"'],
    ['no variant where there are some', sized, undefined, 'A variant must be named: the product has "Small", "Large"'],
    ['a variant of a simple product', simple, 'Large', 'The product has no variants'],
    [
      'a name that every object has',
      sized,
      'toString',
      'There is no variant "toString": the product has "Small", "Large"',
    ],
  ] as const) {
    it(`refuses ${what}`, () => {
      assert.throws(() => priceOf(product, variant), { name: 'SluiceError', code: 'InvalidArgument', message })
    })
  }

  it('accepts products whose fields the caller has typed', () => {
    interface Bread {
      name: string
      price: string
      default_price: string
      flour: string
    }
    const fields = { _id: 'o1', mediaFields: {}, name: 'Rye', price: '5.50', default_price: 'price_1', flour: 'rye' }
    const bread: IntegrationObject<Bread> = { ...simple, objectValue: fields }
    assert.equal(priceOf(bread).priceId, 'price_1')
  })
})
