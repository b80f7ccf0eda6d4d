import { type CatalogueProduct, isProviderId, keptPrices, keptProducts, objectKeyOf } from '../../content/catalogue.ts'
import { sessionOwner } from '../../content/checkout.ts'
import { dayMs } from '../../core/clock.ts'
import {
  findKnownProducts,
  findOrphanedKeys,
  findPriceSeqs,
  findUnseenProducts,
  upsertPrices,
  upsertProducts,
} from '../../store/commerce/catalogue.ts'
import {
  type CatalogueWalk,
  findIntegrationById,
  findingsOf,
  type Integration,
  updateSyncState,
} from '../../store/commerce/integrations.ts'
import { findKnownSessions } from '../../store/commerce/orders.ts'
import type { ContentWriter } from '../../store/content/changes.ts'
import { insertJob } from '../../store/jobs/jobs.ts'
import type { GroupStore } from '../../store/store.ts'
import { orderJob, refreshJob } from '../jobs.ts'
import { type Page, type Provider, ProviderFailure } from '../provider.ts'
import { isFresh, type MirrorDeps, refreshProduct, writeMirror } from './mirror.ts'
import { rebuildObjects, type Tally } from './objects.ts'

/** Sessions are listed from some time before the last sync, since it can take a day to complete one. */
const ordersOverlapMs = 2 * dayMs
const productsPerConfirmation = 20
const keysPerStep = 100
const maxProblems = 50

export interface WalkStep {
  deps: MirrorDeps
  group: GroupStore
  /** As read before any fetch of this step. */
  integration: Integration
  walk: CatalogueWalk
  provider: Provider
}

export const newWalk = (number: number, startedMs: number): CatalogueWalk => ({
  number,
  startedMs,
  phase: 'prices',
  isSecondTry: false,
  prices: 0,
  products: 0,
  added: 0,
  changed: 0,
  archived: 0,
  ordersFound: 0,
  problems: [],
})

/** The counters of each phase, for restarting it. */
const countsOfPhase = {
  prices: { prices: 0 },
  products: { products: 0 },
  missing: {},
  strays: {},
  orders: { ordersFound: 0 },
} satisfies Record<CatalogueWalk['phase'], Partial<CatalogueWalk>>

type SyncState = Parameters<typeof updateSyncState>[2]

/** Commits the findings of a step together with the new cursor; does nothing if another process has taken over the walk. */
function advance(
  { deps, group, integration, walk }: WalkStep,
  work: (writer: ContentWriter, current: Integration) => Promise<SyncState>,
): Promise<void> {
  return writeMirror(deps, group, integration, async (writer) => {
    const current = await findIntegrationById(writer.group, integration.id)
    const isOurs = current?.status === 'active' && JSON.stringify(current.walk) === JSON.stringify(walk)
    if (isOurs) await updateSyncState(writer, integration.id, await work(writer, current))
  })
}

const withProblems = (walk: CatalogueWalk, problems: readonly string[]): CatalogueWalk => ({
  ...walk,
  problems: [...walk.problems, ...problems].slice(0, maxProblems),
})

const withTally = (walk: CatalogueWalk, { added, changed, archived, problems }: Tally): CatalogueWalk => ({
  ...withProblems(walk, problems),
  added: walk.added + added,
  changed: walk.changed + changed,
  archived: walk.archived + archived,
})

const beginPhase = (walk: CatalogueWalk, phase: CatalogueWalk['phase']): CatalogueWalk => ({
  ...walk,
  phase,
  cursor: undefined,
  isSecondTry: false,
})

/** Continues after a page, or with the next phase after the last page. */
const continueWalk = (
  walk: CatalogueWalk,
  cursor: string | undefined,
  nextPhase: CatalogueWalk['phase'],
): CatalogueWalk => (cursor === undefined ? beginPhase(walk, nextPhase) : { ...walk, cursor })

/** Undefined if the provider no longer accepts our cursor: the phase then restarts, once. */
async function readPage<Item>(step: WalkStep, page: Promise<Page<Item>>): Promise<Page<Item> | undefined> {
  const { walk } = step
  try {
    return await page
  } catch (error) {
    const isLost = error instanceof ProviderFailure && error.kind === 'unknown' && walk.cursor !== undefined
    if (!isLost || walk.isSecondTry) throw error
    const restarted = { ...walk, ...countsOfPhase[walk.phase], cursor: undefined, isSecondTry: true }
    await advance(step, async () => ({ walk: restarted }))
    return undefined
  }
}

const idsOf = (items: readonly { id: string }[]): string[] => items.map(({ id }) => id)

/** Whether an item of a page may be written, or is older than the stored row. */
const lateness = ({ integration }: WalkStep, current: Integration, seq: number | undefined): 'fresh' | 'late' =>
  isFresh(integration, current, seq) ? 'fresh' : 'late'

/** Enqueues single fetches of products for which a page came too late. */
async function enqueueRefreshes(
  writer: ContentWriter,
  { id }: Integration,
  productIds: Iterable<string>,
): Promise<void> {
  for (const productId of new Set(productIds)) await insertJob(writer, refreshJob(id, productId))
}

/** Prices come first, so that products can be built as soon as they arrive. */
async function walkPrices(step: WalkStep): Promise<void> {
  const { integration, walk, provider } = step
  const page = await readPage(step, provider.listPrices(walk.cursor))
  if (!page) return
  const { items, problems } = keptPrices(page.items)
  await advance(step, async (writer, current) => {
    const seqs = await findPriceSeqs(writer.group, integration.id, idsOf(items))
    const { fresh = [], late = [] } = Object.groupBy(items, ({ id }) => lateness(step, current, seqs.get(id)))
    const seq = current.catalogueSeq + 1
    await upsertPrices(writer, integration.id, fresh, { seq, walk: walk.number })
    const lateIds = late.map(({ productId }) => productId)
    await enqueueRefreshes(writer, integration, lateIds)
    const counted = { ...withProblems(walk, problems), prices: walk.prices + page.items.length }
    return { catalogueSeq: seq, walk: continueWalk(counted, page.next, 'products') }
  })
}

/** Products whose default price was probably created after the walk through the prices. */
async function withoutDefaultPrice(group: GroupStore, { id }: Integration, products: readonly CatalogueProduct[]) {
  const known = await findPriceSeqs(group, id, products.flatMap(({ defaultPriceId }) => defaultPriceId ?? [])) // biome-ignore format: short
  return products.filter(({ defaultPriceId }) => defaultPriceId !== null && !known.has(defaultPriceId))
}

async function walkProducts(step: WalkStep): Promise<void> {
  const { integration, walk, provider } = step
  const page = await readPage(step, provider.listProducts(walk.cursor))
  if (!page) return
  const { items, problems } = keptProducts(page.items)
  await advance(step, async (writer, current) => {
    const known = await findKnownProducts(writer.group, integration.id, idsOf(items))
    const { fresh = [], late = [] } = Object.groupBy(items, ({ id }) => lateness(step, current, known.get(id)?.seq))
    const seq = current.catalogueSeq + 1
    await upsertProducts(writer, integration.id, fresh, { seq, walk: walk.number })
    const unpriced = await withoutDefaultPrice(writer.group, integration, fresh)
    await enqueueRefreshes(writer, integration, idsOf([...late, ...unpriced]))
    const formerKeys = fresh.flatMap(({ id }) => known.get(id)?.objectKey ?? [])
    const keys = new Set([...formerKeys, ...fresh.map(objectKeyOf)])
    const tally = await rebuildObjects(writer, current, [...keys])
    const found = withTally(withProblems(walk, problems), tally)
    const counted = { ...found, products: walk.products + page.items.length }
    // Items on no page may be deleted: data fetched before this write must be fetched again.
    const isLast = page.next === undefined
    return { catalogueSeq: seq, ...(isLast && { removedSeq: seq }), walk: continueWalk(counted, page.next, 'missing') }
  })
}

/** Fetches products that were on no page, or have a price that was on none: a page may have been older than they are. */
async function walkMissing(step: WalkStep): Promise<void> {
  const { deps, group, integration, walk, provider } = step
  const page = { after: walk.cursor ?? '', limit: productsPerConfirmation }
  const productIds = await findUnseenProducts(group, integration.id, walk.number, page)
  let found = walk
  for (const productId of productIds)
    found = withTally(found, await refreshProduct(deps, group, integration, provider, productId))
  await advance(step, async () => ({ walk: continueWalk(found, productIds.at(-1), 'strays') }))
}

/** Imported products that the provider does not have. */
async function walkStrays(step: WalkStep): Promise<void> {
  const { walk } = step
  await advance(step, async (writer, current) => {
    const keys = await findOrphanedKeys(writer.group, current, { after: walk.cursor ?? '', limit: keysPerStep })
    const found = withTally(walk, await rebuildObjects(writer, current, keys))
    return { walk: continueWalk(found, keys.at(-1), 'orders') }
  })
}

/** Orders of which no event arrived, and those that may have been paid since. */
async function walkOrders(step: WalkStep): Promise<void> {
  const { deps, integration, walk, provider } = step
  const sinceMs = (integration.syncedMs ?? integration.createdMs) - ordersOverlapMs
  const page = await readPage(step, provider.listCompletedSessions(sinceMs, walk.cursor))
  if (!page) return
  await advance(step, async (writer, current) => {
    const ofGroup = page.items.filter(({ metadata }) => sessionOwner(metadata).groupId === writer.group.groupId)
    const ours = idsOf(ofGroup).filter(isProviderId)
    const known = await findKnownSessions(writer.group, integration.type, ours)
    const unknown = ours.filter((id) => !known.has(id))
    const unsettled = ours.filter((id) => known.get(id) !== 'paid')
    for (const sessionId of unsettled) await insertJob(writer, orderJob(integration.id, sessionId))
    const found = { ...walk, ordersFound: walk.ordersFound + unknown.length }
    if (page.next !== undefined) return { walk: { ...found, cursor: page.next } }
    return finish(writer, current, found, deps.clock())
  })
}

function finish(writer: ContentWriter, { id }: Integration, walk: CatalogueWalk, finishedMs: number): SyncState {
  const { startedMs, added, changed, archived } = walk
  const note = `${added} added, ${changed} changed, ${archived} archived`
  writer.record({ type: 'account.synced', subjectId: id, note })
  const lastSync = { startedMs, finishedMs, ...findingsOf(walk) }
  return { walk: null, lastSync, syncedMs: finishedMs }
}

/** The step of each phase, which handles one page. */
export const walkPhases: Record<CatalogueWalk['phase'], (step: WalkStep) => Promise<void>> = {
  prices: walkPrices,
  products: walkProducts,
  missing: walkMissing,
  strays: walkStrays,
  orders: walkOrders,
}
