/** A session that was completed is an order; whether the money has come is another question. */
export const orderStatuses = ['pending', 'paid', 'failed'] as const
export type OrderStatus = (typeof orderStatuses)[number]

/** Events come in any order, so the status only goes forward: money that failed may come after all, money that came stays. */
export function nextStatus(before: OrderStatus, told: OrderStatus): OrderStatus {
  if (before === 'paid' || told === 'pending') return before
  return told
}

/** What was bought, for whom and where to. Amounts are decimal texts in the currency's main unit. */
export interface Purchase {
  mode: 'payment' | 'subscription'
  currency: string
  subtotal: string
  total: string
  email: string | null
  name: string | null
  phone: string | null
  shipping: ShippingDetails | null
  lines: PurchaseLine[]
  /** The provider's id of the payment or the subscription. */
  paymentId: string | null
}

export interface ShippingDetails {
  name: string | null
  address: {
    line1: string | null
    line2: string | null
    city: string | null
    state: string | null
    postalCode: string | null
    country: string | null
  }
}

export interface PurchaseLine {
  description: string
  priceId: string | null
  productId: string | null
  quantity: number
  amount: string
}
