import { readConfig } from '../config/config.ts'
import { systemClock } from '../core/clock.ts'
import { createLogger } from '../core/logging.ts'
import { openConfiguredStore } from '../store/open-configured.ts'
import type { Store } from '../store/store.ts'
import type { CommandContext } from './command.ts'
import { runCommand } from './index.ts'

/** Runs a command with the settings of an environment, on a store that is opened only if the command needs it. */
export async function runProgram(
  argv: string[],
  env: Record<string, string | undefined>,
  print: CommandContext['print'],
): Promise<void> {
  const config = readConfig(env)
  const logger = createLogger(config)
  let opened: Promise<Store> | undefined
  const store = (): Promise<Store> => {
    opened ??= openConfiguredStore(config, systemClock, logger)
    return opened
  }
  try {
    await runCommand(argv, { config, clock: systemClock, logger, store, print })
  } finally {
    await (await opened?.catch(() => undefined))?.close()
  }
}
