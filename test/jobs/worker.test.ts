import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { insertJob } from '../../src/store/jobs/jobs.ts'
import type { GroupStore, Store } from '../../src/store/store.ts'
import { write } from '../helpers/authoring.ts'
import { countJobs } from '../helpers/count-jobs.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { handlerOf, leaveEffect, testKind } from './test-handlers.ts'
import { effectsIn, gate, until, workshop } from './workshop.ts'

async function addMany(group: GroupStore, count: number, nowMs: number, kind = testKind): Promise<void> {
  await write(group, nowMs, async (writer) => {
    for (let n = 0; n < count; n += 1) await insertJob(writer, { kind, payload: { n } })
  })
}

onBothEngines('a worker', (engine) => {
  it('serves groups in turn: a group with few jobs does not wait for one with many', async () => {
    const { clock, newGroup, newWorker } = await workshop(engine)
    const [many, few, other] = [await newGroup(), await newGroup(), await newGroup('second')]
    await addMany(many, 60, clock.now)
    clock.now += 1000
    for (const group of [few, other]) await addMany(group, 5, clock.now)
    const served: string[] = []
    const handler = handlerOf(async ({ groupId }) => void served.push(groupId))
    assert.equal(await newWorker([handler], { workers: 1 }).runDue(), 70)
    for (const { groupId } of [few, other])
      assert.ok(served.lastIndexOf(groupId) < 25, `the last one came as number ${served.lastIndexOf(groupId)}`)
  })

  it('runs the maximum number of jobs of each kind at once, and no kind waits for another', async () => {
    const { clock, newGroup, newWorker } = await workshop(engine)
    const group = await newGroup()
    await addMany(group, 10, clock.now, 'pictures')
    await addMany(group, 10, clock.now, testKind)
    const { opened, open } = gate()
    let [now, most] = [0, 0]
    const slow = handlerOf(
      async () => {
        now += 1
        most = Math.max(most, now)
        await opened
        now -= 1
      },
      { kind: 'pictures' },
    )
    const running = newWorker([slow, handlerOf(leaveEffect)], { workers: 3 }).runDue()
    await until(async () => (await effectsIn(group)).length === 10)
    assert.deepEqual([now, most], [3, 3])
    open()
    assert.equal(await running, 20)
    assert.deepEqual([now, most], [0, 3])
  })

  it('limits each group’s share of slots: a hanging job of one group delays no other', async () => {
    const { clock, newGroup, newWorker } = await workshop(engine)
    const [stuck, other] = [await newGroup(), await newGroup()]
    await addMany(stuck, 20, clock.now)
    await addMany(other, 20, clock.now)
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    let hanging = 0
    let most = 0
    let done = 0
    const handler = handlerOf(
      async ({ groupId }) => {
        if (groupId === other.groupId) {
          done += 1
          if (done === 20) open()
          return
        }
        hanging += 1
        most = Math.max(most, hanging)
        await opened
        hanging -= 1
      },
      { maxPerWorker: 4, maxPerGroup: 3 },
    )
    assert.equal(await newWorker([handler], { workers: 1 }).runDue(), 40)
    assert.equal(most, 3)
  })

  it('without slots runs nothing by itself, runs due jobs on request, and stops at once', async () => {
    const { clock, newGroup, newWorker } = await workshop(engine)
    const group = await newGroup()
    await addMany(group, 3, clock.now)
    const worker = newWorker([handlerOf(leaveEffect)], { workers: 0 })
    worker.start()
    await sleep(50)
    assert.deepEqual(await effectsIn(group), [])
    assert.equal(await worker.runDue(), 3)
    await addMany(group, 1, clock.now)
    await worker.stop()
    assert.equal((await effectsIn(group)).length, 3)
  })

  it('continues with the other databases when one is unreachable, logs that once, and returns to it', async () => {
    const { store, clock, newGroup, newWorker, log } = await workshop(engine)
    const [here, there] = [await newGroup(), await newGroup('second')]
    for (const group of [here, there]) await addMany(group, 3, clock.now)
    let isUnreachable = true
    const content: Store['content'] = async (name) => {
      if (isUnreachable && name === 'second') throw new Error('the cable was cut')
      return store.content(name)
    }
    const worker = newWorker([handlerOf(leaveEffect)], { store: { ...store, content } })
    assert.equal(await worker.runDue(), 3)
    assert.equal(await worker.runDue(), 0)
    assert.equal(log().match(/the cable was cut/g)?.length, 2, 'its message and its stack, in one line')
    assert.equal(log().trim().split('\n').length, 1)
    isUnreachable = false
    assert.equal(await worker.runDue(), 3)
    assert.equal((await effectsIn(there)).length, 3)
  })

  it('finds jobs and databases added after its start, and survives a failure', async () => {
    const { store, newGroup, add, newWorker } = await workshop(engine)
    let failures = 1
    const control = new Proxy(store.control, {
      get: (target, name) => {
        if (name === 'read' && failures-- > 0) throw new Error('the cable was cut')
        return Reflect.get(target, name)
      },
    })
    const worker = newWorker([handlerOf(leaveEffect)], { store: { ...store, control } })
    worker.start()
    try {
      for (const database of ['main', 'later']) {
        const group = await newGroup(database)
        await add(group, { payload: { n: 1 } })
        await until(async () => (await effectsIn(group)).length === 1)
      }
    } finally {
      await worker.stop()
    }
  })

  it('without slots leaves all jobs to other processes unless asked to run them', async () => {
    const { newGroup, add, newWorker } = await workshop(engine)
    const group = await newGroup()
    await add(group, { payload: { n: 1 } })
    await add(group, { kind: 'marker' })
    const idle = newWorker([handlerOf(leaveEffect)], { workers: 0 })
    const busy = newWorker([handlerOf(async () => {}, { kind: 'marker' })])
    for (const worker of [idle, busy]) worker.start()
    await until(async () => (await countJobs(group.database)).done === 1)
    assert.deepEqual(await effectsIn(group), [])
    assert.equal(await idle.runDue(), 1)
    assert.deepEqual(await effectsIn(group), ['effect 1'])
    await Promise.all([idle.stop(), busy.stop()])
  })

  it('shares 200 jobs with another one on the same database, and each job runs once', async () => {
    const { clock, newGroup, newWorker, openAnother } = await workshop(engine)
    const groups = [await newGroup(), await newGroup(), await newGroup()]
    await addMany(groups[0] as GroupStore, 160, clock.now)
    for (const group of groups.slice(1)) await addMany(group, 20, clock.now)
    const runs: string[] = []
    const counts = [0, 0]
    const workers = [0, 1].map(async (position) =>
      newWorker(
        [
          handlerOf(async (job, context) => {
            runs.push(job.id)
            counts[position] = (counts[position] ?? 0) + 1
            await leaveEffect(job, context)
          }),
        ],
        { store: await openAnother(), workers: 4 },
      ),
    )
    await Promise.all((await Promise.all(workers)).map((worker) => worker.runDue()))
    assert.equal(runs.length, 200)
    assert.equal(new Set(runs).size, 200)
    assert.ok(
      counts.every((count) => count > 20),
      `both worked: ${counts}`,
    )
    const effects = (await Promise.all(groups.map(effectsIn))).map((found) => [found.length, new Set(found).size])
    assert.deepEqual(effects, [[160, 160], [20, 20], [20, 20]]) // biome-ignore format: short
    assert.equal((await countJobs((groups[0] as GroupStore).database)).done, 200)
  })
})
