import { hash } from 'node:crypto'
import { updateSyncState } from '../store/commerce/integrations.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import { findPendingJobs, insertJob, type Job, type NewJob } from '../store/jobs/jobs.ts'
import type { GroupStore } from '../store/store.ts'
import type { ChangedObject } from './provider.ts'

/** Work that payment integrations ask for. The same work is not asked for twice while it waits. */

export interface SyncWork {
  integrationId: string
}

export interface RefreshWork {
  integrationId: string
  productId: string
}

export interface PictureWork {
  integrationId: string
  url: string
}

export interface OrderWork {
  integrationId: string
  sessionId: string
}

export const syncKind = 'catalogue.sync'
export const refreshKind = 'catalogue.refresh'
export const pictureKind = 'catalogue.picture'
export const orderKind = 'order.record'

/** Walks through the whole catalogue. */
export const syncJob = (integrationId: string): NewJob => ({
  kind: syncKind,
  payload: { integrationId } satisfies SyncWork,
  topic: integrationId,
})

/** The walk that is to begin or to go on, of one account. */
export const findSyncJob = async (group: GroupStore, integrationId: string): Promise<Job | undefined> =>
  (await findPendingJobs(group, syncKind)).find(({ payload }) => (payload as SyncWork).integrationId === integrationId)

/** Asks the provider what a product is like now. */
export const refreshJob = (integrationId: string, productId: string): NewJob => ({
  kind: refreshKind,
  payload: { integrationId, productId } satisfies RefreshWork,
  topic: `${integrationId} ${productId}`,
})

/** Takes a picture of the provider's into our library, whoever shows it. */
export const pictureJob = (integrationId: string, url: string): NewJob => ({
  kind: pictureKind,
  payload: { integrationId, url } satisfies PictureWork,
  topic: `${integrationId} ${hash('sha256', url)}`,
})

/** Writes down what was bought. */
export const orderJob = (integrationId: string, sessionId: string): NewJob => ({
  kind: orderKind,
  payload: { integrationId, sessionId } satisfies OrderWork,
  topic: `${integrationId} ${sessionId}`,
})

/** Something changed at the provider. A job asks what it is like now, so neither order nor duplicates matter. */
export async function recordChange(writer: ContentWriter, integrationId: string, { kind, id }: ChangedObject) {
  await updateSyncState(writer, integrationId, { lastEventMs: writer.nowMs })
  await insertJob(writer, kind === 'product' ? refreshJob(integrationId, id) : orderJob(integrationId, id))
}
