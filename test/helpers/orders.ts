import type { NewOrder } from '../../src/store/commerce/orders.ts'
import { testStartMs } from './harness.ts'

/** Two loaves, sent to Ada. */
export const newOrder = (more: Partial<NewOrder> = {}): NewOrder => ({
  type: 'stripe',
  accountHandle: 'main',
  sessionId: 'cs_1',
  status: 'paid',
  live: false,
  mode: 'payment',
  currency: 'cad',
  subtotal: '18.00',
  total: '18.00',
  email: 'ada@people.example',
  name: 'Ada',
  phone: null,
  shipping: {
    name: 'Ada',
    address: { line1: '1 Main St', line2: null, city: 'Toronto', state: 'ON', postalCode: 'M5V', country: 'CA' },
  },
  lines: [{ description: 'Sourdough loaf', priceId: 'price_1', productId: 'prod_1', quantity: 2, amount: '18.00' }],
  paymentId: 'pi_1',
  siteId: null,
  createdMs: testStartMs,
  ...more,
})
