import { rewriteBaseUrl, seedDemoOnce } from '../demo/seed.ts'
import { createService } from '../service.ts'
import type { Command } from './command.ts'
import { baseUrlOf, describeDemo } from './demo-banner.ts'

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
    const demo = options.demo
      ? await seedDemoOnce({ ...service, dataDir: config.dataDir, clock, baseUrl: baseUrlOf(config) })
      : undefined
    const baseUrl = await service.listen()
    if (demo) print(describeDemo(await rewriteBaseUrl(config.dataDir, demo, baseUrl)))
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
