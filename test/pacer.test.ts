import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createPacer } from '../src/pacer.ts'

describe('a pacer', () => {
  it('lets others have their turn after so much work, and not before', async () => {
    let turns = 0
    const count = () => {
      turns += 1
      waiting = setImmediate(count)
    }
    let waiting = setImmediate(count)
    const pace = createPacer(10)
    for (let done = 0; done < 9; done += 1) await pace(1)
    assert.equal(turns, 0)
    await pace(1)
    assert.equal(turns, 1)
    for (let done = 0; done < 3; done += 1) await pace(100)
    assert.equal(turns, 4)
    clearImmediate(waiting)
  })
})
