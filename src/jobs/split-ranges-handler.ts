import { splitRanges } from '../store/content/split-ranges.ts'
import { splitRangesKind } from '../store/schema/migrations/content-ranges.ts'
import type { JobHandler } from './handler.ts'
import { retryDelaysSeconds } from './retry-backoff.ts'

/** Splits buckets of `range_totals` that have become large. Each step is final: an attempt continues where the last one ended. */
export const splitRangesHandler: JobHandler = {
  kind: splitRangesKind,
  retryDelaysSeconds: retryDelaysSeconds.splitRanges,
  maxSeconds: 3600,
  run: (_, { group, nowMs, signal }) => splitRanges(group, { nowMs, signal }),
}
