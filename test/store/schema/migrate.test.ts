import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { listGroups } from '../../../src/store/control/groups.ts'
import { openStore } from '../../../src/store/open.ts'
import { createEmptyDatabase, harness, onBothEngines, openTestStore } from '../../helpers/harness.ts'
import { runCli } from '../../helpers/process.ts'

/** Processes that start at once. */
const racers = 3

onBothEngines('migrations', (engine) => {
  it('are safe when several processes start at once on an empty database', async () => {
    const testDatabase = await createEmptyDatabase(engine)
    after(() => testDatabase.remove())
    const runs = await Promise.all(
      Array.from({ length: racers }, () => runCli(['group', 'create', 'Racer', '--json'], testDatabase.env)),
    )
    for (const { code, output } of runs) assert.equal(code, 0, output)
    const store = await openTestStore(testDatabase)
    assert.equal((await listGroups(store)).length, racers)
    await store.close()
  })

  it('only read a current database, so that a start does not affect running servers', async () => {
    const created = await harness(engine)
    await created.newGroup()
    const { dataDir, databaseUrl } = created.config
    const statements: string[] = []
    const store = await openStore({
      dataDir,
      databaseUrl,
      clock: Date.now,
      onConnectionError: () => {},
      onQuery: ({ sql }) => statements.push(sql),
    })
    assert.equal(await store.isReady(), true)
    await store.close()
    assert.ok(statements.length > 0)
    assert.deepEqual(
      statements.filter((statement) => !/^(select|set)\b/i.test(statement)),
      [],
    )
  })

  it('refuse a database of a newer version, with advice', async () => {
    const created = await harness(engine)
    const { dataDir, databaseUrl } = created.config
    await created.service.store.control.write((db) =>
      db.insertInto('migrations').values({ version: 999, name: 'from the future', applied_ms: 0 }).execute(),
    )
    const starting = openStore({ dataDir, databaseUrl, clock: Date.now, onConnectionError: () => {} })
    await assert.rejects(starting, /schema version 999.*Start the newer Sluice again/s)
  })

  it('of a newer version do not interrupt running servers', async () => {
    const { app, service } = await harness(engine)
    await service.store.control.write((db) =>
      db.insertInto('migrations').values({ version: 999, name: 'from the future', applied_ms: 0 }).execute(),
    )
    assert.equal((await app.inject('/readyz')).statusCode, 200)
  })
})
