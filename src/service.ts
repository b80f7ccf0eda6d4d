import { availableParallelism } from 'node:os'
import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config.ts'
import type { ServedTenant } from './http/admission.ts'
import { type AnswerCache, createAnswerCache } from './http/answer-cache.ts'
import { createContentMaker } from './http/content-maker.ts'
import { createFairMaker } from './http/fair-maker.ts'
import { createKnownQuestions } from './http/known-questions.ts'
import { createUnsentAnswers, type UnsentAnswers } from './http/unsent-answers.ts'
import type { JobHandler } from './jobs/handler.ts'
import { purgeHandler } from './jobs/purge-handler.ts'
import { createWorker, type Worker } from './jobs/worker.ts'
import { createLogger, type ServiceLogger } from './logging.ts'
import { createMail, type Mail } from './mail/mail.ts'
import { findPageUrl } from './mail/mailbox-page.ts'
import { loadMasterKey } from './master-key.ts'
import { canDerive } from './media/files/derive.ts'
import { mediaHandlers } from './media/handlers.ts'
import { createMedia, type Media, tidyMedia } from './media/media.ts'
import { createMetrics } from './metrics/metrics.ts'
import { createMetricsServer, placeOfMetrics } from './metrics/serve.ts'
import { type StallWatch, watchStalls } from './metrics/stalls.ts'
import { databasePeer, storePeer } from './outages.ts'
import { catalogueHandlers } from './payments/catalogue-handlers.ts'
import { orderHandlers } from './payments/orders.ts'
import { createPayments, type Payments } from './payments/payments.ts'
import { tidyPayments } from './payments/tidy.ts'
import { createRateLimiter } from './rate-limiter.ts'
import { createReadingThreads, type ReadingThreads } from './reading/threads.ts'
import { isAdminToken } from './secrets.ts'
import { findTokenHolder, type TokenHolder } from './store/admin-tokens.ts'
import { findTenantOfKey } from './store/api-keys.ts'
import { createContentMemory } from './store/content-memory.ts'
import type { AccessListener, Listeners } from './store/database.ts'
import { openGroup } from './store/groups.ts'
import { createLastUses } from './store/last-uses.ts'
import { openStore, type Store } from './store/open.ts'
import { readRevision } from './store/revisions.ts'
import { isDatabaseAway } from './store/unavailable.ts'
import { createAuthorizer } from './tenant/authorizer.ts'
import { contentReads } from './tenant/content-endpoints.ts'
import { createVault } from './vault.ts'

const tidyEveryMs = 3_600_000

/** The addresses under which a running service is reached. */
export interface ServicePlaces {
  baseUrl: string
  /** Undefined where the management API is off. */
  manageUrl: string | undefined
  /** Undefined where a mail server takes the e-mails. */
  mailboxUrl: string | undefined
  /** Undefined where metrics have no port of their own. */
  metricsUrl: string | undefined
}

/** All parts of the running service, and the orderly way down. */
export interface Service {
  app: FastifyInstance
  /** The management API, where it has a port of its own. */
  manageApp: FastifyInstance | undefined
  store: Store
  worker: Worker
  media: Media
  payments: Payments
  mail: Mail
  answers: AnswerCache
  unsent: UnsentAnswers
  readingThreads: ReadingThreads
  logger: ServiceLogger
  /** Starts to listen, and answers where. */
  listen(): Promise<ServicePlaces>
  close(): Promise<void>
}

export interface ServiceOptions {
  clock?: Clock
  logger?: ServiceLogger
  /** For tests: no content is made in the main thread. */
  leavesReadsToThreads?: boolean
}

/** More of them gain little beside the one thread that all requests and answers go through. */
const mostReadThreads = 4
const threadsToSpare = (): number => Math.min(mostReadThreads, availableParallelism() - 1)

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

/** A job is named where the event loop stalls while it runs. */
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
  const answers = createAnswerCache({ mostBytes: config.answerCacheMb * 2 ** 20, clock })
  let forgetAccess: AccessListener = () => {} // until there is somebody who remembers
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
  const payments = createPayments({ config, masterKey, vault, store, clock, baseUrl: () => baseUrl, logger })
  const mail = createMail({ config, masterKey, vault, store, media })
  const stalls = watchStalls({ logger })
  const handlers = [
    purgeHandler,
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
  const memory = createContentMemory()
  const complain = (what: string, error: unknown): void =>
    logger.noteOutage(isDatabaseAway(error) ? databasePeer : what, error)
  const lastUses = createLastUses(store, (error) => complain('writing the last uses of keys', error))
  const findTenant = async (secretHash: string): Promise<ServedTenant | undefined> => {
    const tenant = await findTenantOfKey(store, secretHash, clock())
    if (tenant) lastUses.note('api_keys', tenant.keyId, clock())
    if (!tenant) return undefined
    const { groupID, database, bucketName, tier } = tenant
    const group = await openGroup(store, tenant)
    const askedMs = performance.now()
    const revision = await readRevision(group)
    logger.noteSuccess(databasePeer)
    answers.observe(groupID, revision, askedMs)
    memory.observe(groupID, revision)
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
  const attempt = (work: Promise<unknown>, complaint: string): Promise<unknown> =>
    work.catch((error) => complain(complaint, error))
  const tidy = async () => {
    await attempt(tidyMedia(media, clock()), 'removing left-overs of uploads')
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
    isServed: placeOfMetrics(config) !== undefined,
  })
  const questions = createKnownQuestions()
  const makeHere = createFairMaker(createContentMaker(contentReads, { store, memory, currentFiles, config }))
  const readingThreads = createReadingThreads({
    config: { ...config, masterKey }, // as it was at our start, whatever has become of its file
    most: config.databaseUrl === undefined ? (config.readThreads ?? threadsToSpare()) : 0,
    baseUrl: () => baseUrl,
    epochOf: memory.epochOf,
    isNeeded: store.isWriting,
    makeHere,
    onFailure: (error) => logger.warn({ err: error }, 'a thread that makes answers has ended; others make them'),
    leavesAll: options.leavesReadsToThreads,
  })
  const makeContent = readingThreads.make
  const parts = { store, memory, media, payments, mail, currentFiles, answers, questions, makeContent }
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
    readingThreads,
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
      await payments.close()
      mail.close()
      await lastUses.close()
      await readingThreads.close()
      await store.close()
      logger.flush()
    },
  }
}
