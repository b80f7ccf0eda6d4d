import { isDeepStrictEqual } from 'node:util'
import { type Books, type OpenBooks, secondsOf } from './books.ts'
import { changeMetadata } from './checks.ts'
import { newId, type Price } from './objects.ts'
import type { ParameterTypes } from './parameters.ts'
import { noSuch, refuse } from './refusal.ts'

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
  const { recurring } = given
  const currency = given.currency.toLowerCase()
  if (!/^[a-z]{3}$/.test(currency)) throw refuse('currency', `Invalid currency: ${given.currency}.`)
  return {
    id,
    object: 'price',
    active: given.active ?? true,
    billing_scheme: 'per_unit',
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
          meter: null,
          trial_period_days: null,
          usage_type: 'licensed',
        }
      : null,
    tax_behavior: 'unspecified',
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
  const { active, product } = query
  return books.page(
    'price',
    query,
    (price) =>
      (active === undefined || price.active === active) && (product === undefined || price.product === product),
  )
}

/** A lookup key leads to one price. */
async function refuseTakenKey(books: Books, key: string | undefined): Promise<void> {
  if (key === undefined) return
  for await (const price of books.each('price'))
    if (price.lookup_key === key)
      throw refuse('lookup_key', `A price (\`${price.id}\`) already uses that lookup key.`, 'resource_already_exists')
}

async function productFor(books: Books, { product }: Given): Promise<string> {
  if (product === undefined) throw refuse('product', 'Missing required param: product.', 'parameter_missing')
  if (!(await books.find('product', product))) throw noSuch('product', product, 'product', 400)
  return product
}

export async function createPrice(books: OpenBooks, given: Given): Promise<Price> {
  const product = await productFor(books, given)
  await refuseTakenKey(books, given.lookup_key)
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
  if (given.lookup_key !== before.lookup_key) await refuseTakenKey(books, given.lookup_key)
  const after: Price = {
    ...before,
    active: given.active ?? before.active,
    lookup_key: given.lookup_key ?? before.lookup_key,
    metadata: changeMetadata(before.metadata, given.metadata),
    nickname: given.nickname ?? before.nickname,
  }
  if (isDeepStrictEqual(before, after)) return before
  await books.put('price', id, after)
  await books.tell('price.updated', after)
  return after
}
