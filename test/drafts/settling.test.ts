import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { readDueMs } from '../../src/store/content/due.ts'
import { putWorkingCopy } from '../../src/store/content/working-copies.ts'
import { qualifiedTable } from '../../src/store/engine/database.ts'
import { type GroupStore, openGroup } from '../../src/store/store.ts'
import { type Cluster, startCluster } from '../cache/cluster.ts'
import { createApiKey, createContainer, createGroup, createObjects, write } from '../helpers/authoring.ts'
import { assertIndexIsRight, assertNoGaps } from '../helpers/editing.ts'
import { onBothEngines } from '../helpers/harness.ts'

/** More than one transaction applies. */
const posts = 70
const offers = 30
const minuteMs = 60_000

/** Polls, a generous number of times for a busy machine. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; !(await condition()); attempt += 1) {
    assert.ok(attempt < 1000, 'it does not happen')
    await sleep(20)
  }
}

/** All posts have the title of the current state; the next one is due for all of them at once, and the offers end then. */
async function openStorm(cluster: Cluster) {
  const { clock, reference, instances, manage } = cluster
  const { store } = reference.service
  const created = await createGroup(store, { name: 'Storm' }, clock.now)
  const { key } = await createApiKey(store, created.id, 'website', clock.now)
  const group = await openGroup(store, { database: created.database, groupID: created.id })
  const schema = { title: { type: 'text' }, note: { type: 'text' } }
  const collection = await createContainer(group, { kind: 'collection', name: 'Posts', schema }, clock.now)
  const inputs = Array(posts).fill({ value: { title: 'state 0', note: 'none' } })
  const objects = await createObjects(group, collection, inputs, clock.now)
  const path = `/manage/groups/${created.id}`
  /** The last note of each post that was acknowledged. */
  const notes = new Map<string, string>()
  let state = 0

  /** The next state is due in a minute. */
  async function schedule(): Promise<void> {
    const dueMs = clock.now + minuteMs
    const common = { containerId: collection.id, revision: 1, versionsKept: 50, problem: null, savedMs: 0, savedBy: '', dueMs } // biome-ignore format: short
    const archived = { value: { title: `state ${state}`, note: 'offer' }, archiveMs: dueMs }
    await createObjects(group, collection, Array(offers).fill(archived), clock.now)
    await write(group, clock.now, async (writer) => {
      const ids = objects.map(({ id }) => id)
      const rows = await writer.db.selectFrom('objects').select(['id', 'value', 'version']).where('id', 'in', ids).execute() // biome-ignore format: short
      for (const { id, value, version } of rows) {
        const baseValue = JSON.parse(value)
        const copy = { ...common, id, baseValue, baseVersion: version }
        await putWorkingCopy(writer, { ...copy, value: { ...baseValue, title: `state ${state + 1}` } }, [])
      }
      writer.changeDue()
      writer.bumpRevision()
    })
    state += 1
  }

  const list = `/tenant/collectionObjects?collectionId=${collection.id}&limit=50`
  const get = (at: number, query = '') =>
    instances[at === 0 ? 0 : 1].send(list + query, { headers: { authorization: key } })

  async function read(at: number, query: string): Promise<{ titles: string[]; totalCount: number }> {
    const { status, body } = await get(at, query)
    assert.equal(status, 200, String(body))
    const { items, totalCount } = JSON.parse(String(body)).data
    return { titles: items.map((item: { objectValue: { title: string } }) => item.objectValue.title), totalCount }
  }

  /** Whether a process delivers what is scheduled; fails on a mixture of the former state and the next one. */
  async function isSettled(at: number, skip: number): Promise<boolean> {
    const [former, next] = [`state ${state - 1}`, `state ${state}`]
    const page = await read(at, `&skip=${skip % 20}`)
    const isNext = page.totalCount === posts
    assert.equal(page.totalCount, isNext ? posts : posts + offers)
    assert.deepEqual(new Set(page.titles), new Set([isNext ? next : former]))
    const counts = { former: (await read(at, `&filters[title]=${encodeURIComponent(former)}`)).totalCount, isNext }
    // What is settled stays so.
    assert.ok(counts.former === 0 || (!isNext && counts.former === posts + offers), JSON.stringify(counts))
    return isNext
  }

  async function edit(at: number, n: number): Promise<number> {
    const id = objects[n % posts]?.id ?? ''
    const instance = instances[at === 0 ? 0 : 1]
    const shown = await cluster.manage(instance, 'GET', `${path}/objects/${id}`)
    assert.equal(shown.status, 200, shown.body)
    const { version } = JSON.parse(shown.body).data
    const note = `note ${n}`
    const body = { version, objectValue: { note } }
    const { status } = await cluster.manage(instance, 'PATCH', `${path}/objects/${id}`, body)
    if (status === 200) notes.set(id, note)
    return status
  }

  /** Everybody reads and writes in both processes until it resolves. Returns the statuses of the writes. */
  async function busyUntil(end: Promise<unknown>): Promise<Set<number>> {
    let isOver = false
    const over = end.finally(() => {
      isOver = true
    })
    const statuses = new Set<number>()
    const readers = [0, 1].map(async (at, reader) => {
      for (let n = reader; !isOver; n += 1) await isSettled(at, n)
    })
    const writers = [0, 1].map(async (at) => {
      for (let n = at; !isOver; n += 2) statuses.add(await edit(at, n))
    })
    await Promise.all([over, ...readers, ...writers])
    return statuses
  }

  const settledIn = (at: number) => until(() => isSettled(at, 0))
  const bothSettled = async () => {
    await settledIn(0)
    await settledIn(1)
  }

  /** Everything due was applied once, and no edit is lost. */
  async function assertApplied(): Promise<void> {
    assert.deepEqual([await isSettled(0, 0), await isSettled(1, 0)], [true, true])
    assert.equal(await readDueMs(group), null)
    const { read: db } = group.database
    const ids = objects.map(({ id }) => id)
    const stored = await db.selectFrom('objects').select(['id', 'value']).where('id', 'in', ids).execute()
    for (const { id, value } of stored)
      assert.deepEqual(JSON.parse(value), { title: `state ${state}`, note: notes.get(id) ?? 'none' })
    const changes = await db
      .selectFrom('changes')
      .select(['subject_id', 'note'])
      .where('group_id', '=', group.groupId)
      .where((eb) =>
        eb.or([eb('note', 'like', 'scheduled change published%'), eb('note', '=', 'archived by its archive date')]),
      )
      .execute()
    assert.equal(changes.length, state * (posts + offers), 'each change is made and recorded once')
    assert.equal(new Set(changes.map(({ subject_id }) => subject_id)).size, posts + state * offers)
    const left = await db.selectFrom('working_copies').select('id').where('group_id', '=', group.groupId).execute()
    assert.deepEqual(left, [])
    await assertIndexIsRight(group)
    await assertNoGaps(group)
  }

  const call = (action: string, body: object = {}) => manage('elsewhere', 'POST', `${path}/${action}`, body)
  return { group, get, schedule, isSettled, settledIn, busyUntil, bothSettled, assertApplied, call, list }
}

/** Makes every change of a group fail, as on a disk that is full or read-only. */
async function refuseWrites({ database }: GroupStore): Promise<() => Promise<void>> {
  const revisions = qualifiedTable(database, 'group_revisions')
  const run = (...statements: ReturnType<typeof sql>[]) =>
    database.write(async (db) => {
      for (const statement of statements) await statement.execute(db)
    })
  if (database.engine === 'sqlite') {
    await run(sql`create trigger fault before update on group_revisions begin select raise(abort, 'The disk is full.'); end`) // biome-ignore format: short
    return () => run(sql`drop trigger fault`)
  }
  const fail = sql.raw(`"${database.schemaName}".fail`)
  await run(
    sql`create function ${fail}() returns trigger language plpgsql as $$ begin raise exception 'The disk is full.' using errcode = '53100'; end $$`,
    sql`create trigger fault before update on ${revisions} for each row execute function ${fail}()`,
  )
  return () => run(sql`drop trigger fault on ${revisions}`, sql`drop function ${fail}()`)
}

onBothEngines('many changes that are due at the same second, in two processes', (engine) => {
  let cluster: Cluster
  before(async () => {
    cluster = await startCluster(engine, { usesThreads: engine === 'sqlite' })
  })
  after(() => cluster.close())

  it('appear all at once among readers and writers, and no edit is lost, also with clocks a minute apart or set back', async () => {
    const storm = await openStorm(cluster)
    const { clock, instances } = cluster
    await storm.schedule()
    const dueMs = clock.now + minuteMs
    await cluster.setClock(dueMs - 1)
    assert.deepEqual([await storm.isSettled(0, 0), await storm.isSettled(1, 0)], [false, false])
    const passing = async () => {
      await sleep(100) // readers and writers are at work
      await instances[0].setClock(dueMs) // the other process is behind
      await storm.settledIn(0)
      await cluster.setClock(dueMs)
      await storm.bothSettled()
    }
    const statuses = await storm.busyUntil(passing())
    // On a busy machine, a writer may wait too long for its turn.
    assert.deepEqual(statuses.difference(new Set([200, 409, 503])), new Set())
    await storm.assertApplied()

    await cluster.setClock(dueMs - minuteMs)
    await storm.assertApplied()
    await storm.busyUntil(sleep(100))
    await storm.schedule() // for a second that has been before
    await storm.busyUntil(cluster.setClock(dueMs).then(storm.bothSettled))
    await storm.assertApplied()
  })

  it('leave the former state as a whole while the database refuses writes, and are applied once afterwards', async () => {
    const storm = await openStorm(cluster)
    await storm.schedule()
    const mend = await refuseWrites(storm.group)
    try {
      await cluster.setClock(cluster.clock.now + minuteMs)
      const statuses = await storm.busyUntil(sleep(500))
      assert.ok(!statuses.has(200), 'no write is acknowledged')
      assert.deepEqual([await storm.isSettled(0, 0), await storm.isSettled(1, 0)], [false, false])
    } finally {
      await mend()
    }
    await storm.busyUntil(storm.bothSettled())
    await storm.assertApplied()
  })

  it('are waited for while another process holds the lock of the group', async () => {
    const storm = await openStorm(cluster)
    await storm.schedule()
    const waiting = await storm.group.database.write(async (db) => {
      await db.selectFrom('group_revisions').select('revision').where('group_id', '=', storm.group.groupId).$if(engine === 'postgres', (query) => query.forUpdate()).execute() // biome-ignore format: short
      await cluster.setClock(cluster.clock.now + minuteMs)
      const reads = [0, 1, 0, 1].map((at, n) => storm.isSettled(at, n))
      await sleep(200)
      return { reads } // not awaited here
    }, storm.group.groupId)
    assert.deepEqual(await Promise.all(waiting.reads), [true, true, true, true])
    await storm.assertApplied()
  })

  it('are applied after a frozen group is thawed, and disturb nobody when the group is deleted', async () => {
    const storm = await openStorm(cluster)
    await storm.schedule()
    assert.equal((await storm.call('freeze')).status, 200)
    await cluster.setClock(cluster.clock.now + minuteMs)
    const served = (expected: boolean) => async () => {
      await cluster.setClock(cluster.clock.now + 1000) // processes remember keys for a while
      const answers = await Promise.all([storm.get(0), storm.get(1)])
      return answers.every(({ status }) => (status === 200) === expected)
    }
    await until(served(false))
    assert.equal((await storm.call('unfreeze')).status, 200)
    await until(served(true))
    await storm.busyUntil(storm.bothSettled())
    await storm.assertApplied()

    await storm.schedule()
    const statuses = new Set<number>()
    let isDeleted = false
    const readers = [0, 1, 0, 1].map(async (at) => {
      while (!isDeleted) statuses.add((await storm.get(at)).status)
    })
    await cluster.setClock(cluster.clock.now + minuteMs)
    assert.equal((await storm.call('delete', { confirm: 'Storm' })).status, 200)
    isDeleted = true
    await Promise.all(readers)
    assert.deepEqual([...statuses].filter((status) => status >= 500), []) // biome-ignore format: short
    const { read } = storm.group.database
    for (const table of ['objects', 'working_copies', 'changes'] as const)
      assert.deepEqual(
        await read.selectFrom(table).select('group_id').where('group_id', '=', storm.group.groupId).execute(),
        [],
      )
  })
})
