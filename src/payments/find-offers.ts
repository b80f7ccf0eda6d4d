import { createLruMap } from '../cache/lru-map.ts'
import type { KnownPrice } from '../content/checkout.ts'
import type { Clock } from '../core/clock.ts'
import { AppError, invalid } from '../core/errors.ts'
import { findPrices } from '../store/commerce/catalogue.ts'
import type { Integration } from '../store/commerce/integrations.ts'
import { findGroupById } from '../store/control/groups.ts'
import type { GroupStore, Store } from '../store/store.ts'
import { refreshProduct } from './mirror/mirror.ts'
import type { Payments } from './payments.ts'

/** Few prices are newer than our mirror: a request that names many unknown ones is not worth calls to the provider. */
const maxUnknown = 10
/** A request must be answered within 25 seconds, and the session is still to be created. */
const maxLookupMs = 10_000
/** How long negative lookups are cached. */
const missTtlMs = 30_000
const maxCachedMisses = 10_000

export interface OfferDeps {
  store: Store
  payments: Pick<Payments, 'open'>
  clock: Clock
}

const unknownPrice = (priceId: string): AppError =>
  invalid(`products: the payment provider does not know the price "${priceId}".`)

/** Finds the offers of prices at these accounts. Unknown prices are refused, inactive ones left out. */
export type FindOffers = (
  group: GroupStore,
  accounts: readonly Integration[],
  priceIds: readonly string[],
) => Promise<KnownPrice[]>

/** Reads our mirror, and asks the provider about prices that it lacks (yet). */
export function createOfferFinder(deps: OfferDeps): FindOffers {
  /** Prices that cannot be sold: unknown to every account, or inactive. */
  const misses = createLruMap<string, { untilMs: number; isUnknown: boolean }>(maxCachedMisses)
  const cacheKey = ({ groupId }: GroupStore, priceId: string): string => `${groupId} ${priceId}`

  function cacheMiss(group: GroupStore, priceId: string, isUnknown: boolean): void {
    misses.set(cacheKey(group, priceId), { untilMs: deps.clock() + missTtlMs, isUnknown })
  }

  function findMiss(group: GroupStore, priceId: string) {
    const found = misses.get(cacheKey(group, priceId))
    return found && found.untilMs > deps.clock() ? found : undefined
  }

  /** Mirrors the product of a price. False if no account has the price. */
  async function fetchProductOf(group: GroupStore, accounts: readonly Integration[], priceId: string) {
    for (const account of accounts) {
      const provider = await deps.payments.open(group, account)
      const productId = await provider.findProductOfPrice(priceId)
      if (productId === undefined) continue
      const { versionsKept } = await findGroupById(deps.store, group.groupId)
      await refreshProduct({ ...deps, versionsKept }, group, account, provider, productId)
      return true
    }
    return false
  }

  async function fetchUnknown(group: GroupStore, accounts: readonly Integration[], priceIds: readonly string[]) {
    const sinceMs = performance.now()
    for (const priceId of priceIds) {
      if (performance.now() - sinceMs > maxLookupMs)
        throw new AppError('Unavailable', 'The payment provider responds slowly. Try again in a moment.', {
          retryAfterSeconds: 1,
        })
      if (await fetchProductOf(group, accounts, priceId)) continue
      cacheMiss(group, priceId, true)
      throw unknownPrice(priceId)
    }
  }

  return async (group, accounts, priceIds) => {
    const find = async () =>
      (await findPrices(group, priceIds)).filter((offer) => accounts.some(({ id }) => id === offer.integrationId))
    const known = await find()
    const isKnown = (offers: readonly KnownPrice[], id: string) => offers.some(({ price }) => price.id === id)
    const unknown = priceIds.filter((id) => !isKnown(known, id))
    if (unknown.length === 0) return known
    const cached = new Map(unknown.map((id) => [id, findMiss(group, id)]))
    const missing = unknown.find((id) => cached.get(id)?.isUnknown)
    if (missing !== undefined) throw unknownPrice(missing)
    const uncached = unknown.filter((id) => !cached.get(id))
    if (uncached.length > maxUnknown) throw invalid(`products: ${uncached.length} of the prices are unknown.`)
    await fetchUnknown(group, accounts, uncached)
    const found = await find()
    for (const id of uncached) if (!isKnown(found, id)) cacheMiss(group, id, false)
    return found
  }
}
