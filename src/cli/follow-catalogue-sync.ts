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
/** A server that runs looks for work every second: after this there is none, or it has its hands full. */
const waitForServerMs = 3000

/** How much there is to look through is known from the last time only. */
function progressOf({ walk, lastSync }: Integration): Progress {
  const done = walk ? walk.products + walk.prices : 0
  const total = lastSync ? Math.max(done, lastSync.products + lastSync.prices) : 0
  return { stage: 'Looking through the catalogue', done, total }
}

/** Stays until the catalogue has come in. A server that runs does the work; where none does, we do it here. */
export async function followCatalogueSync(
  { store, payments, media }: ManageDeps,
  { clock, logger }: CommandContext,
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
    `The account is there, but its catalogue could not be looked through: ${problem} A server that runs tries again by itself.`,
  )
