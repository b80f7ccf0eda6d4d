import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CompiledQuery, sql } from 'kysely'
import { qualifiedTable } from '../../../src/store/engine/database.ts'
import { claimJob, nextDueGroup } from '../../../src/store/jobs/claim-jobs.ts'
import { openStore } from '../../../src/store/open.ts'
import type { GroupStore } from '../../../src/store/store.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { testKind } from '../../jobs/test-handlers.ts'
import { workshop } from '../../jobs/workshop.ts'

const each = 50_000

/** The number of completed jobs, and of jobs due next year, in each group. */
async function fill({ database, groupId }: GroupStore, nowMs: number): Promise<void> {
  const isSqlite = database.engine === 'sqlite'
  const series = isSqlite
    ? sql`(with recursive n(i) as (select 0 union all select i + 1 from n where i < ${each - 1}) select i from n)`
    : sql`(select i from generate_series(0, ${each - 1}) as i)`
  const id = (mark: string) => sql`${sql.lit(groupId)} || ${sql.lit(mark)} || cast(i as text)`
  const columns = sql`(id, group_id, kind, payload, state, due_ms, attempts, created_ms, finished_ms)`
  await database.write(async (db) => {
    const jobs = qualifiedTable(database, 'jobs')
    const [group, kind] = [sql.lit(groupId), sql.lit(testKind)]
    await sql`insert into ${jobs} ${columns}
      select ${id('done')}, ${group}, ${kind}, '{}', 'done', null, 1, 0, ${sql.lit(nowMs)} from ${series} as s`.execute(
      db,
    )
    await sql`insert into ${jobs} ${columns}
      select ${id('later')}, ${group}, ${kind}, '{}', 'waiting', ${sql.lit(nowMs * 2)} + i, 0, 0, null from ${series} as s`.execute(
      db,
    )
  })
}

onBothEngines('a claim among 200,000 completed or waiting jobs', (engine) => {
  it('uses the index, and reads no job that is not due', async (context) => {
    const { clock, location, newGroup, add } = await workshop(engine)
    const groups = [await newGroup(), await newGroup()]
    for (const group of groups) await fill(group, clock.now)
    for (let n = 0; n < 50; n += 1) await add(groups[1] as GroupStore)
    if (engine === 'postgres') await sql`analyze`.execute(groups[0]?.database.read as never)
    const statements: { sql: string; parameters: readonly unknown[] }[] = []
    const watched = await openStore({
      ...location,
      clock: () => clock.now,
      onConnectionError: () => {},
      onQuery: (query) => statements.push(query),
    })
    try {
      const database = await watched.content('main')
      statements.length = 0
      const startedMs = performance.now()
      for (let n = 0; n < 50; n += 1) {
        const groupId = await nextDueGroup(database, testKind, { lastServed: '', except: [], nowMs: clock.now })
        assert.ok(await claimJob(database, { kind: testKind, groupId: groupId ?? '', nowMs: clock.now }))
      }
      assert.equal(await nextDueGroup(database, testKind, { lastServed: '', except: [], nowMs: clock.now }), undefined)
      const tookMs = performance.now() - startedMs
      context.diagnostic(`${engine}: ${(tookMs / 50).toFixed(1)} ms for each claim`)
      // Each statement as first executed: finding a group, and finding its job.
      for (const text of new Set(
        statements.map((statement) => statement.sql).filter((one) => /^\s*(with|select)/.test(one)),
      )) {
        const { parameters = [] } = statements.find((statement) => statement.sql === text) ?? {}
        const prefix = engine === 'sqlite' ? 'explain query plan ' : 'explain '
        const { rows } = await database.read.executeQuery(
          CompiledQuery.raw(prefix + text.replace(/ for update.*/, ''), [...parameters]),
        )
        const plan = rows.map((row) => Object.values(row as object).at(-1)).join('\n')
        assert.match(plan, /jobs_due/, plan)
        assert.doesNotMatch(plan, /SCAN jobs|SCAN due|Seq Scan on jobs|TEMP B-TREE|Sort/, plan)
      }
    } finally {
      await watched.close()
    }
  })
})
