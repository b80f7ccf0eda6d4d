import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { charactersPerSlice, splitIntoSlices, yieldForHeavyWork } from '../../src/concurrency/time-slicing.ts'

/** Counts turns of the event loop until it is stopped, or the test ends. */
function countTurns() {
  let turns = 0
  let next = setImmediate(count)
  function count(): void {
    turns += 1
    next = setImmediate(count)
  }
  const stop = (): void => clearImmediate(next)
  after(stop)
  return { turns: () => turns, stop }
}

describe('slices of heavy work', () => {
  // No turn seems long, as one on a busy machine is followed by a rest of several turns.
  before(() => {
    const clock = mock.method(performance, 'now', () => 0)
    after(() => clock.mock.restore())
  })

  it('start at once while the current turn of the event loop has room', async () => {
    await nextTurn()
    const counter = countTurns()
    for (let done = 0; done < 10; done += 1) await yieldForHeavyWork(charactersPerSlice / 10)
    assert.equal(counter.turns(), 0)
    await yieldForHeavyWork(charactersPerSlice / 10)
    assert.equal(counter.turns(), 1)
    counter.stop()
  })

  it('of many requests share the turns in order of arrival', async () => {
    await nextTurn()
    const counter = countTurns()
    const begun: [request: number, turn: number][] = []
    const requests = Array.from({ length: 5 }, async (_, request) => {
      for (let piece = 0; piece < 2; piece += 1) {
        await yieldForHeavyWork(charactersPerSlice)
        begun.push([request, counter.turns()])
      }
    })
    await Promise.all(requests)
    counter.stop()
    assert.deepEqual(
      begun.map(([request]) => request),
      [0, 1, 2, 3, 4, 0, 1, 2, 3, 4],
    )
    const turns = begun.map(([, turn]) => turn)
    assert.equal(new Set(turns).size, turns.length, 'no two in one turn')
  })

  it('do not delay small work, even when one slice exceeds a turn', async () => {
    await nextTurn()
    const large = [yieldForHeavyWork(10 * charactersPerSlice), yieldForHeavyWork(10 * charactersPerSlice)]
    const counter = countTurns()
    await yieldForHeavyWork(100)
    assert.equal(counter.turns(), 0)
    await Promise.all(large)
    counter.stop()
  })
})

describe('a list in slices', () => {
  it('has every item once, in order, in slices of the minimum size', () => {
    const items = Array.from({ length: 25 }, (_, n) => n)
    const pieces = splitIntoSlices(items, () => charactersPerSlice / 10)
    assert.deepEqual(
      pieces.flatMap((piece) => piece.items),
      items,
    )
    assert.deepEqual(
      pieces.map(({ items: { length }, characters }) => [length, characters / charactersPerSlice]),
      [[10, 1], [10, 1], [5, 0.5]], // biome-ignore format: short
    )
    assert.deepEqual(
      splitIntoSlices([], () => 1),
      [],
    )
  })
})
