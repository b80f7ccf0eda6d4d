import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'
import { type JobContext, type JobHandler, PermanentFailure } from '../jobs/handler.ts'
import { addMedia, displayName, type Library } from '../media/library.ts'
import type { Media } from '../media/media.ts'
import { findMembers } from '../store/catalogue.ts'
import { findPictures, notePicture } from '../store/catalogue-pictures.ts'
import type { ContentWriter } from '../store/changes.ts'
import { findIntegrationById, type Integration } from '../store/integrations.ts'
import type { MediaItem } from '../store/media.ts'
import type { Store } from '../store/open.ts'
import { type PictureWork, pictureKind, type RefreshWork, refreshKind, type SyncWork, syncKind } from './jobs.ts'
import { type MirrorDeps, refreshProduct } from './mirror.ts'
import { rebuildObjects } from './mirror-objects.ts'
import { syncCatalogue } from './mirror-sync.ts'
import type { Payments } from './payments.ts'
import { PublicFetchFailure } from './public-fetch.ts'

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

/** Walks through the whole catalogue; after an interruption it goes on where it was. */
function syncHandler(work: CatalogueWork): JobHandler {
  return {
    kind: syncKind,
    retryAfterSeconds: [60, 300, 1800, 7200],
    limitSeconds: 3600,
    async run({ payload }, context) {
      const { group, owner, signal } = context
      const { integrationId } = payload as SyncWork
      const integration = await findIntegrationById(group, integrationId)
      // Who is frozen may still leave.
      if (!integration || (owner.frozen && integration.status === 'active')) return
      const { store, payments } = work
      await syncCatalogue({ ...mirrorDeps(work, context), store, payments }, group, integrationId, { signal })
    },
  }
}

/** Asks what one product is like now. */
function refreshHandler(work: CatalogueWork): JobHandler {
  return {
    kind: refreshKind,
    retryAfterSeconds: [5, 60, 600, 3600, 14_400],
    limitSeconds: 120,
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

/** Takes a picture of the provider's into the library, once for each group, and shows it. */
function pictureHandler(work: CatalogueWork): JobHandler {
  return {
    kind: pictureKind,
    retryAfterSeconds: [30, 600, 7200],
    limitSeconds: 180,
    async run({ payload }, context) {
      const { group, owner, finish } = context
      const wanted = payload as PictureWork
      const integration = await findIntegrationById(group, wanted.integrationId)
      if (integration?.status !== 'active' || owner.frozen) return
      const isKnown = (await findPictures(group, [wanted.url])).has(wanted.url)
      if (isKnown) return finish((writer) => showPicture(writer, wanted))
      try {
        const { id: mediaId } = await takePicture(work, context, integration, wanted)
        await finish(async (writer) => {
          await notePicture(writer, wanted.url, { mediaId })
          await showPicture(writer, wanted)
        })
      } catch (error) {
        if (!isFinal(error)) throw error
        const problem = error.message
        throw new PermanentFailure(problem, async (writer) => {
          await notePicture(writer, wanted.url, { problem })
          await showPicture(writer, wanted)
        })
      }
    },
  }
}

class NoPicture extends Error {}

/** Whether another attempt would end the same. */
function isFinal(error: unknown): error is Error {
  if (error instanceof PublicFetchFailure) return !error.mayPass
  return error instanceof NoPicture || (error instanceof AppError && error.code === 'PayloadTooLarge')
}

async function showPicture(writer: ContentWriter, { integrationId, objectKey }: PictureWork): Promise<void> {
  const integration = await findIntegrationById(writer.group, integrationId)
  if (integration?.status === 'active') await rebuildObjects(writer, integration, [objectKey])
}

/** What it is, is decided by its content, as with every file that comes in. */
async function takePicture(
  { payments, media, clock }: CatalogueWork,
  { group, owner, signal }: JobContext,
  { id, type }: Integration,
  { url, objectKey }: PictureWork,
): Promise<MediaItem> {
  const { bucketName, tier, versionsKept } = owner
  const author = { id: null, name: type, address: '' }
  const authoring = { author, verb: 'catalogue', nowMs: clock(), versionsKept }
  const library: Library = { group, bucketName, storage: media.storage, authoring }
  const members = (await findMembers(group, id, [objectKey])).get(objectKey) ?? []
  const product = members.map((member) => member.product).find(({ images }) => images[0] === url)
  const name = fileNameIn(url) ?? product?.name ?? 'picture'
  const content = await payments.openPicture(url, signal)
  return media.inbox.receive({ name, content }, media.maxBytes[tier], (received) => {
    if (received.type !== 'image') throw new NoPicture('What lies there is not a picture.')
    return addMedia(library, received, displayName(name))
  })
}

/** A name that somebody gave the file, and not one that a machine made. */
function fileNameIn(url: string): string | undefined {
  const last = URL.parse(url)?.pathname.split('/').at(-1) ?? ''
  return /^[^%]+\.[a-z]{3,4}$/i.test(last) ? last : undefined
}

export const catalogueHandlers = (work: CatalogueWork): JobHandler[] => [
  syncHandler(work),
  refreshHandler(work),
  pictureHandler(work),
]
