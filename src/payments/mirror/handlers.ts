import { pictureOf } from '../../content/catalogue.ts'
import { shortName } from '../../content/products.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { type JobContext, type JobHandler, PermanentFailure } from '../../jobs/handler.ts'
import { retryDelaysSeconds } from '../../jobs/retry-backoff.ts'
import { addMedia, displayName, type Library } from '../../media/library.ts'
import type { Media } from '../../media/media.ts'
import { findMembers } from '../../store/commerce/catalogue.ts'
import { findIntegrationById, type Integration } from '../../store/commerce/integrations.ts'
import { findKeysShowing, findPictures, savePicture } from '../../store/commerce/mirror.ts'
import { insertJob } from '../../store/jobs/jobs.ts'
import type { MediaItem } from '../../store/media/items.ts'
import type { Store } from '../../store/store.ts'
import {
  type PictureWork,
  pictureKind,
  type RefreshWork,
  refreshKind,
  type SyncWork,
  syncJob,
  syncKind,
} from '../jobs.ts'
import type { Payments } from '../payments.ts'
import { PublicFetchFailure } from '../public-fetch.ts'
import { type MirrorDeps, refreshProduct, writeMirror } from './mirror.ts'
import { rebuildObjects } from './objects.ts'
import { syncCatalogue } from './sync.ts'

/** A walk that takes longer is continued by another job, so that others get a turn. */
const turnMs = 60_000
/** Products updated per transaction. */
const keysPerStep = 100

export interface CatalogueWork {
  store: Store
  payments: Pick<Payments, 'open' | 'openPicture'>
  media: Media
  clock: Clock
}

const mirrorDeps = ({ clock }: CatalogueWork, { owner }: JobContext): MirrorDeps => ({
  clock,
  versionsKept: owner.versionsKept,
})

/** Syncs the whole catalogue, resuming an interrupted walk. */
function syncHandler(work: CatalogueWork): JobHandler {
  return {
    kind: syncKind,
    retryDelaysSeconds: retryDelaysSeconds.syncCatalogue,
    maxSeconds: 3600,
    async run({ payload }, context) {
      const { group, owner, signal, finish } = context
      const { integrationId } = payload as SyncWork
      const integration = await findIntegrationById(group, integrationId)
      // A frozen group can still disconnect.
      if (!integration || (owner.frozen && integration.status === 'active')) return
      const { store, payments, clock } = work
      const turn = { signal, untilMs: clock() + turnMs }
      const isDone = await syncCatalogue({ ...mirrorDeps(work, context), store, payments }, group, integrationId, turn)
      if (!isDone) await finish(async (writer) => void (await insertJob(writer, syncJob(integrationId))))
    },
  }
}

function refreshHandler(work: CatalogueWork): JobHandler {
  return {
    kind: refreshKind,
    retryDelaysSeconds: retryDelaysSeconds.refreshProduct,
    maxSeconds: 120,
    async run({ payload }, context) {
      const { group, owner } = context
      const { integrationId, productId } = payload as RefreshWork
      const integration = await findIntegrationById(group, integrationId)
      if (integration?.status !== 'active' || owner.frozen) return
      const provider = await work.payments.open(group, integration)
      await refreshProduct(mirrorDeps(work, context), group, integration, provider, productId)
    },
  }
}

/** Stores a picture in the library, once per group, and updates the products that use it. */
function pictureHandler(work: CatalogueWork): JobHandler {
  return {
    kind: pictureKind,
    retryDelaysSeconds: retryDelaysSeconds.fetchPicture,
    maxSeconds: 180,
    async run({ payload }, context) {
      const { group, owner } = context
      const { integrationId, url } = payload as PictureWork
      const integration = await findIntegrationById(group, integrationId)
      if (integration?.status !== 'active' || owner.frozen) return
      const [firstKey] = await findKeysShowing(group, integrationId, url, { after: '', limit: 1 })
      if (firstKey === undefined) return
      const isKnown = (await findPictures(group, [url])).has(url)
      if (!isKnown) await storePicture(work, context, integration, { url, objectKey: firstKey })
      await rebuildProductsShowing(work, context, integration, url)
    },
  }
}

class NoPicture extends Error {}

/** Whether a retry would fail again. */
function isFinal(error: unknown): error is Error {
  if (error instanceof PublicFetchFailure) return !error.isTransient
  return error instanceof NoPicture || (error instanceof AppError && error.code === 'PayloadTooLarge')
}

async function rebuildProductsShowing(
  work: CatalogueWork,
  context: JobContext,
  { id, type }: Integration,
  url: string,
): Promise<void> {
  const { group, signal } = context
  for (let after: string | undefined = ''; after !== undefined; ) {
    signal.throwIfAborted()
    const keys: string[] = await findKeysShowing(group, id, url, { after, limit: keysPerStep })
    await writeMirror(mirrorDeps(work, context), group, { type }, async (writer) => {
      const integration = await findIntegrationById(writer.group, id)
      if (integration?.status === 'active') await rebuildObjects(writer, integration, keys)
    })
    after = keys.at(-1)
  }
}

/** Stores the picture, or a final problem, so that it is not tried again. */
async function storePicture(
  work: CatalogueWork,
  context: JobContext,
  integration: Integration,
  shown: ShownPicture,
): Promise<void> {
  try {
    const { id: mediaId } = await fetchPicture(work, context, integration, shown)
    await writeMirror(mirrorDeps(work, context), context.group, integration, (writer) =>
      savePicture(writer, shown.url, { mediaId }),
    )
  } catch (error) {
    if (!isFinal(error)) throw error
    const problem = error.message
    throw new PermanentFailure(problem, (writer) => savePicture(writer, shown.url, { problem }))
  }
}

interface ShownPicture {
  url: string
  /** One of our products that use it. */
  objectKey: string
}

async function fetchPicture(
  { payments, media, clock }: CatalogueWork,
  { group, owner, signal }: JobContext,
  { id, type }: Integration,
  { url, objectKey }: ShownPicture,
): Promise<MediaItem> {
  const { bucketName, tier, versionsKept } = owner
  const author = { id: null, name: type, address: '' }
  const authoring = { author, verb: 'catalogue', nowMs: clock(), versionsKept }
  const quotaBytes = media.quotas[tier]
  const library: Library = { group, bucketName, storage: media.storage, authoring, quotaBytes }
  const members = (await findMembers(group, id, [objectKey])).get(objectKey) ?? []
  const product = members.map((member) => member.product).find((shown) => pictureOf(shown) === url)
  const name = fileNameIn(url) ?? (product && shortName(product)) ?? 'picture'
  const content = await payments.openPicture(url, signal)
  return media.inbox.receive({ name, content }, media.maxBytes[tier], (received) => {
    if (received.type !== 'image') throw new NoPicture('The URL does not lead to a picture.')
    return addMedia(library, received, displayName(name))
  })
}

/** A file name that looks chosen by a person rather than generated. */
function fileNameIn(url: string): string | undefined {
  const last = URL.parse(url)?.pathname.split('/').at(-1) ?? ''
  return /^[^%]+\.[a-z]{3,4}$/i.test(last) ? last : undefined
}

export const catalogueHandlers = (work: CatalogueWork): JobHandler[] => [
  syncHandler(work),
  refreshHandler(work),
  pictureHandler(work),
]
