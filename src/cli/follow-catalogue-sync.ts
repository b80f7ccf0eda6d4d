import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../core/errors.ts'
import { createWorker } from '../jobs/worker.ts'
import { showIntegration } from '../manage/integrations.ts'
import type { ManageDeps } from '../manage/verb.ts'
import { findSyncJob } from '../payments/jobs.ts'
import { catalogueHandlers } from '../payments/mirror/handlers.ts'
import { findIntegrationById, type Integration } from '../store/commerce/integrations.ts'
import { findGroupById, openContentOf } from '../store/control/groups.ts'
import type { Job } from '../store/jobs/jobs.ts'
import type { Progress } from '../transfer/progress.ts'
import type { CommandContext, CommandInput } from './command.ts'
import { withProgress } from './progress.ts'

const checkEveryMs = 100
/** A running server polls for jobs every second: after this time there is none, or it is busy. */
const defaultWaitForServerMs = 3000

/** The total is only known from the previous sync. */
function progressOf({ walk, lastSync }: Integration): Progress {
  const done = walk ? walk.products + walk.prices : 0
  const total = lastSync ? Math.max(done, lastSync.products + lastSync.prices) : 0
  return { stage: 'Reading the catalogue', done, total }
}

/** Waits until the catalogue is imported. A running server runs the job; without one, a worker in this process does. */
export async function followCatalogueSync(
  { store, payments, media }: ManageDeps,
  { clock, logger, waitForServerMs = defaultWaitForServerMs }: CommandContext,
  { groupId }: Record<string, unknown>,
  begun: unknown,
  { options }: CommandInput,
): Promise<unknown> {
  const { _id } = begun as { _id: string }
  const content = await openContentOf(store, await findGroupById(store, String(groupId)))
  const handlers = catalogueHandlers({ store, payments, media, clock })
  const worker = createWorker({ store, clock, logger, workers: 1, handlers })
  const sinceMs = performance.now()
  let isOurs = false
  try {
    return await withProgress(!options.json, async (onProgress) => {
      for (;;) {
        const job = await findSyncJob(content, _id)
        const integration = await findIntegrationById(content, _id)
        if (!integration) return begun
        onProgress(progressOf(integration))
        if (!job) return await showIntegration(content, integration)
        if (job.state === 'waiting' && job.attempts > 0) throw notDone(job)
        if (!isOurs && job.state === 'waiting' && performance.now() - sinceMs > waitForServerMs) {
          isOurs = true
          worker.start()
        }
        await sleep(checkEveryMs)
      }
    })
  } finally {
    await worker.stop()
  }
}

const notDone = ({ problem }: Job): AppError =>
  new AppError(
    'ProviderError',
    `The account is connected, but its catalogue could not be read: ${problem} A running server retries automatically.`,
  )
