import type { Static } from 'typebox'
import { toIso } from '../content/moments.ts'
import { orderStatuses } from '../content/orders.ts'
import { notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { limitParameter, skipParameter } from '../http/query.ts'
import { findOrder, listOrders, type Order } from '../store/commerce/orders.ts'
import { id, listOf, moment, orNull, ownId } from './shapes.ts'
import { defineGroupVerb } from './verb.ts'

const text = orNull(Type.String())
const amount = Type.String({ description: 'In the currency’s main unit.', examples: ['12.50'] })

const orderShape = Type.Object({
  _id: ownId,
  status: Type.Enum([...orderStatuses], {
    description: 'Whether it was paid: `pending` while the bank processes the payment, then `paid` or `failed`.',
  }),
  live: Type.Boolean({ description: 'Whether real money moved.' }),
  total: amount,
  subtotal: amount,
  currency: Type.String(),
  email: text,
  name: text,
  phone: text,
  shipping: orNull(
    Type.Object({
      name: text,
      address: Type.Object({ line1: text, line2: text, city: text, state: text, postalCode: text, country: text }),
    }),
  ),
  lines: Type.Array(
    Type.Object({
      description: Type.String(),
      quantity: Type.Integer(),
      amount,
      priceId: text,
      productId: text,
    }),
  ),
  mode: Type.Enum(['payment', 'subscription']),
  siteId: text,
  type: Type.String(),
  accountHandle: Type.String(),
  sessionId: Type.String({ description: 'The provider’s id of the session, which the site gets as session_id.' }),
  paymentId: text,
  createdAt: moment,
  updatedAt: moment,
})

const showOrder = ({ id: _id, createdMs, updatedMs, ...order }: Order): Static<typeof orderShape> => ({
  _id,
  ...order,
  createdAt: toIso(createdMs),
  updatedAt: toIso(updatedMs),
})

export const orderVerbs = [
  defineGroupVerb({
    name: 'order list',
    summary: 'Show the orders, newest first',
    input: {
      status: Type.Optional(Type.Enum([...orderStatuses], { description: 'Only orders in this state.' })),
      sessionId: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description: 'Only the order of this checkout: the session_id in the URL that the customer returns to.',
        }),
      ),
      limit: limitParameter,
      skip: skipParameter,
    },
    answer: listOf(orderShape),
    columns: ['_id', 'createdAt', 'status', 'live', 'total', 'currency', 'email', 'lines'],
    async run({ ctx, input }) {
      const { status, sessionId, limit = 100, skip = 0 } = input
      const { orders, totalCount } = await listOrders(ctx.content, { status, sessionId, limit, skip })
      return { items: orders.map(showOrder), totalCount }
    },
  }),
  defineGroupVerb({
    name: 'order show',
    summary: 'Show one order',
    input: { orderId: id('The order’s _id.') },
    answer: orderShape,
    async run({ ctx, input }) {
      const order = await findOrder(ctx.content, input.orderId)
      if (!order) throw notFound('There is no such order in this group.')
      return showOrder(order)
    },
  }),
]
