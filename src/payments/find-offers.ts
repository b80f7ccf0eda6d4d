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

/** Few are newer than our mirror. Who names many that it lacks makes us ask for nothing. */
const mostUnknown = 10
/** A request must have its answer within 25 seconds, and the session is still to be made. */
const mostAskingMs = 10_000
/** So long an answer that was no use is not asked for again. */
const memoryMs = 30_000
const mostRemembered = 10_000

export interface OfferDeps {
  store: Store
  payments: Pick<Payments, 'open'>
  clock: Clock
}

const unknownPrice = (priceId: string): AppError =>
  invalid(`products: the payment provider does not know the price "${priceId}".`)

/** What prices belong to, at these accounts. Those that nobody knows are refused; those that are not in use are left out. */
export type FindOffers = (
  group: GroupStore,
  accounts: readonly Integration[],
  priceIds: readonly string[],
) => Promise<KnownPrice[]>

/** Looks into our mirror, and asks the provider where it does not know a price (yet). */
export function createOfferFinder(deps: OfferDeps): FindOffers {
  /** Prices that are no use: not known to anybody, or known and not in use. */
  const remembered = createLruMap<string, { untilMs: number; isUnknown: boolean }>(mostRemembered)
  const placeOf = ({ groupId }: GroupStore, priceId: string): string => `${groupId} ${priceId}`

  function remember(group: GroupStore, priceId: string, isUnknown: boolean): void {
    remembered.set(placeOf(group, priceId), { untilMs: deps.clock() + memoryMs, isUnknown })
  }

  function recall(group: GroupStore, priceId: string) {
    const found = remembered.get(placeOf(group, priceId))
    return found && found.untilMs > deps.clock() ? found : undefined
  }

  /** Brings the product of a price into our mirror. False where no account knows it. */
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
      if (performance.now() - sinceMs > mostAskingMs)
        throw new AppError('Unavailable', 'The payment provider answers slowly. Try again in a moment.', {
          retryAfterSeconds: 1,
        })
      if (await fetchProductOf(group, accounts, priceId)) continue
      remember(group, priceId, true)
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
    const memories = new Map(unknown.map((id) => [id, recall(group, id)]))
    const nobodys = unknown.find((id) => memories.get(id)?.isUnknown)
    if (nobodys !== undefined) throw unknownPrice(nobodys)
    const asked = unknown.filter((id) => !memories.get(id))
    if (asked.length > mostUnknown) throw invalid(`products: ${asked.length} of the prices are not known here.`)
    await fetchUnknown(group, accounts, asked)
    const found = await find()
    for (const id of asked) if (!isKnown(found, id)) remember(group, id, false)
    return found
  }
}
