import { keptPrices, keptProducts, objectKeyOf } from '../../content/catalogue.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import {
  deletePrices,
  deleteProducts,
  findKnownProducts,
  findPriceSeqsOf,
  writePrices,
  writeProducts,
} from '../../store/commerce/catalogue.ts'
import { findIntegrationById, type Integration, updateSyncState } from '../../store/commerce/integrations.ts'
import { type ContentWriter, writeContent } from '../../store/content/changes.ts'
import type { GroupStore } from '../../store/store.ts'
import type { Provider } from '../provider.ts'
import { nothingDone, rebuildObjects, type Tally } from './objects.ts'

/** So often somebody else may write about the same product while we ask for it. */
const mostFetches = 20

export interface MirrorDeps {
  clock: Clock
  /** As many as the group wants kept of each object. */
  versionsKept: number
}

type Fetched = Awaited<ReturnType<Provider['fetchProduct']>>

/** What can be kept of a product and its prices. What cannot, the next walk tells. */
function keptOf(fetched: Fetched): Fetched {
  const [product] = fetched ? keptProducts([fetched.product]).items : []
  return fetched && product && { product, prices: keptPrices(fetched.prices).items }
}

/** Every write to the mirror: nobody's doing but the provider's. */
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
 * Whether something that was fetched may be written, or something newer is there. Writes to a catalogue are numbered:
 * `asked` is the integration as it was before the fetch, `current` as it is now, `seq` the write that made what is there.
 * What is not there may have been removed meanwhile.
 */
export function isFresh(asked: Integration, current: Integration, seq: number | undefined): boolean {
  return (seq ?? current.removedSeq) <= asked.catalogueSeq
}

/** Asks the provider what a product is like now, and makes ours the same. */
export async function refreshProduct(
  deps: MirrorDeps,
  group: GroupStore,
  { id }: Pick<Integration, 'id'>,
  provider: Pick<Provider, 'fetchProduct'>,
  productId: string,
): Promise<Tally> {
  for (let fetches = 0; fetches < mostFetches; fetches += 1) {
    const asked = await findIntegrationById(group, id)
    if (asked?.status !== 'active') return nothingDone
    const fetched = keptOf(await provider.fetchProduct(productId))
    const tally = await writeMirror(deps, group, asked, (writer) => replaceProduct(writer, asked, productId, fetched))
    if (tally) return tally
  }
  const busy = `The product ${productId} was written by others each time that we asked for it.`
  throw new AppError('Unavailable', busy, { retryAfterSeconds: 1 })
}

/** Undefined, and nothing written, where what is there may be newer than what was fetched. */
async function replaceProduct(
  writer: ContentWriter,
  asked: Integration,
  productId: string,
  fetched: Fetched,
): Promise<Tally | undefined> {
  const { group } = writer
  const { id } = asked
  const current = await findIntegrationById(group, id)
  if (current?.status !== 'active') return nothingDone
  const known = (await findKnownProducts(group, id, [productId])).get(productId)
  const priceSeqs = await findPriceSeqsOf(group, id, productId)
  const fetchedIds = new Set(fetched?.prices.map((price) => price.id))
  const seqs = [known?.seq, ...priceSeqs.values(), ...[...fetchedIds].map((priceId) => priceSeqs.get(priceId))]
  if (!seqs.every((seq) => isFresh(asked, current, seq))) return undefined
  const seq = current.catalogueSeq + 1
  const goneIds = [...priceSeqs.keys()].filter((priceId) => !fetchedIds.has(priceId))
  if (fetched) {
    await writeProducts(writer, id, [fetched.product], { seq })
    await writePrices(writer, id, fetched.prices, { seq })
    await deletePrices(writer, id, goneIds)
  } else {
    await deleteProducts(writer, id, [productId])
  }
  const removes = goneIds.length > 0 || (known !== undefined && !fetched)
  await updateSyncState(writer, id, { catalogueSeq: seq, ...(removes && { removedSeq: seq }) })
  const keys = new Set([known?.objectKey, fetched && objectKeyOf(fetched.product)].filter((key) => key !== undefined))
  return rebuildObjects(writer, current, [...keys])
}
