import { hash } from 'node:crypto'
import { updateSyncState } from '../store/commerce/integrations.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import { findPendingJobs, insertJob, type Job, type NewJob } from '../store/jobs/jobs.ts'
import type { GroupStore } from '../store/store.ts'
import type { ChangedObject } from './provider.ts'

/** The jobs of payment integrations. A job is not enqueued again while one with the same topic is pending. */

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

/** Syncs the whole catalogue. */
export const syncJob = (integrationId: string): NewJob => ({
  kind: syncKind,
  payload: { integrationId } satisfies SyncWork,
  topic: integrationId,
})

/** The pending sync of an account. */
export const findSyncJob = async (group: GroupStore, integrationId: string): Promise<Job | undefined> =>
  (await findPendingJobs(group, syncKind)).find(({ payload }) => (payload as SyncWork).integrationId === integrationId)

/** Fetches the current state of a product. */
export const refreshJob = (integrationId: string, productId: string): NewJob => ({
  kind: refreshKind,
  payload: { integrationId, productId } satisfies RefreshWork,
  topic: `${integrationId} ${productId}`,
})

/** Copies a picture from the provider to the library. */
export const pictureJob = (integrationId: string, url: string): NewJob => ({
  kind: pictureKind,
  payload: { integrationId, url } satisfies PictureWork,
  topic: `${integrationId} ${hash('sha256', url)}`,
})

/** Records an order. */
export const orderJob = (integrationId: string, sessionId: string): NewJob => ({
  kind: orderKind,
  payload: { integrationId, sessionId } satisfies OrderWork,
  topic: `${integrationId} ${sessionId}`,
})

/** Handles a change at the provider. The job fetches the current state, so neither order nor duplicates of events matter. */
export async function recordChange(writer: ContentWriter, integrationId: string, { kind, id }: ChangedObject) {
  await updateSyncState(writer, integrationId, { lastEventMs: writer.nowMs })
  await insertJob(writer, kind === 'product' ? refreshJob(integrationId, id) : orderJob(integrationId, id))
}
