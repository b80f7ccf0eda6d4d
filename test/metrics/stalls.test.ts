import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as setTimeoutPromise } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type Work, watchStalls } from '../../src/metrics/stalls.ts'
import { renderText } from '../../src/metrics/text-format.ts'
import { managing } from '../helpers/manage.ts'
import { parseMetrics, readValue } from '../helpers/prometheus.ts'

interface Line {
  ms: number
  cpuMs: number
  stalls: number
  during: { what: string; verb?: string; group?: string }[]
}

/** A watch with the test's clocks and ticks. */
function watching({ isBroken = false } = {}) {
  const lines: Line[] = []
  let nowMs = 1000
  let cpuMs = 0
  let tick = () => {}
  const watch = watchStalls({
    logger: {
      warn(line: object) {
        if (isBroken) throw new Error('The log cannot be written.')
        lines.push(line as Line)
      },
    } as never,
    monotonicMs: () => nowMs,
    threadCpuMs: () => cpuMs,
    every: (_ms, callback) => {
      tick = callback
      return () => {}
    },
  })
  const pass = (ms: number, workedMs = 0): void => {
    nowMs += ms
    cpuMs += workedMs
  }
  const ticks = (count: number): void => {
    for (let round = 0; round < count; round += 1) {
      pass(20)
      tick()
    }
  }
  const begin = (what: string, group?: string): Work => watch.begin(() => ({ what, group }))
  const count = (cause: string): number | undefined =>
    readValue(parseMetrics(renderText(watch.read())), 'sluice_event_loop_stalls_total', { cause })
  return { lines, watch, pass, ticks, begin, count, tick: () => tick() }
}

describe('A stall of the event loop', () => {
  it('is counted and logged with the requests in progress, without those that queued up behind it', () => {
    const { lines, watch, pass, ticks, begin, count, tick } = watching()
    begin('GET /slow', 'one')
    ticks(5)
    const ended = begin('POST /culprit', 'two')
    pass(350, 340)
    watch.end(ended)
    begin('GET /behind', 'three')
    tick()
    assert.equal(lines.length, 1)
    const [line] = lines
    assert.deepEqual([line?.ms, line?.cpuMs, line?.stalls], [330, 340, 1])
    assert.deepEqual(
      line?.during.map(({ what, group }) => [what, group]),
      [
        ['POST /culprit', 'two'],
        ['GET /slow', 'one'],
      ],
    )
    assert.deepEqual([count('work'), count('wait')], [1, 0])
  })

  it('is distinguished from time in which the thread got no CPU', () => {
    const { lines, pass, count, tick } = watching()
    pass(500, 5)
    tick()
    assert.deepEqual([count('work'), count('wait'), lines[0]?.cpuMs], [0, 1, 5])
  })

  it('lasts at least 100 ms', () => {
    const { lines, pass, ticks, count, tick } = watching()
    pass(119, 119)
    tick()
    ticks(100)
    assert.deepEqual([count('work'), count('wait'), lines], [0, 0, []])
  })

  it('is logged at most once a second, with the worst one and their number', () => {
    const { lines, watch, pass, ticks, tick } = watching()
    const stall = (ms: number): void => {
      pass(ms + 20, ms)
      tick()
    }
    for (const ms of [200, 150, 250, 110]) stall(ms)
    assert.deepEqual(
      lines.map(({ ms, stalls }) => [ms, stalls]),
      [[200, 1]],
    )
    ticks(50)
    assert.deepEqual(
      lines.map(({ ms, stalls }) => [ms, stalls]),
      [
        [200, 1],
        [250, 3],
      ],
    )
    stall(120)
    watch.stop()
    assert.equal(lines.at(-1)?.ms, 120, 'the rest is logged at the end')
  })

  it('does not end the process if the log cannot be written', () => {
    const { pass, count, tick } = watching({ isBroken: true })
    pass(500, 500)
    tick()
    assert.equal(count('work'), 1)
  })

  it('names the verb and the group of a request to the management API, and the group of a delivery request', async () => {
    const stall = (): void => {
      const untilMs = performance.now() + 150
      while (performance.now() < untilMs);
    }
    const created = await managing('sqlite', {
      prepare: (app) => {
        app.addHook('preHandler', (_request, _reply, done) => {
          stall()
          setTimeout(done, 50)
        })
      },
    })
    const { currentFiles } = created.service.media
    const { prepare } = currentFiles
    currentFiles.prepare = async (...wanted) => {
      stall()
      await setTimeoutPromise(50)
      return prepare(...wanted)
    }
    const { groupId, get, collection, tokens } = await created.newManagedGroup()
    const posts = await collection('Posts', { title: { type: 'text' } })
    let skip = 0
    const logged = (): Line['during'] =>
      created
        .log()
        .split('\n')
        .filter((line) => line.includes('the event loop stalled'))
        .flatMap((line) => JSON.parse(line).during)
    const path = `/manage/groups/${groupId}/sites`
    for (const [ask, expected] of [
      [
        () => get(`/tenant/collectionObjects?collectionId=${posts.id}&skip=${++skip}`),
        { what: 'GET /tenant/collectionObjects', group: groupId },
      ],
      [
        () => created.call('GET', path, undefined, tokens.viewer),
        { what: 'GET /manage/groups/:groupId/sites', verb: 'site list', group: groupId },
      ],
    ] as const) {
      const isLogged = () => logged().some((named) => isDeepStrictEqual(named, expected))
      for (let round = 0; round < 30 && !isLogged(); round += 1) await ask() // one line per second, of the worst stall
      assert.ok(isLogged(), JSON.stringify(logged()))
    }
  })
})
