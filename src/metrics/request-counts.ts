import { tiers } from '../core/tiers.ts'
import { families } from './families.ts'
import type { Reading, Sample } from './text-format.ts'

const bucketBoundsMs = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]
const bucketCount = bucketBoundsMs.length + 1 // the last one has no upper bound

/** Statuses from 100 to 599; any other is counted as 599. */
const minStatus = 100
const statusCount = 500

/** The label of unknown routes and of requests without a tier. */
const none = 'none'

/** Offsets in the flat array of a route: its statuses, its buckets, and the sum of milliseconds. */
const bucketsAt = statusCount
const totalMsAt = bucketsAt + bucketCount
const countsLength = totalMsAt + 1

export interface RequestCounts {
  /** Requests of other routes count as `none`, so that no URL becomes a label. */
  addRoute(route: string): void
  /** Counts an answered request. A hot path: it allocates nothing. */
  request(route: string, status: number, ms: number, tier: string | undefined): void
  read(): Reading[]
}

function statusSamples(route: string, counts: Float64Array): Sample[] {
  const samples: Sample[] = []
  for (let index = 0; index < statusCount; index += 1) {
    const value = counts[index] ?? 0
    if (value > 0) samples.push({ labels: [route, String(index + minStatus)], value })
  }
  return samples
}

/** Empty for a route without requests. */
function durationSamples(route: string, counts: Float64Array): Sample[] {
  let total = 0
  const buckets: Sample[] = []
  for (let index = 0; index < bucketCount; index += 1) {
    total += counts[bucketsAt + index] ?? 0
    const boundMs = bucketBoundsMs[index]
    const bound = boundMs === undefined ? '+Inf' : String(boundMs / 1000)
    buckets.push({ part: 'bucket', labels: [route, bound], value: total })
  }
  if (total === 0) return []
  const sumSeconds = (counts[totalMsAt] ?? 0) / 1000
  return [
    ...buckets,
    { part: 'sum', labels: [route], value: sumSeconds },
    { part: 'count', labels: [route], value: total },
  ]
}

function add(counts: Float64Array, at: number, value: number): void {
  counts[at] = (counts[at] ?? 0) + value
}

export function createRequestCounts(): RequestCounts {
  const unknownRoute = new Float64Array(countsLength)
  const byRoute = new Map([[none, unknownRoute]])
  const tierNames: string[] = [...tiers, none]
  const tierIndexes = new Map<string | undefined, number>(tierNames.map((tier, index) => [tier, index]))
  const byTier = new Float64Array(tierNames.length)
  const noTier = tierNames.length - 1

  return {
    addRoute(route) {
      if (!byRoute.has(route)) byRoute.set(route, new Float64Array(countsLength))
    },
    request(route, status, ms, tier) {
      const counts = byRoute.get(route) ?? unknownRoute
      let bucket = 0
      while (bucket < bucketBoundsMs.length && ms > (bucketBoundsMs[bucket] ?? 0)) bucket += 1
      const index = status - minStatus
      add(counts, index >= 0 && index < statusCount ? index : statusCount - 1, 1)
      add(counts, bucketsAt + bucket, 1)
      add(counts, totalMsAt, ms)
      add(byTier, tierIndexes.get(tier) ?? noTier, 1)
    },
    read() {
      const routes = [...byRoute].sort(([one], [other]) => (one < other ? -1 : 1))
      return [
        { family: families.httpRequests, samples: routes.flatMap(([route, counts]) => statusSamples(route, counts)) },
        { family: families.httpDuration, samples: routes.flatMap(([route, counts]) => durationSamples(route, counts)) },
        {
          family: families.requestsByTier,
          samples: tierNames.map((tier, index) => ({ labels: [tier], value: byTier[index] ?? 0 })),
        },
      ]
    },
  }
}
