import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { buildApp } from './app.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config.ts'
import type { ServedTenant } from './http/admission.ts'
import { createLogger } from './logging.ts'
import { deriveKey, loadMasterKey } from './master-key.ts'
import { createLocalSigner } from './media/signer.ts'
import { createLocalStorage, type MediaStorage } from './media/storage.ts'
import { createRateLimiter } from './rate-limiter.ts'
import { findTenantOfKey } from './store/api-keys.ts'
import { openGroup } from './store/groups.ts'
import { openStore, type Store } from './store/open.ts'
import { readRevision } from './store/revisions.ts'
import { createAuthorizer } from './tenant/authorizer.ts'

/** All parts of the running service, and the orderly way down. */
export interface Service {
  app: FastifyInstance
  store: Store
  storage: MediaStorage
  logger: Logger
  /** Starts to listen and answers the address under which clients reach the service. */
  listen(): Promise<string>
  close(): Promise<void>
}

export interface ServiceOptions {
  clock?: Clock
  logger?: Logger
}

export function openConfiguredStore(config: Config, clock: Clock, logger: Logger): Promise<Store> {
  return openStore({
    dataDir: config.dataDir,
    databaseUrl: config.databaseUrl,
    clock,
    onConnectionError: (error) => logger.warn({ err: error }, 'a database connection broke'),
  })
}

export async function createService(config: Config, options: ServiceOptions = {}): Promise<Service> {
  const { clock = systemClock, logger = createLogger(config) } = options
  let baseUrl = config.publicUrl ?? `http://${config.host}:${config.port}`
  const store = await openConfiguredStore(config, clock, logger)
  const storage = createLocalStorage(config.dataDir)
  const signer = createLocalSigner({
    key: deriveKey(loadMasterKey(config.dataDir, config.masterKey), 'media signing'),
    baseUrl: () => baseUrl,
    ttlSeconds: config.signedUrlTtlSeconds,
    clock,
  })
  const findTenant = async (secretHash: string): Promise<ServedTenant | undefined> => {
    const tenant = await findTenantOfKey(store, secretHash)
    return tenant && { ...tenant, revision: await readRevision(await openGroup(store, tenant)) }
  }
  const authorize = createAuthorizer({ findTenant, clock })
  const takeToken = createRateLimiter(clock)
  const app = buildApp({ config, logger, store, storage, signer, authorize, takeToken, clock })
  return {
    app,
    store,
    storage,
    logger,
    async listen() {
      const address = await app.listen({ host: config.host, port: config.port })
      baseUrl = config.publicUrl ?? address
      return baseUrl
    },
    async close() {
      await app.close()
      await store.close()
    },
  }
}
