import type Stripe from 'stripe'

/** Whether a moment is what a list was asked for. */
export function within(wanted: Stripe.RangeQueryParam | number | undefined, moment: number): boolean {
  if (wanted === undefined) return true
  if (typeof wanted === 'number') return moment === wanted
  const { gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity } = wanted
  return moment > gt && moment >= gte && moment < lt && moment <= lte
}
