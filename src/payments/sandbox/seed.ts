import type { GroupStore } from '../../store/groups.ts'
import { addSandboxObjects } from '../../store/sandbox.ts'
import { writeBooks } from './books.ts'
import type { Kind } from './objects.ts'
import type { ParameterTypes } from './parameters.ts'
import { makePrice } from './prices.ts'
import { makeProduct } from './products.ts'

/** A product with its prices, under ids of one's own choice; the first price is its default one. */
export interface SeedProduct {
  product: Omit<ParameterTypes['ProductCreateParams'], 'id' | 'default_price_data'> & { id: string }
  prices: readonly (Omit<ParameterTypes['PriceCreateParams'], 'product' | 'product_data'> & { id: string })[]
}

/** Fills an account of the sandbox, without telling anybody. The last ones are the newest. */
export async function seedSandbox(
  group: GroupStore,
  integrationId: string,
  products: readonly SeedProduct[],
  nowMs: number,
): Promise<void> {
  const now = Math.floor(nowMs / 1000)
  const madeProducts = products.map(({ product, prices }) => ({
    ...makeProduct(product, product.id, now),
    default_price: prices[0]?.id ?? null,
  }))
  const madePrices = products.flatMap(({ product, prices }) =>
    prices.map((price) => makePrice(price, product.id, price.id, now)),
  )
  await writeBooks(group, integrationId, nowMs, async ({ writer }) => {
    const add = (kind: Kind, objects: readonly { id: string }[]) =>
      addSandboxObjects(
        writer,
        integrationId,
        kind,
        objects.map((object) => ({ id: object.id, data: JSON.stringify(object) })),
      )
    await add('product', madeProducts)
    await add('price', madePrices)
  })
}
