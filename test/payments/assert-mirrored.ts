import assert from 'node:assert/strict'
import type { IntegrationObject } from '../../client/src/wire.ts'
import { objectKeyOf } from '../../src/content/catalogue.ts'
import { projectProduct } from '../../src/content/products.ts'
import type { Page, Provider } from '../../src/payments/provider.ts'
import type { TestGroup } from '../helpers/harness.ts'

export async function allPages<Item>(list: (after: string | undefined) => Promise<Page<Item>>): Promise<Item[]> {
  const items: Item[] = []
  for (let after: string | undefined; ; ) {
    const page = await list(after)
    items.push(...page.items)
    if (page.next === undefined) return items
    after = page.next
  }
}

/** Everything delivered to websites, by the provider's id. */
async function deliveredProducts({ get }: Pick<TestGroup, 'get'>): Promise<Map<string, IntegrationObject>> {
  const delivered = new Map<string, IntegrationObject>()
  for (let skip = 0; ; skip += 100) {
    const answer = await get(`/tenant/integrationObjects?type=stripe&limit=100&skip=${skip}`)
    const { items, totalCount }: { items: IntegrationObject[]; totalCount: number } = answer.json().data
    for (const item of items) delivered.set(item.id, item)
    if (items.length > 0) continue
    assert.equal(delivered.size, totalCount, 'no product twice, and none left out')
    return delivered
  }
}

/** Asserts that the delivered products follow exactly from the provider's current catalogue. Returns their number. */
export async function assertMirrored(group: Pick<TestGroup, 'get'>, provider: Provider): Promise<number> {
  const prices = Map.groupBy(await allPages(provider.listPrices), ({ productId }) => productId)
  const products = await allPages(provider.listProducts)
  const members = Map.groupBy(
    products.map((product) => ({ product, prices: prices.get(product.id) ?? [] })),
    ({ product }) => objectKeyOf(product),
  )
  const delivered = await deliveredProducts(group)
  for (const [key, parts] of members) {
    const { value } = projectProduct(parts, new Map())
    const item = delivered.get(key)
    delivered.delete(key)
    if (!value || !item) {
      assert.equal(item?.objectValue, value, key)
      continue
    }
    const { _id, mediaFields, ...shown } = item.objectValue
    assert.deepEqual(shown, value, key)
    const variants = value.variantName === undefined ? undefined : Object.keys(Object(value.price))
    assert.deepEqual(item.usingVariant?.values, variants, key)
  }
  assert.deepEqual([...delivered.keys()], [], 'nothing else is delivered')
  return members.size
}
