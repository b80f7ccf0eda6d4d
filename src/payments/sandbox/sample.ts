import type { SeedProduct } from './catalogue.ts'

const currency = 'usd'

/**
 * A small sample shop: a simple product, one whose variants are products, one whose variants are prices, and a
 * subscription. Ids are unique to the account handle, so a reconnected account has the same ids again.
 */
export function sampleProducts(accountHandle: string): SeedProduct[] {
  const productId = (name: string): string => `prod_${accountHandle}_${name}`
  const priceId = (name: string): string => `price_${accountHandle}_${name}`

  /** Products created in the same second are ordered by id. */
  const shirt = (number: number, variant: string, cents: number): SeedProduct => ({
    product: {
      id: productId(`shirt_${number}`),
      name: `T-shirt, ${variant.toLowerCase()}`,
      description: 'Heavy cotton, with a small print on the front.',
      metadata: { productType: 'Clothing', variant_of: productId('shirt'), variant, variant_name: 'size' },
    },
    prices: [{ id: priceId(`shirt_${number}`), currency, unit_amount: cents }],
  })

  return [
    {
      product: {
        id: productId('mug'),
        name: 'Mug',
        description: 'Stoneware, for a large coffee.',
        metadata: { productType: 'Kitchen' },
      },
      prices: [{ id: priceId('mug'), currency, unit_amount: 1400 }],
    },
    shirt(1, 'Small', 2400),
    shirt(2, 'Large', 2600),
    {
      product: {
        id: productId('poster'),
        name: 'Poster',
        description: 'Printed on thick, matt paper.',
        metadata: { productType: 'Print', variant_name: 'format' },
      },
      prices: [
        { id: priceId('poster_1'), currency, unit_amount: 1800, nickname: 'A3' },
        { id: priceId('poster_2'), currency, unit_amount: 2900, nickname: 'A2' },
      ],
    },
    {
      product: {
        id: productId('coffee_club'),
        name: 'Coffee club',
        description: 'A bag of beans at your door every month.',
        metadata: { productType: 'Subscription' },
      },
      prices: [{ id: priceId('coffee_club'), currency, unit_amount: 1600, recurring: { interval: 'month' } }],
    },
  ]
}
