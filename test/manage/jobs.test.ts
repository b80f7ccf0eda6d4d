import assert from 'node:assert/strict'
import { it } from 'node:test'
import { claimJob } from '../../src/store/jobs/claim-jobs.ts'
import { insertJob, type NewJob } from '../../src/store/jobs/jobs.ts'
import type { JobRow } from '../../src/store/schema/tables.ts'
import { write } from '../helpers/authoring.ts'
import { onBothEngines, type TestEngine, testStartMs } from '../helpers/harness.ts'
import { type ManagedGroup, managing } from '../helpers/manage.ts'
import { commandsOn } from '../helpers/terminal.ts'

const at = (ms: number) => new Date(ms).toISOString()

async function withJobs(engine: TestEngine) {
  const created = await managing(engine)
  const { clock } = created
  const add = (group: ManagedGroup, job: Partial<NewJob> = {}) =>
    write(group.store, clock.now, (writer) => insertJob(writer, { kind: 'none', payload: { n: 1 }, ...job }))
  const set = ({ store }: ManagedGroup, id: string, columns: Partial<JobRow>) =>
    store.database.write((db) => db.updateTable('jobs').set(columns).where('id', '=', id).execute())
  const pathOf = ({ groupId }: ManagedGroup, id: string) => `/manage/groups/${groupId}/jobs/${id}`
  return { ...created, add, set, pathOf }
}

const failed = { state: 'failed', attempts: 3, problem: 'no', due_ms: null, finished_ms: testStartMs }

onBothEngines('jobs in the management API', (engine) => {
  it('are shown with their subject and why they failed', async () => {
    const { ask, newManagedGroup, add, set, pathOf } = await withJobs(engine)
    const group = await newManagedGroup()
    const id = await add(group)
    const waiting = {
      _id: id,
      groupId: group.groupId,
      kind: 'none',
      state: 'waiting',
      attempts: 0,
      dueAt: at(testStartMs),
      problem: null,
      payload: { n: 1 },
      createdAt: at(testStartMs),
      finishedAt: null,
    }
    assert.deepEqual(await ask('GET', pathOf(group, id), undefined, group.tokens.viewer), waiting)
    await set(group, id, failed)
    assert.deepEqual(await ask('GET', pathOf(group, id)), {
      ...waiting,
      state: 'failed',
      attempts: 3,
      dueAt: null,
      problem: 'no',
      finishedAt: at(testStartMs),
    })
  })

  it('are listed over all groups, by state, kind and group', async () => {
    const { ask, newManagedGroup, add, set } = await withJobs(engine)
    const [here, there] = [await newManagedGroup(), await newManagedGroup({ database: 'second' })]
    const [first, second] = [await add(here), await add(there, { kind: 'other' })]
    const third = await add(here)
    await set(here, third, failed)
    const listed = async (query: string) => {
      const { items, totalCount } = await ask('GET', `/manage/jobs?${query}`)
      return [items.map(({ _id }: { _id: string }) => _id), totalCount]
    }
    assert.deepEqual(await listed(''), [[third, second, first], 3])
    assert.deepEqual(await listed('skip=1&limit=1'), [[second], 3])
    assert.deepEqual(await listed('state=failed'), [[third], 1])
    assert.deepEqual(await listed('kind=other'), [[second], 1])
    assert.deepEqual(await listed(`groupId=${here.groupId}&state=waiting`), [[first], 1])
  })

  it('restart at once with "job retry" when failed, cancelled or delayed', async () => {
    const { ask, clock, newManagedGroup, add, set, pathOf } = await withJobs(engine)
    const group = await newManagedGroup()
    const id = await add(group)
    for (const before of [failed, { ...failed, state: 'cancelled' }, { state: 'waiting', due_ms: testStartMs * 2 }]) {
      await set(group, id, before)
      clock.now += 1000
      const { state, attempts, dueAt, problem, finishedAt } = await ask(
        'POST',
        `${pathOf(group, id)}/retry`,
        undefined,
        group.tokens.editor,
      )
      assert.deepEqual([state, attempts, dueAt, problem, finishedAt], ['waiting', 0, at(clock.now), null, null])
    }
    assert.ok(await claimJob(group.store.database, { kind: 'none', groupId: group.groupId, nowMs: clock.now }))
  })

  it('are cancelled by "job cancel" when waiting or failed', async () => {
    const { ask, clock, newManagedGroup, add, set, pathOf } = await withJobs(engine)
    const group = await newManagedGroup()
    for (const before of [failed, { state: 'waiting' }]) {
      const id = await add(group)
      await set(group, id, before)
      const { state, dueAt, finishedAt } = await ask('POST', `${pathOf(group, id)}/cancel`)
      assert.deepEqual([state, dueAt, finishedAt], ['cancelled', null, at(clock.now)])
    }
    const { groupId, store } = group
    assert.equal(await claimJob(store.database, { kind: 'none', groupId, nowMs: clock.now }), undefined)
  })

  it('that are running or done can be neither retried nor cancelled, and the refusal has the reason', async () => {
    const { call, clock, newManagedGroup, add, set, pathOf } = await withJobs(engine)
    const group = await newManagedGroup()
    const { groupId, store } = group
    const running = await add(group)
    assert.ok(await claimJob(store.database, { kind: 'none', groupId, nowMs: clock.now }))
    const done = await add(group)
    await set(group, done, { state: 'done', due_ms: null })
    const cancelled = await add(group)
    await set(group, cancelled, { state: 'cancelled', due_ms: null })
    for (const [id, action, state] of [
      [running, 'retry', 'running'],
      [running, 'cancel', 'running'],
      [done, 'retry', 'done'],
      [done, 'cancel', 'done'],
      [cancelled, 'cancel', 'cancelled'],
    ] as const) {
      const answer = await call('POST', `${pathOf(group, id)}/${action}`)
      assert.equal(answer.statusCode, 409)
      assert.match(answer.json().error, new RegExp(`The job is ${state}`))
    }
  })

  it('of another group look like missing jobs', async () => {
    const { call, newManagedGroup, add, pathOf } = await withJobs(engine)
    const [here, there] = [await newManagedGroup(), await newManagedGroup()]
    const id = await add(there)
    for (const [method, action] of [['GET', ''], ['POST', '/retry'], ['POST', '/cancel']] as const) {
      const foreign = await call(method, pathOf(here, id) + action)
      const unknown = await call(method, pathOf(here, 'nope') + action)
      assert.deepEqual([foreign.statusCode, foreign.body], [404, unknown.body])
    } // biome-ignore format: short
  })

  it('of one group are listed to its viewers, who see nothing of another group', async () => {
    const { ask, call, newManagedGroup, add, set } = await withJobs(engine)
    const [here, there] = [await newManagedGroup(), await newManagedGroup()]
    const [first, second] = [await add(here), await add(here, { kind: 'other' })]
    await add(there)
    await set(here, first, failed)
    const pathOf = ({ groupId }: ManagedGroup, query = '') => `/manage/groups/${groupId}/jobs${query}`
    const listed = async (query: string) => {
      const { items, totalCount } = await ask('GET', pathOf(here, query), undefined, here.tokens.viewer)
      return [items.map(({ _id }: { _id: string }) => _id), totalCount]
    }
    assert.deepEqual(await listed(''), [[second, first], 2])
    assert.deepEqual(await listed('?skip=1&limit=1'), [[first], 2])
    assert.deepEqual(await listed('?state=failed'), [[first], 1])
    assert.deepEqual(await listed('?kind=other'), [[second], 1])
    assert.equal((await call('GET', pathOf(there), undefined, here.tokens.viewer)).statusCode, 404)
    const foreign = await call('GET', pathOf(here, `?groupId=${there.groupId}`), undefined, here.tokens.viewer)
    assert.equal(foreign.statusCode, 400)
  })

  it('are also at the terminal: "jobs", "job list" and "job show"', async () => {
    const created = await withJobs(engine)
    const run = commandsOn(created)
    const group = await created.newManagedGroup({ name: 'Bakery' })
    const id = await created.add(group, { payload: { fileId: 'bread' } })
    const listed = await run('jobs', '--state', 'waiting', '--group-id', 'Bakery')
    assert.match(listed, /GROUP ID +ID +KIND +STATE +ATTEMPTS +DUE AT +PROBLEM/)
    assert.ok(listed.includes(id))
    const ofGroup = await run('job', 'list', 'Bakery')
    assert.match(ofGroup, /^ID +KIND +STATE +ATTEMPTS +DUE AT +PROBLEM/m)
    assert.ok(ofGroup.includes(id))
    assert.match(await run('job', 'show', 'Bakery', id), /"fileId": "bread"/)
  })
})
