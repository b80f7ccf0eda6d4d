/** A completed session is an order, whether or not it has been paid. */
export const orderStatuses = ['pending', 'paid', 'failed'] as const
export type OrderStatus = (typeof orderStatuses)[number]

/** Events arrive in any order, so the status only advances: a failed payment may still succeed, but paid is final. */
export const nextStatus = (before: OrderStatus, reported: OrderStatus): OrderStatus =>
  before === 'paid' || reported === 'pending' ? before : reported

/** The goods, the customer and the shipping address. Amounts are decimal strings in the currency's main unit. */
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
