import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createKeyedMutex, createSemaphore } from '../../src/concurrency/semaphore.ts'
import { listSites } from '../../src/store/content/sites.ts'
import type { GroupStore } from '../../src/store/store.ts'
import { write } from '../helpers/authoring.ts'
import { harness, onBothEngines } from '../helpers/harness.ts'

describe('a keyed mutex', () => {
  it('runs the work of one key in order, one at a time, and continues after a failure', async () => {
    const mutex = createKeyedMutex()
    const seen: string[] = []
    const work = (name: string) =>
      mutex.run('a', async () => {
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

  it('delays neither other keys nor work without a key', async () => {
    const mutex = createKeyedMutex()
    const { promise: held, resolve: end } = Promise.withResolvers<string>()
    const first = mutex.run('a', () => held)
    const second = mutex.run('a', async () => 'second')
    assert.equal(await mutex.run('b', async () => 'other'), 'other')
    assert.equal(await mutex.run(undefined, async () => 'without'), 'without')
    end('first')
    assert.deepEqual([await first, await second], ['first', 'second'])
  })
})

describe('a semaphore', () => {
  it('refuses work that has waited too long, and does not start it', async ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    const semaphore = createSemaphore({ maxPerKey: 1, maxWaitMs: 15_000 })
    const { promise: held, resolve: end } = Promise.withResolvers<void>()
    const first = semaphore.run('a', () => held)
    let isDone = false
    const late = semaphore.run('a', async () => {
      isDone = true
    })
    mock.timers.tick(14_999)
    const inTime = semaphore.run('a', async () => 'in time')
    mock.timers.tick(1)
    await assert.rejects(late, { code: 'Unavailable', retryAfterSeconds: 1 })
    end()
    await first
    assert.equal(await inTime, 'in time')
    assert.equal(isDone, false)
  })

  it('also waits for the total when every key has room', async ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    const semaphore = createSemaphore({ maxPerKey: 9, max: 2, maxWaitMs: 2000 })
    const { promise: held, resolve: end } = Promise.withResolvers<void>()
    const running = ['a', 'b'].map((key) => semaphore.run(key, () => held))
    const late = semaphore.run('c', async () => {})
    mock.timers.tick(2000)
    await assert.rejects(late, { code: 'Unavailable' })
    end()
    await Promise.all(running)
    await semaphore.run('c', async () => {})
  })

  it('admits the longest waiter that fits, also after failed work', async () => {
    const semaphore = createSemaphore({ maxPerKey: 1, max: 2 })
    const order: string[] = []
    const note = (name: string) => async () => void order.push(name)
    const [endA, endB] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const failing = semaphore.run('a', async () => {
      await endA.promise
      throw new Error('failed')
    })
    const other = semaphore.run('b', () => endB.promise)
    const waiting = [semaphore.run('a', note('a')), semaphore.run('b', note('b')), semaphore.run('c', note('c'))]
    endB.resolve()
    await other
    await Promise.all(waiting.slice(1))
    assert.deepEqual(order, ['b', 'c'])
    endA.resolve()
    await assert.rejects(failing, /failed/)
    await waiting[0]
    assert.deepEqual(order, ['b', 'c', 'a'])
  })

  it('serves keys in turn when they wait for the total', async () => {
    const semaphore = createSemaphore({ maxPerKey: 2, max: 2 })
    const held = [await semaphore.acquire('a'), await semaphore.acquire('a')]
    const order: string[] = []
    const work = (key: string) => semaphore.run(key, async () => void order.push(key))
    const all = [work('a'), work('a'), work('b'), work('c'), work('b')]
    for (const release of held) release()
    await Promise.all(all)
    assert.deepEqual(order, ['a', 'b', 'c', 'a', 'b'])
  })

  it('limits both active and waiting work per key', async () => {
    const semaphore = createSemaphore({ maxPerKey: 2, maxWaitingPerKey: 1, busyMessage: 'Full.' })
    const [first] = [await semaphore.acquire('a'), await semaphore.acquire('a')]
    const waiting = semaphore.acquire('a')
    await assert.rejects(semaphore.acquire('a'), { code: 'Unavailable', message: 'Full.' })
    first()
    first() // the second call has no effect
    const third = await waiting
    assert.throws(() => semaphore.acquireOrThrow('a'), { code: 'RateLimited' })
    third()
    semaphore.acquireOrThrow('a')
  })

  it('counts weights per key and in total, and refuses at once', () => {
    const semaphore = createSemaphore({
      maxPerKey: 10,
      max: 15,
      keyMessage: 'Your limit.',
      busyMessage: 'Full.',
      retryAfterSeconds: 5,
    })
    const release = semaphore.acquireOrThrow('a', 8)
    assert.throws(() => semaphore.acquireOrThrow('a', 3), { code: 'RateLimited', message: 'Your limit.' })
    semaphore.acquireOrThrow('a', 2)
    assert.throws(() => semaphore.acquireOrThrow('b', 6), {
      code: 'Unavailable',
      message: 'Full.',
      retryAfterSeconds: 5,
    })
    release()
    semaphore.acquireOrThrow('b', 6)
  })

  it('drops idle keys, and never one in use', async () => {
    const semaphore = createSemaphore({ maxPerKey: 1 })
    const release = await semaphore.acquire('held')
    for (let key = 0; key < 5000; key += 1) (await semaphore.acquire(`key ${key}`))()
    assert.throws(() => semaphore.acquireOrThrow('held'), { code: 'RateLimited' })
    release()
    semaphore.acquireOrThrow('held')
  })
})

/** Counts to a number. */
const counting = (to: number): string =>
  `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${to}) select count(*) as count from numbers`

onBothEngines('long reads of one group', (engine) => {
  it('do not delay those of another group', async () => {
    const { newGroup } = await harness(engine)
    const [{ store: busy }, { store: other }] = [await newGroup(), await newGroup()]
    const ended: string[] = []
    const read = async (name: string, { groupId, database }: GroupStore, to: number): Promise<void> => {
      await database.readLong(counting(to), [], groupId)
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
  it('leave connections for others, even while all of them wait', { timeout: 20_000 }, async () => {
    const { newGroup } = await harness(engine)
    const [{ store: busy }, { store: other }] = [await newGroup(), await newGroup()]
    const { promise: held, resolve: end } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const holder = write(busy, Date.now(), async () => {
      begin()
      await held
    })
    await begun
    const waiting = Array.from({ length: 30 }, (_, n) => write(busy, Date.now(), async () => n))
    assert.deepEqual(await listSites(other), [])
    if (engine === 'postgres') assert.equal(await write(other, Date.now(), async () => 'written'), 'written')
    end()
    await holder
    assert.deepEqual(
      await Promise.all(waiting),
      waiting.map((_, n) => n),
    )
  })
})
