#!/usr/bin/env node
import { runCommand } from './cli/index.ts'
import { systemClock } from './clock.ts'
import { readConfig } from './config.ts'
import { AppError } from './errors.ts'
import { createLogger } from './logging.ts'
import { openConfiguredStore } from './service.ts'
import type { Store } from './store/open.ts'

/** A mistake of the caller, or a state that the message explains; anything else shows its stack. */
function isExplained(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  return (
    error instanceof AppError ||
    ('code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')) ||
    error.name === 'Error'
  )
}

try {
  const config = readConfig(process.env)
  const logger = createLogger(config)
  let opened: Promise<Store> | undefined
  const openMigrated = async (): Promise<Store> => {
    const store = await openConfiguredStore(config, systemClock, logger)
    await store.migrateAll()
    return store
  }
  try {
    await runCommand(process.argv.slice(2), {
      config,
      clock: systemClock,
      logger,
      store: () => (opened ??= openMigrated()),
      print: (text) => process.stdout.write(`${text}\n`),
    })
  } finally {
    await (await opened)?.close()
  }
} catch (error) {
  process.stderr.write(`${isExplained(error) ? error.message : String((error as Error)?.stack ?? error)}\n`)
  process.exit(1)
}
