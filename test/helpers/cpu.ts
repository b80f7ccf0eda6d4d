import assert from 'node:assert/strict'

/** A megabyte takes seconds where the time grows with the square, and milliseconds where it does not. */
const smallLength = 50_000
const times = 4
/** Sixteen where the time grows with the square. */
const mostGrowth = 10
/** Below this, what is measured is the machine. */
const noiseMs = 40

function cpuMs(run: () => void): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Work on a text of four times the length takes about four times as long: computing time, not what the clock says. */
export function assertLinear(make: (length: number) => string, work: (text: string) => unknown): void {
  const [small, large] = [make(smallLength), make(smallLength * times)]
  const measure = (text: string): number => Math.min(...[1, 2].map(() => cpuMs(() => work(text))))
  measure(small) // and compiles what is measured
  const growth = measure(large) / Math.max(measure(small), noiseMs)
  assert.ok(
    growth < mostGrowth,
    `${times} times as much of ${small.slice(0, 40)}… takes ${growth.toFixed(1)} times as long`,
  )
}
