import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { isDatabaseUnavailable } from '../../../src/store/engine/unavailable.ts'
import { createEmptyDatabase, createHarness, harness } from '../../helpers/harness.ts'

describe('a PostgreSQL connection that breaks while it is in use', () => {
  it('fails its running query, ends no process, and is replaced', async () => {
    const { newGroup } = await harness('postgres')
    const group = await newGroup()
    const { read, write } = group.store.database
    const breakAll = () =>
      sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(read)
    const sleeping = sql`select pg_sleep(30)`.execute(read).catch((error: unknown) => error)
    const betweenStatements = write(async (db) => {
      await sql`select 1`.execute(db)
      await new Promise((resolve) => setTimeout(resolve, 500))
      await sql`select 1`.execute(db)
    }).catch((error: unknown) => error)
    await new Promise((resolve) => setTimeout(resolve, 200))
    await breakAll()
    assert.ok(isDatabaseUnavailable(await sleeping), String(await sleeping))
    assert.ok(isDatabaseUnavailable(await betweenStatements), String(await betweenStatements))
    assert.equal((await group.get('/tenant/integrationObjects?type=stripe')).statusCode, 200)
  })
})

/** Without it PostgreSQL only signals a session to end, and does not wait for it. */
const endTimeoutMs = 60_000
/** More than the connections of the pools: each 503 removes a broken one. */
const maxTries = 20

describe('a PostgreSQL that refuses the role', () => {
  /** A service with a separate role, and a way to change that role. */
  async function servedAs(role: string) {
    const testDatabase = await createEmptyDatabase('postgres')
    const admin = new pg.Client(testDatabase.env.DATABASE_URL)
    await admin.connect()
    after(async () => {
      await admin.query(`drop owned by ${role} cascade`)
      await admin.query(`drop role ${role}`)
      await admin.end()
      await testDatabase.remove()
    })
    const { pathname } = new URL(testDatabase.env.DATABASE_URL)
    await admin.query(`create role ${role} login`)
    await admin.query(`grant create on database ${pathname.slice(1)} to ${role}`)
    const url = new URL(testDatabase.env.DATABASE_URL)
    url.username = role
    const created = await createHarness('postgres', { env: { DATABASE_URL: url.href, ANSWER_CACHE_MB: '0' } })
    after(() => created.close())
    return { ...created, change: (statement: string) => admin.query(statement) }
  }

  for (const [what, revoke, grant] of [
    [
      'its login',
      (role: string) =>
        `alter role ${role} nologin;
        select pg_terminate_backend(pid, ${endTimeoutMs}) from pg_stat_activity where usename = '${role}'`,
      (role: string) => `alter role ${role} login`,
    ],
    [
      'its read permission',
      (role: string) => `revoke usage on schema sluice_main, sluice_control from ${role}`,
      (role: string) => `grant usage on schema sluice_main, sluice_control to ${role}`,
    ],
  ] as const)
    it(`that lost ${what} is 503 with Retry-After, until the role has it again`, async () => {
      const role = `fault_${process.pid}_${Math.random().toString(36).slice(2)}`
      const { newGroup, clock, change, log } = await servedAs(role)
      const group = await newGroup()
      const posts = await group.collection('Posts', { title: { type: 'text' } })
      const read = () => {
        clock.now += 2000 // past the authorizer's cache
        return group.get(`/tenant/collectionObjects?collectionId=${posts.id}`)
      }
      assert.equal((await read()).statusCode, 200)
      await change(revoke(role))
      const refused = await read()
      assert.equal(refused.statusCode, 503, refused.body)
      assert.equal(refused.headers['retry-after'], '1')
      assert.equal(refused.json().error, 'The service is not available right now. Try again in a moment.')
      // The request may be on a connection that PostgreSQL is terminating.
      assert.match(log(), /not permitted to log in|permission denied|terminating connection/)
      await change(grant(role))
      let answer = await read()
      for (let tries = 1; answer.statusCode === 503 && tries < maxTries; tries += 1) answer = await read()
      assert.equal(answer.statusCode, 200, answer.body)
    })
})

describe('a SQLite database on disk', () => {
  it('is readable by its owner only, like its other files, also in an existing folder', async () => {
    const { newGroup, config } = await harness('sqlite')
    await newGroup()
    for (const file of ['control.sqlite', 'control.sqlite-wal', 'databases/main.sqlite', 'databases/main.sqlite-wal']) {
      assert.equal(statSync(join(config.dataDir, file)).mode & 0o777, 0o600, file)
    }
  })
})

describe('a SQLite database that is full', () => {
  it('reports it, keeps its content, and accepts writes again when there is space', async () => {
    const { newGroup } = await harness('sqlite')
    const group = await newGroup()
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    await group.add(posts, { value: { title: 'before' } })
    const setPages = (pages: number) =>
      group.store.database.write((db) => sql`pragma max_page_count = ${sql.lit(pages)}`.execute(db))
    await setPages(1) // at least the current number of pages: no more
    const big = Array.from({ length: 200 }, (_, n) => ({ value: { title: `${n}`.repeat(500) } }))
    await assert.rejects(group.add(posts, ...big), (error: Error) => {
      assert.match(error.message, /full/)
      assert.ok(isDatabaseUnavailable(error))
      return true
    })
    const total = async () =>
      (await group.get(`/tenant/collectionObjects?collectionId=${posts.id}`)).json().data.totalCount
    assert.equal(await total(), 1)
    await setPages(1_000_000)
    await group.add(posts, ...big)
    assert.equal(await total(), 201)
  })
})
