import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { watchEventLoop } from '../../src/metrics/event-loop.ts'
import { renderText } from '../../src/metrics/text-format.ts'
import { parseMetrics, readValue } from '../helpers/prometheus.ts'

const name = 'sluice_event_loop_delay_seconds'

/** A watch with the test's clock, and its metrics. */
function watching() {
  const clock = { nowMs: 0 }
  const watch = watchEventLoop(() => clock.nowMs)
  after(() => watch.stop())
  const read = () => {
    const found = parseMetrics(renderText(watch.read()))
    const count = readValue(found, `${name}_count`) ?? 0
    const sum = readValue(found, `${name}_sum`) ?? 0
    const [median = 0, largest = 0] = ['0.5', '1'].map((quantile) => readValue(found, name, { quantile }))
    return { count, sum, median, largest, busy: readValue(found, 'sluice_event_loop_busy_seconds_total') ?? 0 }
  }
  /** Waits for a number of samples, however loaded the machine is. */
  async function untilCounted(count: number): Promise<void> {
    while (read().count < count) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return { clock, read, untilCounted }
}

function stall(ms: number): void {
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs);
}

describe('The delay of the event loop', () => {
  it('shows a stall in the largest quantile, and in the busy time', async () => {
    const { read, untilCounted } = watching()
    await untilCounted(2)
    const before = read()
    stall(300)
    await untilCounted(before.count + 2)
    const after = read()
    assert.ok(after.largest >= 0.25, `${after.largest}`)
    assert.ok(after.median < after.largest)
    assert.ok(after.sum - before.sum >= 0.25)
    assert.ok(after.busy - before.busy >= 0.3)
  })

  it('resets its quantiles at a scrape after 10 seconds or more, but not its sum and count', async () => {
    const { clock, read, untilCounted } = watching()
    await untilCounted(2)
    stall(300)
    await untilCounted(4)
    clock.nowMs = 9_999
    read()
    assert.ok(read().largest >= 0.25)
    clock.nowMs = 10_000
    const last = read()
    assert.ok(last.largest >= 0.25)
    const next = read()
    assert.equal(next.largest, 0)
    assert.deepEqual([next.count, next.sum], [last.count, last.sum])
  })
})
