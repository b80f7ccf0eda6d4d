import { tiers } from '../core/tiers.ts'
import { families } from './families.ts'
import type { Reading, Sample } from './text-format.ts'

/** Upper ends of the histogram's buckets. */
const bucketEndsMs = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]
const bucketCount = bucketEndsMs.length + 1 // the last one has no end

/** A place for every status from 100 on; whatever is none comes into the last one. */
const leastStatus = 100
const statusCount = 500

/** For what is not in the route table, and for requests without a tier. */
const none = 'none'

/** One flat array for each route: its statuses, its buckets, and all milliseconds together. */
const bucketsAt = statusCount
const totalMsAt = bucketsAt + bucketCount
const countsLength = totalMsAt + 1

export interface RequestCounts {
  /** Makes a route known. Whatever is not known counts as `none`: so no URL becomes a label. */
  addRoute(route: string): void
  /** Counts one answered request. This happens with every request, so it makes no objects and no texts. */
  request(route: string, status: number, ms: number, tier: string | undefined): void
  read(): Reading[]
}

function statusSamples(route: string, counts: Float64Array): Sample[] {
  const samples: Sample[] = []
  for (let index = 0; index < statusCount; index += 1) {
    const value = counts[index] ?? 0
    if (value > 0) samples.push({ labels: [route, String(index + leastStatus)], value })
  }
  return samples
}

/** Nothing for a route that nobody has asked for. */
function durationSamples(route: string, counts: Float64Array): Sample[] {
  let total = 0
  const buckets: Sample[] = []
  for (let index = 0; index < bucketCount; index += 1) {
    total += counts[bucketsAt + index] ?? 0
    const endMs = bucketEndsMs[index]
    buckets.push({
      part: 'bucket',
      labels: [route, endMs === undefined ? '+Inf' : String(endMs / 1000)],
      value: total,
    })
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
  const ofNone = new Float64Array(countsLength)
  const byRoute = new Map([[none, ofNone]])
  const tierNames: string[] = [...tiers, none]
  const tierPlaces = new Map<string | undefined, number>(tierNames.map((tier, index) => [tier, index]))
  const byTier = new Float64Array(tierNames.length)
  const placeOfNone = tierNames.length - 1

  return {
    addRoute(route) {
      if (!byRoute.has(route)) byRoute.set(route, new Float64Array(countsLength))
    },
    request(route, status, ms, tier) {
      const counts = byRoute.get(route) ?? ofNone
      let bucket = 0
      while (bucket < bucketEndsMs.length && ms > (bucketEndsMs[bucket] ?? 0)) bucket += 1
      const place = status - leastStatus
      add(counts, place >= 0 && place < statusCount ? place : statusCount - 1, 1)
      add(counts, bucketsAt + bucket, 1)
      add(counts, totalMsAt, ms)
      add(byTier, tierPlaces.get(tier) ?? placeOfNone, 1)
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
