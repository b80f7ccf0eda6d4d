import assert from 'node:assert/strict'

const times = 4
/** Quadratic work grows sixteenfold. */
const maxGrowth = 10
/** Shorter times are dominated by noise. */
const noiseMs = 100
const attempts = 3

/** CPU time of this thread, independent of other threads and programs. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

async function cpuMsOf(run: () => unknown): Promise<number> {
  const beforeMs = cpuMs()
  await run()
  return cpuMs() - beforeMs
}

/**
 * Four times the size must not cost ten times the CPU time. A fast large run always passes, and a bad result is measured
 * again, because a busy machine slows down single attempts.
 */
export async function assertLinear<Input>(
  make: (size: number) => Input | Promise<Input>,
  work: (input: Input) => unknown,
  { size = 50_000 } = {},
): Promise<void> {
  const large = await make(size * times)
  let largeMs = await cpuMsOf(() => work(large))
  if (largeMs < noiseMs) return
  const small = await make(size)
  let smallMs = Infinity
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    smallMs = Math.min(smallMs, await cpuMsOf(() => work(small)))
    if (largeMs < Math.max(smallMs, noiseMs / times) * maxGrowth) return
    largeMs = Math.min(largeMs, await cpuMsOf(() => work(large)))
  }
  const growth = largeMs / smallMs
  assert.ok(growth < maxGrowth, `${times} times as much takes ${growth.toFixed(1)} times as long, for ${size} of it`)
}
