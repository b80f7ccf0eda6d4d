import { type Books, type OpenBooks, secondsOf } from './books.ts'
import { within } from './created.ts'
import { differences } from './differences.ts'
import { changeMetadata } from './metadata.ts'
import { newId, type Price } from './objects.ts'
import type { ParameterTypes } from './parameters.ts'
import { noSuch, notInSandbox, refuse } from './refusal.ts'

type Given = ParameterTypes['PriceCreateParams']
type Amounts = Pick<Price, 'unit_amount' | 'unit_amount_decimal' | 'custom_unit_amount'>

const mostUnits = 99_999_999

function checkAmount(amount: number): void {
  if (amount < 0) throw refuse('unit_amount', 'Invalid non-negative integer', 'parameter_invalid_integer')
  if (amount > mostUnits)
    throw refuse('unit_amount', `The amount must be no more than ${mostUnits}.`, 'amount_too_large')
}

/** Exactly one of the ways to say what it costs. */
function amountsOf({ unit_amount: amount, unit_amount_decimal: decimal, custom_unit_amount: custom }: Given): Amounts {
  if ([amount, decimal, custom].filter((way) => way !== undefined).length > 1)
    throw refuse('unit_amount', 'Pass only one of unit_amount, unit_amount_decimal and custom_unit_amount.')
  if (custom) {
    const { maximum = null, minimum = null, preset = null } = custom
    return { unit_amount: null, unit_amount_decimal: null, custom_unit_amount: { maximum, minimum, preset } }
  }
  if (decimal !== undefined) {
    checkAmount(Number(decimal))
    const whole = /^\d+(\.0*)?$/.test(decimal) ? Number(decimal) : null
    return { unit_amount: whole, unit_amount_decimal: decimal, custom_unit_amount: null }
  }
  if (amount === undefined) throw refuse('unit_amount', 'Missing required param: unit_amount.', 'parameter_missing')
  checkAmount(amount)
  return { unit_amount: amount, unit_amount_decimal: String(amount), custom_unit_amount: null }
}

export function makePrice(given: Given, product: string, id: string, now: number): Price {
  const { recurring, tax_behavior = 'unspecified' } = given
  const currency = given.currency.toLowerCase()
  if (!/^[a-z]{3}$/.test(currency)) throw refuse('currency', `Invalid currency: ${given.currency}.`)
  for (const name of ['tiers', 'currency_options', 'transform_quantity'] as const)
    if (given[name]) throw notInSandbox(name)
  return {
    id,
    object: 'price',
    active: given.active ?? true,
    billing_scheme: given.billing_scheme ?? 'per_unit',
    created: now,
    currency,
    ...amountsOf(given),
    livemode: false,
    lookup_key: given.lookup_key ?? null,
    metadata: changeMetadata({}, given.metadata),
    nickname: given.nickname ?? null,
    product,
    recurring: recurring
      ? {
          interval: recurring.interval,
          interval_count: recurring.interval_count ?? 1,
          meter: recurring.meter ?? null,
          trial_period_days: recurring.trial_period_days ?? null,
          usage_type: recurring.usage_type ?? 'licensed',
        }
      : null,
    tax_behavior,
    tiers_mode: null,
    transform_quantity: null,
    type: recurring ? 'recurring' : 'one_time',
  }
}

export async function findPrice(books: Books, id: string): Promise<Price> {
  const price = await books.find('price', id)
  if (!price) throw noSuch('price', id, 'price')
  return price
}

export function listPrices(books: Books, query: ParameterTypes['PriceListParams']) {
  const { active, currency, product, type, lookup_keys: keys, recurring, created } = query
  if (recurring) throw notInSandbox('recurring')
  return books.page(
    'price',
    query,
    (price) =>
      (active === undefined || price.active === active) &&
      (currency === undefined || price.currency === currency.toLowerCase()) &&
      (product === undefined || price.product === product) &&
      (type === undefined || price.type === type) &&
      (keys === undefined || (price.lookup_key !== null && keys.includes(price.lookup_key))) &&
      within(created, price.created),
  )
}

/** A lookup key leads to one price: to take it from another one must be asked for. */
async function claimLookupKey(books: OpenBooks, key: string | undefined, transfers: boolean | undefined) {
  if (key === undefined) return
  for await (const price of books.each('price')) {
    if (price.lookup_key !== key) continue
    if (!transfers)
      throw refuse('lookup_key', `A price (\`${price.id}\`) already uses that lookup key.`, 'resource_already_exists')
    const without = { ...price, lookup_key: null }
    await books.put('price', price.id, without)
    await books.tell('price.updated', without, { lookup_key: key })
  }
}

async function productFor(books: OpenBooks, { product, product_data: data }: Given): Promise<string> {
  if (data) throw notInSandbox('product_data')
  if (product === undefined) throw refuse('product', 'Missing required param: product.', 'parameter_missing')
  if (!(await books.find('product', product))) throw noSuch('product', product, 'product', 400)
  return product
}

export async function createPrice(books: OpenBooks, given: Given): Promise<Price> {
  const product = await productFor(books, given)
  await claimLookupKey(books, given.lookup_key, given.transfer_lookup_key)
  const price = makePrice(given, product, newId('price_'), secondsOf(books))
  await books.put('price', price.id, price)
  await books.tell('price.created', price)
  return price
}

export async function updatePrice(
  books: OpenBooks,
  id: string,
  given: ParameterTypes['PriceUpdateParams'],
): Promise<Price> {
  const before = await findPrice(books, id)
  if (given.currency_options) throw notInSandbox('currency_options')
  if (given.lookup_key !== before.lookup_key) await claimLookupKey(books, given.lookup_key, given.transfer_lookup_key)
  const after: Price = {
    ...before,
    active: given.active ?? before.active,
    lookup_key: given.lookup_key ?? before.lookup_key,
    metadata: changeMetadata(before.metadata, given.metadata),
    nickname: given.nickname ?? before.nickname,
    tax_behavior: given.tax_behavior ?? before.tax_behavior,
  }
  const previous = differences(before, after)
  if (!previous) return before
  await books.put('price', id, after)
  await books.tell('price.updated', after, previous)
  return after
}
