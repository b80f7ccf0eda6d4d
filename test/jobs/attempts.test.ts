import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PermanentFailure } from '../../src/jobs/handler.ts'
import { deleteGroupContent } from '../../src/store/content/purge.ts'
import { deleteGroupRow, findGroupById } from '../../src/store/control/groups.ts'
import { claimJob, leaseMs } from '../../src/store/jobs/claim-jobs.ts'
import { insertJob } from '../../src/store/jobs/jobs.ts'
import { authoring } from '../helpers/authoring.ts'
import { countJobs } from '../helpers/count-jobs.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { handlerOf, leaveEffect, testKind } from './test-handlers.ts'
import { effectsIn, workshop } from './workshop.ts'

const minutesMs = 60_000

onBothEngines('an attempt at a job', (engine) => {
  it('writes its effect and completes the job in one transaction', async () => {
    const { clock, newGroup, add, job, newWorker } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group, { payload: { n: 7 } })
    assert.equal(await newWorker([handlerOf(leaveEffect)]).runDue(), 1)
    assert.deepEqual(await effectsIn(group), ['effect 7'])
    const done = await job(group, id)
    assert.deepEqual([done?.state, done?.dueMs, done?.finishedMs, done?.attempts], ['done', null, clock.now, 1])
  })

  it('leaves nothing when its effect fails half-way', async () => {
    const { newGroup, add, job, newWorker } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group)
    const handler = handlerOf((_, { finish }) =>
      finish(async (writer) => {
        writer.record({ type: 'content.updated', subjectId: 'half' })
        throw new Error('half-way')
      }),
    )
    await newWorker([handler]).runDue()
    assert.deepEqual(await effectsIn(group), [])
    const waiting = await job(group, id)
    assert.deepEqual([waiting?.state, waiting?.problem], ['waiting', 'half-way'])
  })

  it('completes the job even when the handler has no effect in the database', async () => {
    const { newGroup, add, job, newWorker } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group)
    await newWorker([handlerOf(async () => {})]).runDue()
    assert.equal((await job(group, id))?.state, 'done')
  })

  it('can add further jobs, which also run', async () => {
    const { newGroup, add, newWorker } = await workshop(engine)
    const group = await newGroup()
    await add(group, { kind: 'first' })
    const first = handlerOf(
      (_, { finish }) =>
        finish(async (writer) => void (await insertJob(writer, { kind: testKind, payload: { n: 2 } }))),
      { kind: 'first' },
    )
    assert.equal(await newWorker([first, handlerOf(leaveEffect)]).runDue(), 2)
    assert.deepEqual(await effectsIn(group), ['effect 2'])
  })

  it('that fails is followed by others on the schedule of its kind, then by none', async () => {
    const { clock, newGroup, add, job, newWorker } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group)
    const runs: number[] = []
    const worker = newWorker([
      handlerOf(async ({ attempts }) => {
        runs.push(attempts)
        throw new Error(`no ${attempts}`)
      }),
    ])
    const start = clock.now
    for (const waitMs of [0, 9_999, 1, 99_999, 1, 10 * minutesMs]) {
      clock.now += waitMs
      await worker.runDue()
      const { state, dueMs, problem } = (await job(group, id)) ?? {}
      const expected = {
        1: ['waiting', start + 10_000, 'no 1'],
        2: ['waiting', start + 110_000, 'no 2'],
        3: ['failed', null, 'no 3'],
      }[runs.length]
      assert.deepEqual([state, dueMs, problem], expected)
    }
    assert.deepEqual(runs, [1, 2, 3])
    assert.equal((await job(group, id))?.finishedMs, start + 110_000)
  })

  it('that fails permanently is not followed by another', async () => {
    const { clock, newGroup, add, job, newWorker } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group)
    const worker = newWorker([handlerOf(() => Promise.reject(new PermanentFailure('This is no picture.')))])
    await worker.runDue()
    clock.now += 60 * minutesMs
    assert.equal(await worker.runDue(), 0)
    const { state, problem, attempts } = (await job(group, id)) ?? {}
    assert.deepEqual([state, problem, attempts], ['failed', 'This is no picture.', 1])
  })

  it('that fails stores the reason, at most 500 characters that any database accepts', async () => {
    const { newGroup, add, job, newWorker } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group)
    await newWorker([handlerOf(() => Promise.reject(new Error(`\0${'🥖'.repeat(400)}`)))]).runDue()
    const { problem } = (await job(group, id)) ?? {}
    assert.match(problem ?? '', /^(🥖)+.?$/u)
    assert.ok((problem ?? '').length <= 500)
    const other = await add(group)
    await newWorker([handlerOf(() => Promise.reject('a word'))]).runDue()
    assert.equal((await job(group, other))?.problem, 'a word')
  })

  it('ends at its time limit, whether or not the handler cooperates, and counts as a failure', async () => {
    const { newGroup, add, job, newWorker } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group)
    let signal: AbortSignal | undefined
    const deaf = handlerOf(
      (_, context) => {
        signal = context.signal
        return new Promise(() => {})
      },
      { maxSeconds: 0.05 },
    )
    await newWorker([deaf]).runDue()
    assert.equal(signal?.aborted, true)
    const { state, problem } = (await job(group, id)) ?? {}
    assert.deepEqual([state, problem], ['waiting', 'It took longer than 0.05 seconds.'])
  })

  it('that continues after its time limit has no effect', async () => {
    const { newGroup, add, newWorker } = await workshop(engine)
    const group = await newGroup()
    await add(group, { payload: { n: 1 } })
    const { promise: tooLate, resolve } = Promise.withResolvers<unknown>()
    const slow = handlerOf(
      async (job, context) => {
        context.signal.addEventListener('abort', () =>
          setTimeout(() => leaveEffect(job, context).then(resolve, resolve), 50),
        )
        await new Promise(() => {})
      },
      { maxSeconds: 0.05 },
    )
    await newWorker([slow]).runDue()
    assert.match(String(await tooLate), /taken this job over/)
    assert.deepEqual(await effectsIn(group), [])
  })

  it('that kills its process is not repeated forever', async () => {
    const { clock, newGroup, add, job, newWorker } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group)
    for (let n = 0; n < 3; n += 1) {
      assert.ok(await claimJob(group.database, { kind: testKind, groupId: group.groupId, nowMs: clock.now }))
      clock.now += leaseMs
    }
    const runs: string[] = []
    await newWorker([handlerOf(async (taken) => void runs.push(taken.id))]).runDue()
    const { state, problem } = (await job(group, id)) ?? {}
    assert.deepEqual([state, runs], ['failed', []])
    assert.match(problem ?? '', /started 3 times/)
  })

  it('whose failure is final writes what its kind records about it, in the same transaction', async () => {
    const { clock, newGroup, add, job, newWorker } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group)
    const failing = handlerOf(
      async () => {
        throw new Error('The other side is unreachable.')
      },
      {
        giveUp: async (given, problem, writer) =>
          writer.record({ type: 'job.cancelled', subjectId: given.id, note: problem }),
      },
    )
    const worker = newWorker([failing])
    for (const waitSeconds of [0, 10, 100]) {
      assert.deepEqual(await effectsIn(group), [])
      clock.now += waitSeconds * 1000
      await worker.runDue()
    }
    assert.deepEqual(await effectsIn(group), [id])
    assert.equal((await job(group, id))?.state, 'failed')
  })

  it('of a kind that mostly waits is one of several at once', async () => {
    const { newGroup, add, newWorker } = await workshop(engine)
    const group = await newGroup()
    for (let n = 0; n < 10; n += 1) await add(group)
    const { promise: all, resolve } = Promise.withResolvers<void>()
    let running = 0
    let most = 0
    const meeting = handlerOf(
      async () => {
        running += 1
        most = Math.max(most, running)
        if (running === 4) resolve()
        await all
        await nextTurn()
        running -= 1
      },
      { maxPerWorker: 4 },
    )
    await newWorker([meeting], { workers: 1 }).runDue()
    assert.equal(most, 4)
  })

  it('of an unknown kind is not started', async () => {
    const { newGroup, add, job, newWorker } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group, { kind: 'unknown' })
    assert.equal(await newWorker([handlerOf(leaveEffect)]).runDue(), 0)
    const { state, attempts } = (await job(group, id)) ?? {}
    assert.deepEqual([state, attempts], ['waiting', 0])
  })

  it('of a deleted group, or one being deleted, is not started and affects no other', async () => {
    const { store, clock, newGroup, add, newWorker, log } = await workshop(engine)
    const [gone, leaving, staying] = [await newGroup(), await newGroup(), await newGroup()]
    for (const group of [gone, leaving, staying]) await add(group, { payload: { n: 1 } })
    await deleteGroupRow(store, await findGroupById(store, gone.groupId), authoring(clock.now))
    await store.control.write((db) =>
      db.updateTable('groups').set({ deleting_ms: clock.now }).where('id', '=', leaving.groupId).execute(),
    )
    await newWorker([handlerOf(leaveEffect)]).runDue()
    for (const group of [gone, leaving]) assert.deepEqual(await effectsIn(group), [])
    assert.deepEqual(await effectsIn(staying), ['effect 1'])
    assert.deepEqual(await countJobs(staying.database), { waiting: 0, running: 0, done: 1, failed: 0, cancelled: 0 })
    assert.equal(log(), '')
  })

  it('has no effect in a group deleted in the meantime, and its job is deleted with the group', async () => {
    const { clock, newGroup, add, newWorker } = await workshop(engine)
    const group = await newGroup()
    await add(group, { payload: { n: 1 } })
    const handler = handlerOf(async (job, context) => {
      await deleteGroupContent(group, clock.now, () => {})
      await leaveEffect(job, context)
    })
    await newWorker([handler]).runDue()
    assert.deepEqual(await effectsIn(group), [])
    assert.equal((await countJobs(group.database)).waiting, 0)
  })
})
