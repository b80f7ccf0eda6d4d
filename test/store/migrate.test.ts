import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import { createEmptyPlace, harness, onBothEngines } from '../helpers/harness.ts'
import { runCli } from '../helpers/process.ts'

onBothEngines('migrations', (engine) => {
  it('are safe when several processes start at once on an empty database', async () => {
    const place = await createEmptyPlace(engine)
    after(() => place.remove())
    const runs = await Promise.all(
      Array.from({ length: 5 }, () => runCli(['group', 'create', 'Racer', '--json'], place.env)),
    )
    for (const { code, output } of runs) assert.equal(code, 0, output)
    const { output } = await runCli(['group', 'list', '--json'], place.env)
    assert.equal(JSON.parse(output).length, 5)
  })

  it('run once: a second start changes nothing', async () => {
    const { service } = await harness(engine)
    assert.deepEqual(await service.store.migrateAll(), [])
    assert.equal(await service.store.isReady(), true)
  })

  it('refuse a database that a newer version has changed, and say what to do', async () => {
    const created = await harness(engine)
    const { dataDir, databaseUrl } = created.config
    await created.service.store.control.write((db) =>
      db.insertInto('migrations').values({ version: 999, name: 'from the future', applied_ms: 0 }).execute(),
    )
    const store = await openStore({ dataDir, databaseUrl, clock: Date.now, onIdleError: () => {} })
    await assert.rejects(store.migrateAll(), /schema version 999.*Start the newer Sluice again/s)
    await store.close()
    const answer = await created.app.inject('/readyz')
    assert.equal(answer.statusCode, 503)
  })
})
