import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { families } from './families.ts'
import { type Reading, type Sample, single } from './text-format.ts'

/** Sampling takes less than a thousandth of a CPU. */
const sampleEveryMs = 20
/** Quantiles cover at least this time, so that frequent scrapes do not find them empty. */
const minWindowMs = 10_000
const quantiles = [0.5, 0.9, 0.99, 1]

/** The histogram records intervals between samples; what exceeds the sampling interval is delay. */
const delaySeconds = (intervalNs: number): number => Math.max(0, intervalNs / 1e9 - sampleEveryMs / 1000)

export interface EventLoopWatch {
  read(): Reading[]
  stop(): void
}

export function watchEventLoop(monotonicMs = () => performance.now()): EventLoopWatch {
  const intervals = monitorEventLoopDelay({ resolution: sampleEveryMs })
  intervals.enable()
  let windowStartMs = monotonicMs()
  /** Totals of the completed windows. */
  const completed = { count: 0, sumSeconds: 0 }

  function readDelay(): Sample[] {
    const { count } = intervals
    const sumSeconds = count === 0 ? 0 : delaySeconds(intervals.mean) * count
    const samples: Sample[] = [
      ...quantiles.map((quantile) => ({
        labels: [String(quantile)],
        value: count === 0 ? 0 : delaySeconds(intervals.percentile(quantile * 100)),
      })),
      { part: 'sum', value: completed.sumSeconds + sumSeconds },
      { part: 'count', value: completed.count + count },
    ]
    if (monotonicMs() - windowStartMs >= minWindowMs) {
      completed.count += count
      completed.sumSeconds += sumSeconds
      intervals.reset()
      windowStartMs = monotonicMs()
    }
    return samples
  }

  return {
    read: () => [
      { family: families.eventLoopDelay, samples: readDelay() },
      single(families.eventLoopBusy, performance.eventLoopUtilization().active / 1000),
    ],
    stop: () => void intervals.disable(),
  }
}
