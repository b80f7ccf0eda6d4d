import { keptPrices, keptProducts, objectKeyOf } from '../../content/catalogue.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import {
  deletePrices,
  deleteProducts,
  findKnownProducts,
  findPriceSeqsOf,
  upsertPrices,
  upsertProducts,
} from '../../store/commerce/catalogue.ts'
import { findIntegrationById, type Integration, updateSyncState } from '../../store/commerce/integrations.ts'
import { type ContentWriter, writeContent } from '../../store/content/changes.ts'
import type { GroupStore } from '../../store/store.ts'
import type { Provider } from '../provider.ts'
import { nothingDone, rebuildObjects, type Tally } from './objects.ts'

/** Attempts if others keep writing the product while it is being fetched. */
const maxFetches = 20

export interface MirrorDeps {
  clock: Clock
  versionsKept: number
}

type Fetched = Awaited<ReturnType<Provider['fetchProduct']>>

/** The storable part of a product and its prices. The next walk reports the rest. */
function storablePart(fetched: Fetched): Fetched {
  const [product] = fetched ? keptProducts([fetched.product]).items : []
  return fetched && product && { product, prices: keptPrices(fetched.prices).items }
}

/** Every write to the mirror, with the provider as the author. */
export function writeMirror<Result>(
  { clock, versionsKept }: MirrorDeps,
  group: GroupStore,
  { type }: Pick<Integration, 'type'>,
  work: (writer: ContentWriter) => Promise<Result>,
): Promise<Result> {
  const author = { id: null, name: type, address: '' }
  return writeContent(group, { author, verb: 'catalogue', nowMs: clock(), versionsKept }, work)
}

/**
 * Whether fetched data may be written, or newer data may be stored already. Writes to a catalogue are numbered: `before` is
 * the integration before the fetch, `current` the integration now, `seq` the write that stored the existing row. A missing
 * row may have been removed since the fetch.
 */
export const isFresh = (before: Integration, current: Integration, seq: number | undefined): boolean =>
  (seq ?? current.removedSeq) <= before.catalogueSeq

/** Fetches a product from the provider and mirrors its current state. */
export async function refreshProduct(
  deps: MirrorDeps,
  group: GroupStore,
  { id }: Pick<Integration, 'id'>,
  provider: Pick<Provider, 'fetchProduct'>,
  productId: string,
): Promise<Tally> {
  for (let fetches = 0; fetches < maxFetches; fetches += 1) {
    const before = await findIntegrationById(group, id)
    if (before?.status !== 'active') return nothingDone
    const fetched = storablePart(await provider.fetchProduct(productId))
    const tally = await writeMirror(deps, group, before, (writer) => replaceProduct(writer, before, productId, fetched))
    if (tally) return tally
  }
  const busy = `The product ${productId} was changed during each of ${maxFetches} fetches.`
  throw new AppError('Unavailable', busy, { retryAfterSeconds: 1 })
}

/** Returns undefined and writes nothing if the stored rows may be newer than the fetched ones. */
async function replaceProduct(
  writer: ContentWriter,
  before: Integration,
  productId: string,
  fetched: Fetched,
): Promise<Tally | undefined> {
  const { group } = writer
  const { id } = before
  const current = await findIntegrationById(group, id)
  if (current?.status !== 'active') return nothingDone
  const known = (await findKnownProducts(group, id, [productId])).get(productId)
  const priceSeqs = await findPriceSeqsOf(group, id, productId)
  const fetchedIds = new Set(fetched?.prices.map((price) => price.id))
  const seqs = [known?.seq, ...priceSeqs.values(), ...[...fetchedIds].map((priceId) => priceSeqs.get(priceId))]
  if (!seqs.every((seq) => isFresh(before, current, seq))) return undefined
  const seq = current.catalogueSeq + 1
  const goneIds = [...priceSeqs.keys()].filter((priceId) => !fetchedIds.has(priceId))
  if (fetched) {
    await upsertProducts(writer, id, [fetched.product], { seq })
    await upsertPrices(writer, id, fetched.prices, { seq })
    await deletePrices(writer, id, goneIds)
  } else {
    await deleteProducts(writer, id, [productId])
  }
  const removes = goneIds.length > 0 || (known !== undefined && !fetched)
  await updateSyncState(writer, id, { catalogueSeq: seq, ...(removes && { removedSeq: seq }) })
  const keys = new Set([known?.objectKey, fetched && objectKeyOf(fetched.product)].filter((key) => key !== undefined))
  return rebuildObjects(writer, current, [...keys])
}
