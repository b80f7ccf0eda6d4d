import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../core/errors.ts'
import type { ServiceLogger } from '../core/logging.ts'
import type { Service, ServiceUrls } from '../service.ts'
import type { Command, CommandContext } from './command.ts'
import { describeDemo } from './seed.ts'

const shutdownMs = 30_000
/** Short, because work left hanging by a fault never finishes, and the service is down until the supervisor restarts it. */
const shutdownAfterFaultMs = 10_000

/** Resolves at the first stop signal. A second one ends the process at once. */
function nextStopSignal(): Promise<NodeJS.Signals> {
  const signals = ['SIGTERM', 'SIGINT'] as const
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals): void => {
      for (const name of signals) process.off(name, stop)
      resolve(signal)
    }
    for (const name of signals) process.on(name, stop)
  })
}

/**
 * Rejects with the first uncaught error. All are logged; the process no longer ends by itself, so that what is
 * in work can be finished.
 */
function untilFault(logger: ServiceLogger): Promise<never> {
  const fault = new Promise<never>((_, reject) => {
    process.on('uncaughtException', (error, origin) => {
      logger.fatal({ err: error, origin }, 'uncaught error; the service stops')
      reject(error)
    })
  })
  fault.catch(() => {}) // its caller handles the error
  return fault
}

async function closeWithin(service: Service, ms: number): Promise<void> {
  const inTime = await Promise.race([service.close().then(() => true), sleep(ms, false, { ref: false })])
  if (!inTime)
    throw new AppError('Unavailable', `Requests were still running after ${ms / 1000} seconds; they were cut off.`)
}

async function serveUntilStopped(service: Service, context: CommandContext, isDemo: boolean): Promise<void> {
  const stopped = nextStopSignal()
  const urls = await service.listen()
  if (isDemo) await showDemo(service, context, urls)
  const signal = await stopped
  context.logger.info({ signal }, 'stopping')
}

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Run the service',
  args: [],
  options: { demo: { type: 'boolean' } },
  help: `Settings come from the environment; docs/operations.md has the table. Stops in order on SIGTERM and Ctrl-C:
takes no new connections, finishes what runs, closes the databases, within 30 seconds. Does the same within 10 seconds
after an error that nobody caught, and ends with 1, for your supervisor to start it again.

Options:
  --demo   fill an empty service with the demo bakery and print how to try it`,
  async run(context, { options }) {
    const { config, clock, logger } = context
    const fault = untilFault(logger)
    const { createService } = await import('../service.ts') // most of it is of no use to other commands
    const service = await Promise.race([createService(config, { clock, logger }), fault])
    try {
      await Promise.race([serveUntilStopped(service, context, Boolean(options.demo)), fault])
    } catch (error) {
      await closeWithin(service, shutdownAfterFaultMs)
      throw error
    }
    await closeWithin(service, shutdownMs)
    await Promise.race([fault, Promise.resolve()]) // one that came meanwhile is not passed over
    logger.info('stopped')
  },
}

/** The demo's pictures are drawn by code that a real service never loads. */
async function showDemo(
  service: Service,
  { config, clock, print }: CommandContext,
  { baseUrl, ...urls }: ServiceUrls,
): Promise<void> {
  const { findOrSeedDemo, writeDemoFile } = await import('../demo/seed.ts')
  const onSeed = (): void => print('\n  Filling in the demo bakery …')
  const demo = await findOrSeedDemo({ ...service, clock }, config.dataDir, onSeed)
  if (demo) print(describeDemo(await writeDemoFile(config.dataDir, { ...demo, baseUrl }), urls))
  else print('\n  There are groups already, so no demo was made. To add one: npx sluice seed\n')
}
