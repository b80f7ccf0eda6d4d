import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { GroupStore } from '../../src/store/groups.ts'
import { listSites } from '../../src/store/sites.ts'
import { createTurns } from '../../src/store/turns.ts'
import { write } from '../helpers/authoring.ts'
import { harness, onBothEngines } from '../helpers/harness.ts'

describe('turns', () => {
  it('come in the order in which they were asked for, one at a time, and go on after a failure', async () => {
    const takeTurn = createTurns()
    const seen: string[] = []
    const work = (name: string) =>
      takeTurn('a', async () => {
        seen.push(`${name} begins`)
        await new Promise(setImmediate)
        seen.push(`${name} ends`)
        if (name === 'second') throw new Error('second failed')
        return name
      })
    const results = await Promise.allSettled(['first', 'second', 'third'].map(work))
    assert.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.message)),
      ['first', 'second failed', 'third'],
    )
    assert.deepEqual(
      seen,
      ['first', 'second', 'third'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    )
  })

  it('are those of one name: others, and who names nobody, do not wait', async () => {
    const takeTurn = createTurns()
    const { promise: held, resolve: letGo } = Promise.withResolvers<string>()
    const first = takeTurn('a', () => held)
    const second = takeTurn('a', async () => 'second')
    assert.equal(await takeTurn('b', async () => 'other'), 'other')
    assert.equal(await takeTurn(undefined, async () => 'nobody'), 'nobody')
    letGo('first')
    assert.deepEqual([await first, await second], ['first', 'second'])
  })

  it('that come too late are refused, and nothing is done', async () => {
    let nowMs = 0
    const takeTurn = createTurns({ now: () => nowMs })
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const first = takeTurn('a', () => held)
    await Promise.resolve()
    let isDone = false
    const late = takeTurn('a', async () => {
      isDone = true
    })
    nowMs = 15_001
    const inTime = takeTurn('a', async () => 'in time')
    letGo()
    await first
    await assert.rejects(late, { code: 'Unavailable', retryAfterSeconds: 1 })
    assert.equal(isDone, false)
    assert.equal(await inTime, 'in time')
  })
})

/** Counts to a number. */
const counting = (to: number): string =>
  `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${to}) select count(*) as count from numbers`

onBothEngines('reads of one group', (engine) => {
  it('that take long let in those of another group between them', async () => {
    const { newGroup } = await harness(engine)
    const [{ store: busy }, { store: other }] = [await newGroup(), await newGroup()]
    const ended: string[] = []
    const read = async (name: string, { groupId, database }: GroupStore, to: number): Promise<void> => {
      await database.readAside(counting(to), [], groupId)
      ended.push(name)
    }
    await Promise.all([...[1, 2, 3].map((time) => read(`long ${time}`, busy, 500_000)), read('of another', other, 10)])
    assert.deepEqual(
      ended.filter((name) => name !== 'of another'),
      ['long 1', 'long 2', 'long 3'],
    )
    assert.ok(ended.indexOf('of another') <= 1, ended.join(', '))
  })
})

onBothEngines('many writers of one group', (engine) => {
  // There are ten connections to PostgreSQL.
  it('keep nobody else from reading and writing, also while all of them wait', { timeout: 20_000 }, async () => {
    const { newGroup } = await harness(engine)
    const [{ store: busy }, { store: other }] = [await newGroup(), await newGroup()]
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const holder = write(busy, Date.now(), async () => {
      begin()
      await held
    })
    await begun
    const waiting = Array.from({ length: 30 }, (_, n) => write(busy, Date.now(), async () => n))
    assert.deepEqual(await listSites(other), [])
    if (engine === 'postgres') assert.equal(await write(other, Date.now(), async () => 'written'), 'written')
    letGo()
    await holder
    assert.deepEqual(
      await Promise.all(waiting),
      waiting.map((_, n) => n),
    )
  })
})
