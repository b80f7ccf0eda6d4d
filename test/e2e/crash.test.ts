import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseListQuery } from '../../src/content/list-query.ts'
import { findCollection } from '../../src/store/content/containers.ts'
import { readDueMs } from '../../src/store/content/due.ts'
import { findObject, iterateObjects } from '../../src/store/content/objects.ts'
import { findWorkingCopy } from '../../src/store/content/working-copies.ts'
import { listObjectsInState } from '../../src/store/lists/list-objects.ts'
import { openStore } from '../../src/store/open.ts'
import { type GroupStore, openGroup } from '../../src/store/store.ts'
import { assertSound, patient } from '../doctor/patient.ts'
import { type ExpectedState, laterMs, loggedValue, schema, soonMs, stateAfter, stepsOf } from '../helpers/crash-plan.ts'
import { assertIndexIsRight, assertNoGaps } from '../helpers/editing.ts'
import { onBothEngines } from '../helpers/harness.ts'

/** `npm run prove -- kills` runs 25. */
const rounds = Number(process.env.KILL_ROUNDS ?? 2)
const writer = join(import.meta.dirname, '../helpers/crash-writer.ts')

interface Acknowledged {
  id: string
  steps: number
}

/** What is there of an object; fails if a value is half changed. */
async function stateOf(group: GroupStore, id: string): Promise<ExpectedState> {
  const found = await findObject(group, id)
  assert.ok(found, 'every acknowledged object is there')
  const textOf = (value: Record<string, unknown>): string => {
    const { n, batch, card } = value as ReturnType<typeof loggedValue>
    assert.deepEqual(value, loggedValue(n, batch, card.label, card.other), 'a value is changed as a whole')
    return card.label
  }
  const { value, version, archived } = found.object
  const copy = await findWorkingCopy(group, id)
  return {
    ...{ live: textOf(value), version, archived },
    ...(copy && { copy: { text: textOf(copy.value), dueMs: copy.dueMs } }),
  }
}

onBothEngines('kill -9 during writes', (engine) => {
  it('loses nothing acknowledged, and leaves nothing half: objects, nested values, references, working copies and schedules', async (context) => {
    const created = await patient(engine)
    const group = await created.newGroup()
    const collection = await group.collection('Log', schema)
    const { dataDir, databaseUrl } = created.config
    const location = {
      dataDir,
      databaseUrl,
      database: group.group.database,
      groupId: group.group.id,
      collectionId: collection.id,
    }
    const acknowledged = new Map<number, Acknowledged>()
    /** The object that each killed writer may have been changing. */
    const interrupted = new Set<number>()
    for (let round = 0; round < rounds; round += 1) {
      const child = spawn(process.execPath, [writer, JSON.stringify({ ...location, round })], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      after(() => child.kill('SIGKILL'))
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk))
      // Killed at a different point each time.
      while (output.split('\n').length < 50 + (round % 7) * 31) {
        assert.equal(child.exitCode, null, 'the writer ended')
        await sleep(5)
      }
      child.kill('SIGKILL')
      await once(child, 'close')
      const lines = output.split('\n').slice(0, -1)
      for (const line of lines) {
        const [n, id = '', steps] = line.split(' ')
        acknowledged.set(Number(n), { id, steps: Number(steps) })
      }
      const [last = ''] = lines.slice(-10).map((line) => line.split(' ')[0]).toReversed() // biome-ignore format: short
      const batch = Math.floor(Number(last) / 10) * 10
      for (let n = batch; n < batch + 10; n += 1)
        if ((acknowledged.get(n)?.steps ?? 0) < stepsOf(n).length) {
          interrupted.add(n)
          break // the steps of the following ones come after
        }
    }
    // Read like a new process, without the writer's caches.
    const store = await openStore({ dataDir, databaseUrl, clock: Date.now, onConnectionError: () => {} })
    after(() => store.close())
    const groupStore = await openGroup(store, { database: location.database, groupID: location.groupId })
    await groupStore.database.settleDue(groupStore.groupId, Date.now() + soonMs)
    const left = await readDueMs(groupStore)
    assert.ok(left === null || left === laterMs, 'everything due soon has been applied')

    for (const [n, { id, steps }] of acknowledged) {
      const state = await stateOf(groupStore, id)
      const isOneFurther = interrupted.has(n) && JSON.stringify(state) !== JSON.stringify(stateAfter(n, steps))
      assert.deepEqual(state, stateAfter(n, isOneFurther ? steps + 1 : steps), `${n} after ${steps} steps`)
    }
    const found = await findCollection(groupStore, collection.id)
    assert.ok(found)
    const stored = await Array.fromAsync(iterateObjects(groupStore, collection.id), ({ value }) => value.n as number)
    assert.equal(new Set(stored).size, stored.length, 'nothing is stored twice')
    assert.equal(stored.length % 10, 0, 'batches of ten are complete')
    const listed: unknown[] = []
    for (const status of ['published', 'archived'] as const)
      for (let skip = 0; ; skip += 100) {
        const query = parseListQuery(found.schema, { sort: 'n:asc', skip, limit: 100 })
        const { objects, totalCount } = await listObjectsInState(groupStore, found, query, { status }, Date.now())
        listed.push(...objects.map(({ value }) => value.n))
        if (skip + 100 >= totalCount) break
      }
    assert.deepEqual(new Set(listed), new Set(stored), 'every object is in the index it is listed by')
    assert.equal(listed.length, stored.length)
    await assertIndexIsRight(groupStore)
    await assertNoGaps(groupStore)
    assertSound(await created.examine())
    context.diagnostic(
      `${engine}: ${rounds} kills, ${acknowledged.size} objects acknowledged, ${stored.length} stored, none lost`,
    )
  })
})
