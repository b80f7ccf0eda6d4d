import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { ServiceLogger } from '../core/logging.ts'
import type { Listeners } from './engine/database.ts'
import { openStore } from './open.ts'
import type { Store } from './store.ts'

/** The store that the settings describe. */
export function openConfiguredStore(
  config: Config,
  clock: Clock,
  logger: ServiceLogger,
  { onRevision, onAccess }: Pick<Listeners, 'onRevision' | 'onAccess'> = {},
): Promise<Store> {
  return openStore({
    dataDir: config.dataDir,
    databaseUrl: config.databaseUrl,
    maxAnswerBytes: config.maxAnswerBytes,
    preparesStatements: config.databasePrepare === 'on',
    quotas: { database: config.databaseQuotas, media: config.mediaQuotas },
    clock,
    onConnectionError: (error) => logger.noteOutage('a connection to the database', error),
    onStatementsLost: () =>
      logger.warn(
        'the pooler before PostgreSQL loses prepared statements, so none are used: set DATABASE_PREPARE=off, or let it keep them (PgBouncer 1.21 or newer with max_prepared_statements above 0)',
      ),
    onRevision,
    onAccess,
  })
}
