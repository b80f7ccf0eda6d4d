import { createService } from '../service.ts'
import type { Command } from './command.ts'
import { describeDemo } from './demo-banner.ts'

const shutdownMs = 30_000

/** Resolves at the first request to stop. A second one, or half a minute, ends the process the hard way. */
function untilAskedToStop(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal))
  })
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
  async run({ config, clock, logger, print }, { options }) {
    const service = await createService(config, { clock, logger })
    // The demo's pictures are drawn by code that a real service never needs.
    const demoMaker = options.demo ? await import('../demo/seed.ts') : undefined
    const demo = await demoMaker?.findOrSeedDemo({ ...service, clock }, config.dataDir)
    const baseUrl = await service.listen()
    if (demoMaker && demo) print(describeDemo(await demoMaker.writeDemoFile(config.dataDir, { ...demo, baseUrl })))
    else logger.info({ baseUrl }, 'listening')
    const signal = await untilAskedToStop()
    logger.info({ signal }, 'stopping')
    const deadline = setTimeout(() => {
      logger.error('requests were still running after 30 seconds; ending them')
      process.exit(1)
    }, shutdownMs)
    await service.close()
    clearTimeout(deadline)
    logger.info('stopped')
  },
}
