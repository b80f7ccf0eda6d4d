import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../errors.ts'
import { createService, type Service, type ServicePlaces } from '../service.ts'
import type { Command, CommandContext } from './command.ts'
import { describeDemo } from './demo-banner.ts'
import { giveBackMemory } from './give-back-memory.ts'

const shutdownMs = 30_000

/** Resolves at the first request to stop. A second one ends the process as if nobody were listening. */
function untilAskedToStop(): Promise<NodeJS.Signals> {
  const signals = ['SIGTERM', 'SIGINT'] as const
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals): void => {
      for (const name of signals) process.off(name, stop)
      resolve(signal)
    }
    for (const name of signals) process.on(name, stop)
  })
}

async function closeInTime(service: Service): Promise<void> {
  const inTime = await Promise.race([service.close().then(() => true), sleep(shutdownMs, false, { ref: false })])
  if (!inTime) throw new AppError('Unavailable', 'Requests were still running after 30 seconds; they were cut off.')
}

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Run the service',
  args: [],
  options: { demo: { type: 'boolean' } },
  help: `Settings come from the environment; docs/operations.md has the table. Stops in order on SIGTERM and Ctrl-C:
takes no new connections, finishes what runs, closes the databases, within 30 seconds.

Options:
  --demo   fill an empty service with the demo bakery and print how to try it`,
  async run(context, { options }) {
    const { config, clock, logger } = context
    const service = await createService(config, { clock, logger })
    const stopped = untilAskedToStop()
    const places = await service.listen()
    if (options.demo) await showDemo(service, context, places)
    giveBackMemory() // before the first requests: V8 would forget with it what it has learned from them
    const signal = await stopped
    logger.info({ signal }, 'stopping')
    await closeInTime(service)
    logger.info('stopped')
  },
}

/** The demo's pictures are drawn by code that a real service never loads. */
async function showDemo(
  service: Service,
  { config, clock, print }: CommandContext,
  { baseUrl, ...places }: ServicePlaces,
): Promise<void> {
  const { findOrSeedDemo, writeDemoFile } = await import('../demo/seed.ts')
  const onSeed = (): void => print('\n  Filling in the demo bakery …')
  const demo = await findOrSeedDemo({ ...service, clock }, config.dataDir, onSeed)
  if (demo) print(describeDemo(await writeDemoFile(config.dataDir, { ...demo, baseUrl }), places))
  else print('\n  There are groups already, so no demo was made. To add one: npx sluice seed\n')
}
