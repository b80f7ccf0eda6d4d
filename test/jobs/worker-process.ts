import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger } from '../../src/core/logging.ts'
import { createWorker } from '../../src/jobs/worker.ts'
import { openStore } from '../../src/store/open.ts'
import { handlerOf, leaveEffect } from './test-handlers.ts'

/** Runs jobs until it is killed, and prints the id of each job it starts. Its clock may be ahead. */
export interface WorkerOptions {
  dataDir: string
  databaseUrl: string | undefined
  aheadMs: number
}

const { dataDir, databaseUrl, aheadMs }: WorkerOptions = JSON.parse(process.argv[2] ?? '')
const clock = () => Date.now() + aheadMs
const store = await openStore({ dataDir, databaseUrl, clock, onConnectionError: () => {} })
const handler = handlerOf(
  async (job, context) => {
    process.stdout.write(`${job.id}\n`)
    await sleep(5) // so that a kill interrupts some jobs
    await leaveEffect(job, context)
  },
  { retryDelaysSeconds: Array<number>(50).fill(0) },
)
const logger = createLogger({ logLevel: 'warn' }, { write: (line) => void process.stderr.write(line) })
createWorker({ store, handlers: [handler], clock, logger, workers: 4 }).start()
