import type { Server } from 'node:http'
import { promisify } from 'node:util'
import packageFile from '../../package.json' with { type: 'json' }
import type { Clock } from '../core/clock.ts'
import type { CacheCounts } from '../delivery/answer-cache.ts'
import type { UnsentAnswers } from '../http/unsent-answers.ts'
import type { Store } from '../store/store.ts'
import { watchDatabases } from './database-watch.ts'
import { watchEventLoop } from './event-loop.ts'
import { families } from './families.ts'
import { createRequestCounts, type RequestCounts } from './request-counts.ts'
import type { StallWatch } from './stalls.ts'
import { type Reading, renderText, single } from './text-format.ts'

function readBuild(engine: string): Reading {
  return { family: families.buildInfo, samples: [{ labels: [packageFile.version, engine, process.version], value: 1 }] }
}

function readProcess(): Reading[] {
  const { user, system } = process.cpuUsage()
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  return [
    single(families.processCpu, (user + system) / 1e6),
    single(families.processStart, performance.timeOrigin / 1000),
    single(families.processMemory, rss),
    single(families.heapTotal, heapTotal),
    single(families.heapUsed, heapUsed),
    single(families.externalMemory, external),
  ]
}

export interface MetricsDeps {
  store: Store
  clock: Clock
  cacheCounts: CacheCounts
  unsentCounts: UnsentAnswers['counts']
  stalls: Pick<StallWatch, 'read'>
  /** Whether the metrics can be scraped. */
  isServed: boolean
}

export interface Metrics extends Pick<RequestCounts, 'addRoute' | 'request'> {
  /** Counts the connections of a server. */
  addServer(server: Server): void
  /** The current values in Prometheus' text format. */
  text(): Promise<string>
  close(): void
}

function readCache({ hits, misses, joined, evictions, bytes, entries }: CacheCounts): Reading[] {
  return [
    single(families.cacheHits, hits),
    single(families.cacheMisses, misses),
    single(families.cacheJoined, joined),
    single(families.cacheEvictions, evictions),
    single(families.cacheBytes, bytes),
    single(families.cacheEntries, entries),
  ]
}

function readPool(store: Store): Reading[] {
  const pool = store.poolUse()
  if (!pool) return []
  return [
    {
      family: families.databaseConnections,
      samples: [
        { labels: ['busy'], value: pool.busy },
        { labels: ['idle'], value: pool.idle },
      ],
    },
    single(families.databaseWaiting, pool.waiting),
  ]
}

async function countConnections(servers: readonly Server[]): Promise<number> {
  const counts = await Promise.all(servers.map((server) => promisify(server.getConnections.bind(server))()))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Only requests are counted all the time, which is cheap; everything else is read for each scrape. */
export function createMetrics({ store, clock, cacheCounts, unsentCounts, stalls, isServed }: MetricsDeps): Metrics {
  const requests = createRequestCounts()
  const eventLoop = isServed ? watchEventLoop() : undefined
  const databases = watchDatabases(store, clock)
  const servers: Server[] = []
  let rendering: Promise<string> | undefined

  async function read(): Promise<string> {
    const databaseReadings = await databases.read()
    return renderText([
      readBuild(store.control.engine),
      ...requests.read(),
      single(families.openConnections, await countConnections(servers)),
      single(families.unsentBytes, unsentCounts.bytes),
      single(families.cutReaders, unsentCounts.cut),
      ...readCache(cacheCounts),
      ...(eventLoop?.read() ?? []),
      ...stalls.read(),
      ...databaseReadings,
      ...readPool(store),
      ...readProcess(),
    ])
  }

  return {
    addRoute: requests.addRoute,
    request: requests.request,
    addServer: (server) => void servers.push(server),
    /** Concurrent scrapes share one text. */
    text() {
      rendering ??= read().finally(() => {
        rendering = undefined
      })
      return rendering
    },
    close: () => eventLoop?.stop(),
  }
}
