import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { families } from './families.ts'
import { type Reading, type Sample, single } from './text-format.ts'

/** How often is looked whether the process comes to its work in time. It costs less than a thousandth of a CPU. */
const sampleEveryMs = 20
/** Quantiles are of at least so long a time: who asks very often must not make them empty. */
const leastWindowMs = 10_000
const quantiles = [0.5, 0.9, 0.99, 1]

/** What is measured, in nanoseconds, is the time between two looks, which is never shorter than asked for. */
const delaySeconds = (intervalNs: number): number => Math.max(0, intervalNs / 1e9 - sampleEveryMs / 1000)

export interface EventLoopWatch {
  read(): Reading[]
  stop(): void
}

/** `monotonicMs` is a clock that only goes forward. */
export function watchEventLoop(monotonicMs = () => performance.now()): EventLoopWatch {
  const intervals = monitorEventLoopDelay({ resolution: sampleEveryMs })
  intervals.enable()
  let windowBeganMs = monotonicMs()
  /** Of all windows that have ended. */
  const ended = { count: 0, sumSeconds: 0 }

  function readDelay(): Sample[] {
    const { count } = intervals
    const sumSeconds = count === 0 ? 0 : delaySeconds(intervals.mean) * count
    const samples: Sample[] = [
      ...quantiles.map((quantile) => ({
        labels: [String(quantile)],
        value: count === 0 ? 0 : delaySeconds(intervals.percentile(quantile * 100)),
      })),
      { part: 'sum', value: ended.sumSeconds + sumSeconds },
      { part: 'count', value: ended.count + count },
    ]
    if (monotonicMs() - windowBeganMs >= leastWindowMs) {
      ended.count += count
      ended.sumSeconds += sumSeconds
      intervals.reset()
      windowBeganMs = monotonicMs()
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
