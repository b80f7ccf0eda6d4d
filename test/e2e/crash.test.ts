import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseListQuery } from '../../src/content/list-query.ts'
import { findCollection } from '../../src/store/content/containers.ts'
import { listObjectsInState } from '../../src/store/lists/list-objects.ts'
import { openStore } from '../../src/store/open.ts'
import { openGroup } from '../../src/store/store.ts'
import { createHarness, onBothEngines } from '../helpers/harness.ts'

/** `npm run prove -- kills` runs 25. */
const rounds = Number(process.env.KILL_ROUNDS ?? 2)
const writer = join(import.meta.dirname, '../helpers/crash-writer.ts')

onBothEngines('kill -9 during writes', (engine) => {
  it('loses nothing acknowledged, and leaves no object without its index', async (context) => {
    const created = await createHarness(engine)
    after(() => created.close())
    const group = await created.newGroup()
    const collection = await group.collection('Log', { n: { type: 'integer' }, batch: { type: 'text' } })
    const { dataDir, databaseUrl } = created.config
    const location = {
      dataDir,
      databaseUrl,
      database: group.group.database,
      groupId: group.group.id,
      collectionId: collection.id,
    }
    const acknowledged: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const child = spawn(process.execPath, [writer, JSON.stringify({ ...location, round })], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk))
      // Killed at a different point each time.
      while (output.split('\n').length < 50 + (round % 7) * 30) await sleep(5)
      child.kill('SIGKILL')
      await once(child, 'close')
      acknowledged.push(...output.split('\n').slice(0, -1).map(Number))
    }
    // Read like a new process, without the writer's caches.
    const store = await openStore({ dataDir, databaseUrl, clock: Date.now, onConnectionError: () => {} })
    after(() => store.close())
    const groupStore = await openGroup(store, { database: location.database, groupID: location.groupId })
    const found = await findCollection(groupStore, collection.id)
    assert.ok(found)
    const stored: number[] = []
    for (let skip = 0; ; skip += 100) {
      const query = parseListQuery(found.schema, { sort: 'n:asc', skip, limit: 100 })
      const view = { status: 'published' } as const
      const { objects, totalCount } = await listObjectsInState(groupStore, found, query, view, created.clock.now)
      stored.push(...objects.map(({ value }) => value.n as number))
      if (skip + 100 >= totalCount) {
        assert.equal(stored.length, totalCount, 'every object is in the index it is listed by')
        break
      }
    }
    const known = new Set(stored)
    assert.equal(known.size, stored.length, 'nothing is stored twice')
    assert.deepEqual(
      acknowledged.filter((n) => !known.has(n)),
      [],
      'every acknowledged write is there',
    )
    assert.equal(stored.length % 10, 0, 'batches of ten are complete')
    context.diagnostic(
      `${engine}: ${rounds} kills, ${acknowledged.length} acknowledged, ${stored.length} stored, none lost`,
    )
  })
})
