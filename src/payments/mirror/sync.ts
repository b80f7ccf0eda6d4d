import { hourMs } from '../../core/clock.ts'
import { deleteProducts, findFirstParts, findOrphanedKeys } from '../../store/commerce/catalogue.ts'
import {
  deleteIntegration,
  findIntegrationById,
  type Integration,
  listIntegrations,
  unregisterIntegration,
  updateSyncState,
} from '../../store/commerce/integrations.ts'
import { scheduleAuthor, writeContent } from '../../store/content/changes.ts'
import { listGroups, openContentOf } from '../../store/control/groups.ts'
import { findPendingJobs, insertJob } from '../../store/jobs/jobs.ts'
import type { GroupStore, Store } from '../../store/store.ts'
import { type SyncWork, syncJob, syncKind } from '../jobs.ts'
import type { Payments } from '../payments.ts'
import type { Provider } from '../provider.ts'
import { type MirrorDeps, writeMirror } from './mirror.ts'
import { rebuildObjects } from './objects.ts'
import { newWalk, walkPhases } from './walk.ts'

/** An interrupted walk older than this starts over, since its findings are outdated. */
const walkLifeMs = 12 * hourMs
const keysPerStep = 100

export interface SyncDeps extends MirrorDeps {
  store: Store
  payments: Pick<Payments, 'open'>
}

export interface SyncOptions {
  signal?: AbortSignal
  /** No further step starts after this time. */
  untilMs?: number
}

/**
 * Walks through the provider's whole catalogue and mirrors it, with one page in memory at a time. Each step is committed
 * together with its cursor, so that any process can resume the walk. Returns whether the walk is complete.
 */
export async function syncCatalogue(
  deps: SyncDeps,
  group: GroupStore,
  integrationId: string,
  { signal, untilMs = Number.POSITIVE_INFINITY }: SyncOptions = {},
): Promise<boolean> {
  let provider: Provider | undefined
  for (let hasBegun = false; ; hasBegun = true) {
    signal?.throwIfAborted()
    const integration = await findIntegrationById(group, integrationId)
    if (!integration) return true
    const { walk, status } = integration
    if (!walk && status === 'active' && hasBegun) return true
    if (deps.clock() > untilMs) return false
    if (status === 'disconnecting') {
      await removeBatch(deps, group, integration)
    } else if (!walk || deps.clock() - walk.startedMs > walkLifeMs) {
      await beginWalk(deps, group, integration)
    } else {
      provider ??= await deps.payments.open(group, integration)
      await walkPhases[walk.phase]({ deps, group, integration, walk, provider })
    }
  }
}

/** A walk's number is that of its first write, and so unique. */
async function beginWalk(deps: SyncDeps, group: GroupStore, { id, type, walk }: Integration): Promise<void> {
  await writeMirror(deps, group, { type }, async (writer) => {
    const current = await findIntegrationById(writer.group, id)
    if (!current || current.walk?.number !== walk?.number) return // another process was faster
    const catalogueSeq = current.catalogueSeq + 1
    await updateSyncState(writer, id, { catalogueSeq, walk: newWalk(catalogueSeq, writer.nowMs) })
  })
}

/** Archives a batch of products of a disconnected account; after the last one, deletes the account. */
async function removeBatch(deps: SyncDeps, group: GroupStore, { id, type }: Integration): Promise<void> {
  const isDone = await writeMirror(deps, group, { type }, async (writer) => {
    const integration = await findIntegrationById(writer.group, id)
    if (!integration) return true
    const { objectKeys, productIds } = await findFirstParts(writer.group, id, keysPerStep)
    await deleteProducts(writer, id, productIds)
    const strays = await findOrphanedKeys(writer.group, integration, { after: '', limit: keysPerStep })
    const keys = [...new Set([...objectKeys, ...strays])]
    await rebuildObjects(writer, integration, keys)
    if (keys.length === 0) await deleteIntegration(writer, integration)
    return keys.length === 0
  })
  if (isDone) await unregisterIntegration(deps.store, id)
}

/** Enqueues a sync of each catalogue whose last one was at least `everyMs` ago. */
export async function scheduleSyncs(store: Store, nowMs: number, everyMs: number): Promise<void> {
  for (const owner of await listGroups(store)) {
    if (owner.frozen || owner.deletingMs !== null) continue
    const group = await openContentOf(store, owner)
    const due = (await listIntegrations(group)).filter(
      ({ status, syncedMs }) => status === 'disconnecting' || syncedMs === null || syncedMs + everyMs <= nowMs,
    )
    const pending = due.length === 0 ? [] : await findPendingJobs(group, syncKind)
    const underWay = new Set(pending.map(({ payload }) => (payload as SyncWork).integrationId))
    const wanted = due.filter(({ id }) => !underWay.has(id))
    if (wanted.length === 0) continue
    const { versionsKept } = owner
    await writeContent(group, { author: scheduleAuthor, verb: 'catalogue', nowMs, versionsKept }, async (writer) => {
      for (const { id } of wanted) await insertJob(writer, syncJob(id))
    })
  }
}
