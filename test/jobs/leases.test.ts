import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createLogger } from '../../src/core/logging.ts'
import { runJob } from '../../src/jobs/run-job.ts'
import { claimJob, leaseMs } from '../../src/store/jobs/claim-jobs.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { handlerOf, leaveEffect, testKind } from './test-handlers.ts'
import { effectsIn, gate, until, workshop } from './workshop.ts'

const mockIntervals = (context: TestContext) => context.mock.timers.enable({ apis: ['setInterval'] })

onBothEngines('a lease', (engine) => {
  it('that has expired lets another worker claim the job, and what the first one writes then is rolled back', async () => {
    const { clock, newGroup, add, job, newWorker, openAnother } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group, { payload: { n: 1 } })
    const other = newWorker([handlerOf(leaveEffect)], { store: await openAnother() })
    let problem: unknown
    const first = handlerOf(async (taken, context) => {
      clock.now += leaseMs
      assert.equal(await other.runDue(), 1)
      await context
        .finish(async (writer) => writer.record({ type: 'content.updated', subjectId: 'twice' }))
        .catch((error) => {
          problem = error
          throw error
        })
      assert.fail(`${taken.id} had an effect`)
    })
    await newWorker([first]).runDue()
    assert.match(String(problem), /taken this job over/)
    assert.deepEqual(await effectsIn(group), ['effect 1'])
    const { state, attempts, problem: kept } = (await job(group, id)) ?? {}
    assert.deepEqual([state, attempts, kept], ['done', 2, null])
  })

  it('is renewed while the job runs, so no other worker claims it', async (context) => {
    const { clock, newGroup, add, job, newWorker, openAnother } = await workshop(engine)
    mockIntervals(context)
    const group = await newGroup()
    const id = await add(group, { payload: { n: 1 } })
    const [begun, end] = [gate(), gate()]
    const handler = handlerOf(async (taken, given) => {
      begun.open()
      await end.opened
      await leaveEffect(taken, given)
    })
    const running = newWorker([handler]).runDue()
    const other = newWorker([handlerOf(leaveEffect)], { store: await openAnother() })
    await begun.opened
    for (let n = 0; n < 10; n += 1) {
      clock.now += leaseMs / 3
      context.mock.timers.tick(leaseMs / 3)
      await until(async () => (await job(group, id))?.dueMs === clock.now + leaseMs)
      assert.equal(await other.runDue(), 0)
    }
    end.open()
    await running
    assert.deepEqual(await effectsIn(group), ['effect 1'])
    assert.equal((await job(group, id))?.attempts, 1)
  })

  it('that expired by a clock jump stops the first worker within a third of a lease', async (context) => {
    const { clock, newGroup, add, job, newWorker, openAnother, log } = await workshop(engine)
    mockIntervals(context)
    const group = await newGroup()
    const id = await add(group, { payload: { n: 1 } })
    let signal: AbortSignal | undefined
    const deaf = handlerOf((_, given) => {
      signal = given.signal
      return new Promise(() => {})
    })
    const running = newWorker([deaf]).runDue()
    await until(() => signal !== undefined)
    clock.now += 3_600_000
    assert.equal(await newWorker([handlerOf(leaveEffect)], { store: await openAnother() }).runDue(), 1)
    context.mock.timers.tick(leaseMs / 3)
    await running
    assert.equal(signal?.aborted, true)
    assert.match(log(), /taken over/)
    assert.deepEqual(await effectsIn(group), ['effect 1'])
    assert.equal((await job(group, id))?.state, 'done')
  })
})

onBothEngines('the ownership of a job', (engine) => {
  it('is checked by both clocks without a query, and again after the lease was renewed', async (context) => {
    const { clock, newGroup, add, job, newWorker } = await workshop(engine)
    mockIntervals(context)
    const group = await newGroup()
    const id = await add(group, { payload: { n: 1 } })
    let passedMs = 0
    const now = performance.now.bind(performance)
    context.mock.method(performance, 'now', () => now() + passedMs)
    const renew = async () => {
      context.mock.timers.tick(leaseMs / 3)
      await until(async () => (await job(group, id))?.dueMs === clock.now + leaseMs)
    }
    const answers: boolean[] = []
    const handler = handlerOf(async (_, { isOurs }) => {
      answers.push(isOurs())
      passedMs += leaseMs // the process was stopped
      answers.push(isOurs())
      clock.now += 1
      await renew()
      await until(isOurs)
      clock.now += leaseMs // the whole machine slept
      answers.push(isOurs())
      await renew()
      await until(isOurs)
    })
    await newWorker([handler]).runDue()
    assert.deepEqual(answers, [true, false, false])
    const { state, attempts } = (await job(group, id)) ?? {}
    assert.deepEqual([state, attempts], ['done', 1])
  })

  it('counts from when the lease was requested, not from when the answer arrived', async () => {
    const { clock, newGroup, add, newWorker, store } = await workshop(engine)
    const group = await newGroup()
    await add(group)
    const claimed = await claimJob(group.database, { kind: testKind, groupId: group.groupId, nowMs: clock.now })
    assert.ok(claimed)
    const answers: boolean[] = []
    const handler = handlerOf(async (_, { isOurs }) => void answers.push(isOurs()))
    const deps = { store, clock: () => clock.now, logger: createLogger({ logLevel: 'silent' }) }
    const late = { ...claimed, claimedMs: claimed.claimedMs - leaseMs }
    await runJob(deps, { handler, claimed: late, group, stopping: new AbortController().signal })
    assert.deepEqual(answers, [false])
    assert.equal(await newWorker([handler]).runDue(), 0)
  })
})

onBothEngines('a clock that jumps ahead', (engine) => {
  it('does not make a process claim a job that it is already running', async (context) => {
    const { clock, newGroup, add, job, newWorker } = await workshop(engine)
    mockIntervals(context)
    const group = await newGroup()
    const [id, other] = [await add(group, { payload: { n: 1 } }), await add(group, { payload: { n: 2 } })]
    const [begun, end] = [gate(), gate()]
    const begunIds: string[] = []
    const handler = handlerOf(
      async (taken, given) => {
        begunIds.push(taken.id)
        if (taken.id === id) {
          begun.open()
          await end.opened
        }
        await leaveEffect(taken, given)
      },
      { maxPerWorker: 10 },
    )
    const worker = newWorker([handler])
    const running = worker.runDue()
    await begun.opened
    await until(async () => (await job(group, other))?.state === 'done')
    clock.now += 3_600_000
    const third = await add(group, { payload: { n: 3 } })
    const again = worker.runDue()
    await until(async () => (await job(group, third))?.state === 'done')
    end.open()
    await Promise.all([running, again])
    assert.deepEqual(begunIds.toSorted(), [id, other, third].toSorted())
    assert.equal((await job(group, id))?.attempts, 1)
    assert.deepEqual((await effectsIn(group)).toSorted(), ['effect 1', 'effect 2', 'effect 3'])
  })
})

onBothEngines('stopping a worker', (engine) => {
  it('claims nothing new, and waits for jobs that end in time', async () => {
    const { newGroup, add, newWorker, job } = await workshop(engine)
    const group = await newGroup()
    const ids = [await add(group, { payload: { n: 1 } }), await add(group, { payload: { n: 2 } })]
    const { opened, open } = gate()
    let runs = 0
    const handler = handlerOf((taken, context) => {
      runs += 1
      return opened.then(() => leaveEffect(taken, context))
    })
    const worker = newWorker([handler], { workers: 1 })
    const running = worker.runDue()
    await until(() => runs === 1)
    const stopped = worker.stop()
    open()
    await Promise.all([stopped, running])
    const states = await Promise.all(ids.map(async (id) => (await job(group, id))?.state))
    assert.deepEqual([runs, states], [1, ['done', 'waiting']])
    assert.equal(await worker.runDue(), 0)
  })

  it('gives back unfinished jobs after 10 seconds, as if they had not been started', async (context) => {
    const { newGroup, add, newWorker, job, clock } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group)
    let signal: AbortSignal | undefined
    const deaf = handlerOf((_, given) => {
      signal = given.signal
      return new Promise(() => {})
    })
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const worker = newWorker([deaf])
    const running = worker.runDue()
    await until(() => signal !== undefined)
    const stopped = worker.stop()
    context.mock.timers.tick(9_999)
    assert.equal(signal?.aborted, false)
    context.mock.timers.tick(1)
    await Promise.all([stopped, running])
    assert.equal(signal?.aborted, true)
    const { state, attempts, dueMs, problem } = (await job(group, id)) ?? {}
    assert.deepEqual([state, attempts, dueMs, problem], ['waiting', 0, clock.now, null])
  })
})
