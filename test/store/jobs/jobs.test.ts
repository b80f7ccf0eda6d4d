import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  claimJob,
  leaseMs,
  nextDueGroup,
  pruneJobs,
  rescheduleMisdatedJobs,
} from '../../../src/store/jobs/claim-jobs.ts'
import { findJob, insertJob, listJobs } from '../../../src/store/jobs/jobs.ts'
import type { GroupStore } from '../../../src/store/store.ts'
import { write } from '../../helpers/authoring.ts'
import { countJobs } from '../../helpers/count-jobs.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { testKind } from '../../jobs/test-handlers.ts'
import { workshop } from '../../jobs/workshop.ts'

const dayMs = 86_400_000
const yearMs = 365 * dayMs
const kind = testKind

onBothEngines('jobs', (engine) => {
  it('exist if their cause is committed, and not if it is rolled back', async () => {
    const { clock, newGroup, add, job } = await workshop(engine)
    const group = await newGroup()
    const id = await add(group, { payload: { n: 1 }, runAtMs: clock.now + 5 })
    assert.deepEqual(await job(group, id), {
      id,
      groupId: group.groupId,
      kind,
      payload: { n: 1 },
      state: 'waiting',
      dueMs: clock.now + 5,
      attempts: 0,
      problem: null,
      createdMs: clock.now,
      finishedMs: null,
    })
    const undone = write(group, clock.now, async (writer) => {
      await insertJob(writer, { kind, payload: {} })
      throw new Error('undone')
    })
    await assert.rejects(undone, /undone/)
    assert.equal((await countJobs(group.database)).waiting, 1)
  })

  it('are claimed once, only when due, the longest due first', async () => {
    const { clock, newGroup, add } = await workshop(engine)
    const group = await newGroup()
    const later = await add(group, { runAtMs: clock.now + 1000 })
    const now = await add(group)
    const claim = async () =>
      (await claimJob(group.database, { kind, groupId: group.groupId, nowMs: clock.now }))?.job.id
    assert.deepEqual([await claim(), await claim()], [now, undefined])
    clock.now += 999
    assert.equal(await claim(), undefined)
    clock.now += 1
    assert.equal(await claim(), later)
    clock.now += leaseMs
    assert.deepEqual(
      new Set([await claim(), await claim()]),
      new Set([now, later]),
      'and again after the lease has expired',
    )
    assert.equal((await findJob(group, now))?.attempts, 2)
  })

  it('are claimed once by twenty concurrent claims', async () => {
    const { clock, newGroup, add, openAnother } = await workshop(engine)
    const group = await newGroup()
    const ids = []
    for (let n = 0; n < 15; n += 1) ids.push(await add(group))
    const databases = [group.database, await (await openAnother()).content('main')]
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        claimJob(databases[n % 2] ?? group.database, { kind, groupId: group.groupId, nowMs: clock.now }),
      ),
    )
    const claimed = claims.flatMap((claim) => claim?.job.id ?? [])
    assert.equal(new Set(claimed).size, claimed.length)
    assert.deepEqual(claimed.toSorted(), ids.toSorted())
  })

  it('are offered to groups in turn', async () => {
    const { clock, newGroup, add } = await workshop(engine)
    const groups: GroupStore[] = []
    for (let n = 0; n < 4; n += 1) groups.push(await newGroup())
    const [first, second, third, fourth] = groups.toSorted((a, b) => (a.groupId < b.groupId ? -1 : 1)) as [
      GroupStore,
      GroupStore,
      GroupStore,
      GroupStore,
    ]
    for (const group of [first, first, second, fourth]) await add(group)
    await add(third, { runAtMs: clock.now + 1 })
    await add(third, { kind: 'other' })
    const next = (last: string) =>
      nextDueGroup(first.database, kind, { lastServed: last, except: [], nowMs: clock.now })
    assert.equal(await next(''), first.groupId)
    assert.equal(await next(first.groupId), second.groupId)
    assert.equal(await next(second.groupId), fourth.groupId)
    assert.equal(await next(fourth.groupId), first.groupId)
    assert.equal(
      await nextDueGroup(first.database, 'none', { lastServed: '', except: [], nowMs: clock.now }),
      undefined,
    )
  })

  it('are retained for 7 days when done, for 90 when failed or cancelled, and while they wait', async () => {
    const { clock, newGroup, add } = await workshop(engine)
    const group = await newGroup()
    const { database } = group
    const endings = ['done', 'failed', 'cancelled', 'waiting'] as const
    for (const state of endings) {
      const id = await add(group)
      const finished_ms = state === 'waiting' ? null : clock.now
      await database.write((db) => db.updateTable('jobs').set({ state, finished_ms }).where('id', '=', id).execute())
    }
    const keptAfter = async (ms: number) => {
      await pruneJobs(database, clock.now + ms)
      const counts = await countJobs(database)
      return endings.filter((state) => counts[state] > 0)
    }
    assert.deepEqual(await keptAfter(7 * dayMs), ['done', 'failed', 'cancelled', 'waiting'])
    assert.deepEqual(await keptAfter(7 * dayMs + 1), ['failed', 'cancelled', 'waiting'])
    assert.deepEqual(await keptAfter(90 * dayMs), ['failed', 'cancelled', 'waiting'])
    assert.deepEqual(await keptAfter(90 * dayMs + 1), ['waiting'])
  })

  it('are pruned in parts, completely', async () => {
    const { clock, newGroup } = await workshop(engine)
    const group = await newGroup()
    await write(group, clock.now, async (writer) => {
      for (let n = 0; n < 2500; n += 1) await insertJob(writer, { kind, payload: {} })
      await writer.db.updateTable('jobs').set({ state: 'done', due_ms: null, finished_ms: 0 }).execute()
    })
    await pruneJobs(group.database, clock.now)
    assert.equal((await countJobs(group.database)).done, 0)
  })

  it('are not delayed by a clock that was a year ahead and has been corrected', async () => {
    const { clock, newGroup, add, job } = await workshop(engine)
    const group = await newGroup()
    const { database, groupId } = group
    const scheduled = await add(group, { runAtMs: clock.now + 2 * yearMs })
    clock.now += yearMs
    const running = await add(group)
    await claimJob(database, { kind, groupId, nowMs: clock.now })
    const retried = await add(group)
    await database.write((db) =>
      db
        .updateTable('jobs')
        .set({ attempts: 1, due_ms: clock.now + 1000, created_ms: clock.now - yearMs })
        .where('id', '=', retried)
        .execute(),
    )
    const made = await add(group, { runAtMs: clock.now + 5000 })
    clock.now -= yearMs
    await rescheduleMisdatedJobs(database, { kind, longestWaitMs: 100_000, nowMs: clock.now })
    assert.equal((await job(group, retried))?.dueMs, clock.now)
    assert.equal((await job(group, made))?.dueMs, clock.now + 5000, 'waits for the requested time')
    assert.equal((await job(group, scheduled))?.dueMs, clock.now + 2 * yearMs, 'that is intended')
    const claimed = await job(group, running)
    assert.deepEqual([claimed?.state, claimed?.dueMs], ['running', clock.now])
  })

  it('are not changed if clocks differ by less than an hour', async () => {
    const { clock, newGroup, add, job } = await workshop(engine)
    const group = await newGroup()
    const ahead = clock.now + 3_500_000
    await add(group, { runAtMs: ahead })
    const claimed = await claimJob(group.database, { kind, groupId: group.groupId, nowMs: ahead })
    await rescheduleMisdatedJobs(group.database, { kind, longestWaitMs: 0, nowMs: clock.now })
    assert.equal((await job(group, claimed?.job.id ?? ''))?.dueMs, ahead + leaseMs)
  })

  it('are listed over all databases, newest first, in pages that do not overlap', async () => {
    const { store, newGroup, add } = await workshop(engine)
    const [here, there] = [await newGroup('main'), await newGroup('second')]
    const ids: string[] = []
    for (let n = 0; n < 7; n += 1) ids.push(await add(n % 2 === 0 ? here : there, { kind: n < 3 ? kind : 'other' }))
    const idsOf = async (query: object) => {
      const { jobs, totalCount } = await listJobs(store, { limit: 3, skip: 0, ...query })
      return [jobs.map(({ id }) => ids.indexOf(id)), totalCount]
    }
    assert.deepEqual(await idsOf({}), [[6, 5, 4], 7])
    assert.deepEqual(await idsOf({ skip: 3 }), [[3, 2, 1], 7])
    assert.deepEqual(await idsOf({ skip: 6 }), [[0], 7])
    assert.deepEqual(await idsOf({ skip: 9 }), [[], 7])
    assert.deepEqual(await idsOf({ kind }), [[2, 1, 0], 3])
    assert.deepEqual(await idsOf({ groupId: there.groupId }), [[5, 3, 1], 3])
    assert.deepEqual(await idsOf({ state: 'failed' }), [[], 0])
  })
})
