import type { Books } from './books.ts'
import { type KeptLine, type LineItem, newId, type Price, type SessionRecord } from './objects.ts'
import type { ParameterTypes } from './parameters.ts'
import { noSuch, notInSandbox, Refusal, refuse } from './refusal.ts'

type Given = NonNullable<ParameterTypes['SessionCreateParams']['line_items']>[number]

const mostLines = 100
const mostUnits = 999_999

/** What is bought, with the checks that the provider makes; each price once. */
export async function makeLines(
  books: Books,
  given: readonly Given[],
  mode: string,
): Promise<Pick<SessionRecord, 'lines' | 'prices'>> {
  if (given.length === 0) throw refuse('line_items', 'Missing required param: line_items.', 'parameter_missing')
  if (given.length > mostLines) throw refuse('line_items', `A session can have ${mostLines} line items at most.`)
  const lines: KeptLine[] = []
  const priceById = new Map<string, Price>()
  for (const [index, wanted] of given.entries()) {
    const { line, price } = await makeLine(books, wanted, `line_items[${index}]`)
    lines.push(line)
    priceById.set(price.id, price)
  }
  const prices = [...priceById.values()]
  const recurs = prices.some(({ type }) => type === 'recurring')
  if (mode === 'payment' && recurs)
    throw refuse('mode', 'You specified `payment` mode but passed a recurring price. Use `subscription` mode instead.')
  if (mode === 'subscription' && !recurs)
    throw refuse('mode', 'You must provide at least one recurring price in `subscription` mode.')
  const currencies = new Set(prices.map(({ currency }) => currency))
  if (currencies.size > 1)
    throw new Refusal(400, `All line items must have the same currency, not ${[...currencies].join(' and ')}.`)
  return { lines, prices }
}

async function makeLine(books: Books, given: Given, at: string): Promise<{ line: KeptLine; price: Price }> {
  const { price: priceId, quantity } = given
  if (priceId === undefined) throw refuse(`${at}[price]`, `Missing required param: ${at}[price].`, 'parameter_missing')
  if (quantity === undefined)
    throw refuse(`${at}[quantity]`, `Missing required param: ${at}[quantity].`, 'parameter_missing')
  if (quantity < 1 || quantity > mostUnits)
    throw refuse(
      `${at}[quantity]`,
      `Quantity must be a whole number from 1 to ${mostUnits}.`,
      'parameter_invalid_integer',
    )
  const price = await books.find('price', priceId)
  if (!price) throw noSuch('price', priceId, `${at}[price]`, 400)
  const product = await books.find('product', price.product)
  if (!price.active || !product?.active) {
    const inactive = price.active ? `product \`${price.product}\`` : `price \`${priceId}\``
    throw refuse(`${at}[price]`, `The ${inactive} is not active and cannot be bought.`, 'price_inactive')
  }
  const amount = amountOf(price, quantity, at)
  return { line: { id: newId('li_'), priceId, description: product.name, quantity, amount }, price }
}

function amountOf({ unit_amount: whole, unit_amount_decimal: decimal }: Price, quantity: number, at: string): number {
  if (whole !== null) return whole * quantity
  if (decimal !== null) return Math.round(Number(decimal) * quantity)
  throw notInSandbox(`${at}[price] without a fixed amount`)
}

/** The lines of a session, as the provider shows them. */
export function linesOf({ session, lines, prices }: SessionRecord): LineItem[] {
  const priceById = new Map(prices.map((price) => [price.id, price]))
  return lines.map(({ id, priceId, description, quantity, amount }) => ({
    id,
    object: 'item',
    adjustable_quantity: null,
    amount_discount: 0,
    amount_subtotal: amount,
    amount_tax: 0,
    amount_total: amount,
    currency: session.currency ?? '',
    description,
    metadata: null,
    price: priceById.get(priceId) ?? null,
    quantity,
  }))
}
