import { availableParallelism } from 'node:os'
import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import type { Config } from './config/config.ts'
import { type Clock, hourMs, systemClock } from './core/clock.ts'
import { createLogger, type ServiceLogger } from './core/logging.ts'
import { databasePeer, storePeer } from './core/outage-log.ts'
import { type AnswerCache, createAnswerCache } from './delivery/answer-cache.ts'
import { createContentMaker, createFairMaker, maxPreviewsPerGroup } from './delivery/make-content.ts'
import { createReadWorkerPool, type ReadWorkerPool } from './delivery/worker-pool.ts'
import type { ServedTenant } from './http/admission.ts'
import { createUnsentAnswers, type UnsentAnswers } from './http/unsent-answers.ts'
import { fillSearchHandler } from './jobs/fill-search-handler.ts'
import type { JobHandler } from './jobs/handler.ts'
import { purgeHandler } from './jobs/purge-handler.ts'
import { splitRangesHandler } from './jobs/split-ranges-handler.ts'
import { createWorker, type Worker } from './jobs/worker.ts'
import { createMail } from './mail/mail.ts'
import { findPageUrl } from './mail/mailbox-page.ts'
import type { Mail } from './mail/types.ts'
import { canDerive } from './media/files/derive.ts'
import { mediaHandlers } from './media/job-handlers.ts'
import { createMedia, type Media, tidyMedia } from './media/media.ts'
import { createMetrics } from './metrics/metrics.ts'
import { createMetricsServer, metricsLocation } from './metrics/serve.ts'
import { type StallWatch, watchStalls } from './metrics/stalls.ts'
import { catalogueHandlers } from './payments/mirror/handlers.ts'
import { orderHandlers } from './payments/orders.ts'
import { createPayments, type Payments } from './payments/payments.ts'
import { tidyPayments } from './payments/tidy.ts'
import { loadMasterKey } from './security/master-key.ts'
import { createRateLimiter } from './security/rate-limiter.ts'
import { isAdminToken } from './security/tokens.ts'
import { createVault } from './security/vault.ts'
import { useSitePreview } from './store/content/preview-tokens.ts'
import { readRevision } from './store/content/revisions.ts'
import { findTokenHolder, type TokenHolder } from './store/control/admin-tokens.ts'
import { findTenantOfKey } from './store/control/api-keys.ts'
import { createLastUses } from './store/control/last-uses.ts'
import type { AccessListener } from './store/engine/database.ts'
import { isDatabaseUnavailable } from './store/engine/unavailable.ts'
import { createContentCache } from './store/lists/content-cache.ts'
import { openConfiguredStore } from './store/open-configured.ts'
import { openGroup, type Store } from './store/store.ts'
import { createAuthorizer } from './tenant/authorizer.ts'
import { contentReads } from './tenant/content-reads.ts'

const tidyEveryMs = hourMs

/** The URLs of a running service. */
export interface ServiceUrls {
  baseUrl: string
  /** Undefined when the management API is off. */
  manageUrl: string | undefined
  /** Undefined when a mail server is configured. */
  mailboxUrl: string | undefined
  /** Undefined when metrics have no separate port. */
  metricsUrl: string | undefined
}

/** All parts of the running service, and its graceful shutdown. */
export interface Service {
  app: FastifyInstance
  /** The management API, when it has a separate port. */
  manageApp: FastifyInstance | undefined
  store: Store
  worker: Worker
  media: Media
  payments: Payments
  mail: Mail
  answers: AnswerCache
  unsent: UnsentAnswers
  readWorkers: ReadWorkerPool
  logger: ServiceLogger
  /** Starts to listen, and returns the URLs. */
  listen(): Promise<ServiceUrls>
  close(): Promise<void>
}

export interface ServiceOptions {
  clock?: Clock
  logger?: ServiceLogger
  /** For tests: the main thread builds no content. */
  readsInWorkersOnly?: boolean
}

/** More threads gain little, since all requests and answers pass through the main thread. */
const maxReadWorkers = 4
const spareProcessors = (): number => Math.min(maxReadWorkers, availableParallelism() - 1)

/** Names the job in the log when the event loop stalls during it. */
function watchedJob(stalls: StallWatch, handler: JobHandler): JobHandler {
  return {
    ...handler,
    async run(job, context) {
      const work = stalls.begin(() => ({ what: `job ${handler.kind}`, group: job.groupId }))
      try {
        await handler.run(job, context)
      } finally {
        stalls.end(work)
      }
    },
  }
}

export async function createService(config: Config, options: ServiceOptions = {}): Promise<Service> {
  const { clock = systemClock, logger = createLogger(config) } = options
  let baseUrl = config.publicUrl ?? `http://${config.host}:${config.port}`
  const answers = createAnswerCache({ maxBytes: config.answerCacheMb * 2 ** 20, clock })
  let forgetAccess: AccessListener = () => {} // replaced once the authorizers exist
  const store = await openConfiguredStore(config, clock, logger, {
    onRevision: answers.observeWrite,
    onAccess: (subjects) => forgetAccess(subjects),
  })
  const media = createMedia(
    config,
    () => baseUrl,
    clock,
    () => logger.noteSuccess(storePeer),
  )
  const { storage, inbox, currentFiles } = media
  const masterKey = loadMasterKey(config.dataDir, config.masterKey)
  const vault = createVault(masterKey)
  const payments = createPayments({ config, vault, store, clock, baseUrl: () => baseUrl, logger })
  const mail = createMail({ config, masterKey, vault, store, media })
  const stalls = watchStalls({ logger })
  const handlers = [
    purgeHandler,
    fillSearchHandler,
    splitRangesHandler,
    ...mediaHandlers({ storage, inbox, maxPixels: config.mediaMaxPixels, canDerive }),
    ...catalogueHandlers({ store, payments, media, clock }),
    ...orderHandlers({ payments }),
    ...payments.sandbox.handlers,
    ...mail.handlers,
  ]
  const worker = createWorker({
    store,
    handlers: handlers.map((handler) => watchedJob(stalls, handler)),
    clock,
    logger,
    workers: config.jobWorkers,
  })
  const contentCache = createContentCache()
  const noteFailure = (what: string, error: unknown): void =>
    logger.noteOutage(isDatabaseUnavailable(error) ? databasePeer : what, error)
  const lastUses = createLastUses(store, (error) => noteFailure('writing the last uses of keys', error))
  const findTenant = async (secretHash: string): Promise<ServedTenant | undefined> => {
    const tenant = await findTenantOfKey(store, secretHash, clock())
    if (tenant) lastUses.note('api_keys', tenant.keyId, clock())
    if (!tenant) return undefined
    const { groupID, database, bucketName, tier } = tenant
    const group = await openGroup(store, tenant)
    const readMs = performance.now()
    const revision = await readRevision(group)
    logger.noteSuccess(databasePeer)
    answers.observe(groupID, revision, readMs)
    contentCache.observe(groupID, revision)
    return { ...tenant, scope: `${tier} ${database} ${bucketName}` }
  }
  const findManager = async (secretHash: string): Promise<TokenHolder | undefined> => {
    const holder = await findTokenHolder(store, secretHash, clock())
    if (holder) lastUses.note('admin_tokens', holder.tokenId, clock())
    return holder
  }
  const authorize = createAuthorizer({ findHolder: findTenant, subjectsOf: ({ groupID }) => [groupID], clock })
  const authorizeManager = createAuthorizer({
    findHolder: findManager,
    subjectsOf: ({ userId, tokenId }) => [userId, tokenId],
    isWellFormed: isAdminToken,
    clock,
  })
  forgetAccess = (subjects) => {
    authorize.forget(subjects)
    authorizeManager.forget(subjects)
  }
  const takeToken = createRateLimiter(clock)
  const attempt = (work: Promise<unknown>, what: string): Promise<unknown> =>
    work.catch((error) => noteFailure(what, error))
  const tidy = async () => {
    await attempt(tidyMedia(media, clock()), 'removing leftovers of uploads')
    await attempt(tidyPayments(store, clock(), config.catalogueSyncHours), 'tidying payments')
    await attempt(mail.tidy(clock()), 'tidying the outbox')
  }
  let tidying: NodeJS.Timeout | undefined
  const admission = { authorize, authorizeManager, takeToken }
  const unsent = createUnsentAnswers({
    maxBytes: config.maxUnsentMb * 2 ** 20,
    timeLimitMs: config.sendTimeoutSeconds * 1000,
    logger,
  })
  const metrics = createMetrics({
    store,
    clock,
    cacheCounts: answers.counts,
    unsentCounts: unsent.counts,
    stalls,
    isServed: metricsLocation(config) !== undefined,
  })
  const makeUnfairly = createContentMaker(contentReads, { store, contentCache, currentFiles, config })
  const makeHere = createFairMaker(makeUnfairly)
  const makePreview = createFairMaker(makeUnfairly, maxPreviewsPerGroup)
  const usePreview = async (tenant: ServedTenant, token: string, nowMs: number) =>
    useSitePreview(await openGroup(store, tenant), token, nowMs)
  const readWorkers = createReadWorkerPool({
    config: { ...config, masterKey }, // as read at startup, even if its file has changed
    maxThreads: config.databaseUrl === undefined ? (config.readThreads ?? spareProcessors()) : 0,
    baseUrl: () => baseUrl,
    epochOf: contentCache.epochOf,
    isNeeded: store.isWriting,
    makeHere,
    onFailure: (error) =>
      logger.warn({ err: error }, 'a worker thread that builds answers has ended; the others continue'),
    workersOnly: options.readsInWorkersOnly,
  })
  const makeContent = readWorkers.make
  const previews = { makePreview, usePreview }
  const parts = { store, contentCache, media, payments, mail, currentFiles, answers, makeContent, ...previews }
  const { maxAnswerBytes } = config
  const deps = { config, maxAnswerBytes, logger, ...parts, ...admission, metrics, unsent, stalls, clock }
  const { managePort } = config
  const app = buildApp(deps, managePort === undefined ? 'both' : 'delivery')
  const manageApp = typeof managePort === 'number' ? buildApp(deps, 'management') : undefined
  const metricsServer = config.metricsPort === undefined ? undefined : createMetricsServer(deps)
  return {
    app,
    manageApp,
    store,
    media,
    payments,
    mail,
    worker,
    answers,
    unsent,
    readWorkers,
    logger,
    async listen() {
      const address = await app.listen({ host: config.host, port: config.port })
      baseUrl = config.publicUrl ?? address
      const mailboxUrl = findPageUrl(config, Number(new URL(address).port || 80))
      await tidy()
      worker.start()
      tidying = setInterval(tidy, tidyEveryMs)
      const metricsUrl = await metricsServer?.listen()
      if (managePort === undefined) return { baseUrl, manageUrl: baseUrl, mailboxUrl, metricsUrl }
      if (managePort === 'off') return { baseUrl, manageUrl: undefined, mailboxUrl, metricsUrl }
      const manageUrl = await manageApp?.listen({ host: config.manageHost ?? config.host, port: managePort })
      return { baseUrl, manageUrl, mailboxUrl, metricsUrl }
    },
    async close() {
      clearInterval(tidying)
      await Promise.all([app.close(), manageApp?.close(), metricsServer?.close(), worker.stop()])
      unsent.close()
      metrics.close()
      stalls.stop()
      mail.close()
      await lastUses.close()
      await readWorkers.close()
      await store.close()
      logger.flush()
    },
  }
}
