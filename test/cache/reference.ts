import { buildApp } from '../../src/app.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLogger } from '../../src/core/logging.ts'
import type { Tier } from '../../src/core/tiers.ts'
import { createContentMaker } from '../../src/delivery/make-content.ts'
import type { ServedTenant } from '../../src/http/admission.ts'
import { createUnsentAnswers } from '../../src/http/unsent-answers.ts'
import { createCurrentFiles } from '../../src/media/current-files.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { watchStalls } from '../../src/metrics/stalls.ts'
import { createService, type Service } from '../../src/service.ts'
import { createContentCache } from '../../src/store/lists/content-cache.ts'
import { contentReads } from '../../src/tenant/content-reads.ts'
import type { TestClock } from '../helpers/harness.ts'
import { sharedSettings } from './instances.ts'

/** The answer to a plain GET with a valid key. */
export interface CorrectAnswer {
  status: number
  body: string
  etag: string | undefined
  cacheControl: string
}

/** Returns the correct answers: a service without any cache in the test's own process. */
export interface Reference {
  service: Service
  read(path: string, groupId: string, tier: Tier): Promise<CorrectAnswer>
  close(): Promise<void>
}

export async function openReference(env: Record<string, string>, clock: TestClock): Promise<Reference> {
  const config = readConfig({ ...sharedSettings, ...env, ANSWER_CACHE_MB: '0' })
  const logger = createLogger(config)
  const now = () => clock.now
  const service = await createService(config, { clock: now, logger })
  const { store, media, payments, mail, answers } = service
  /** The Authorization header is the group and its tier instead of a key; access is not checked. */
  async function authorize(text: string): Promise<ServedTenant> {
    const [groupID = '', tier] = text.split(' ') as [string, Tier]
    return { database: 'main', bucketName: 'media', groupID, tier, frozen: false, keyId: '', scope: tier }
  }
  const stalls = watchStalls({ logger, every: () => () => {} })
  const unsent = createUnsentAnswers({ maxBytes: 2 ** 20, timeLimitMs: 60_000, logger })
  const counts = { cacheCounts: answers.counts, unsentCounts: unsent.counts }
  const metrics = createMetrics({ store, clock: now, ...counts, stalls, isServed: false })
  const contentCache = createContentCache(0)
  const signing = { signer: media.signer, ttlSeconds: config.signedUrlTtlSeconds, clock: now }
  const currentFiles = createCurrentFiles({ ...signing, maxCached: 0 })
  const makeContent = createContentMaker(contentReads, { store, contentCache, currentFiles, config })
  const app = buildApp(
    {
      config,
      logger,
      store,
      contentCache,
      media,
      payments,
      mail,
      answers,
      makeContent,
      makePreview: makeContent,
      usePreview: async () => {},
      currentFiles,
      authorize: Object.assign(authorize, { peek: () => undefined }),
      authorizeManager: async () => undefined,
      takeToken: () => ({ allowed: true, remaining: 1, resetSeconds: 0, retryAfterSeconds: 0 }),
      metrics,
      unsent,
      stalls,
      clock: now,
    },
    'delivery',
  )
  return {
    service,
    async read(path, groupId, tier) {
      const answer = await app.inject({ url: path, headers: { authorization: `${groupId} ${tier}` } })
      const { etag, 'cache-control': cacheControl } = answer.headers
      return {
        status: answer.statusCode,
        body: answer.body,
        etag: etag === undefined ? undefined : String(etag),
        cacheControl: String(cacheControl),
      }
    },
    async close() {
      await app.close()
      metrics.close()
      await service.close()
    },
  }
}
