import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CompiledQuery, sql } from 'kysely'
import { parseSchema } from '../../../src/content/parse-schema.ts'
import { insertContainer } from '../../../src/store/content/containers.ts'
import { type Database, insideTransaction } from '../../../src/store/engine/database.ts'
import { runCheckpoint } from '../../../src/store/engine/sqlite/durability.ts'
import { openFile, openReadOnly } from '../../../src/store/engine/sqlite/file.ts'
import { createSqliteWorker } from '../../../src/store/engine/sqlite/worker-client.ts'
import { openSqlite } from '../../../src/store/engine/sqlite.ts'
import { isDatabaseUnavailable } from '../../../src/store/engine/unavailable.ts'
import { write } from '../../helpers/authoring.ts'
import { harness, onBothEngines } from '../../helpers/harness.ts'

interface Tables {
  notes: { n: number; text: string }
}

interface Opened {
  path: string
  database: Database<Tables>
}

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function createDatabase(worker = createSqliteWorker()): Promise<Opened> {
  const path = join(await createFolder(), 'notes.sqlite')
  const database = openSqlite<Tables>(path, { worker })
  after(async () => {
    await database.close()
    await worker.close()
  })
  await database.write((db) => sql`create table notes (n integer, text text)`.execute(db))
  return { path, database }
}

const insert = ({ write }: Database<Tables>, values: readonly { n: number; text: string }[]) =>
  write((db) => db.insertInto('notes').values(values).execute())

/** Counts to a number. A million takes about a tenth of a second. */
const counting = `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ?)
  select count(*) as count from numbers`
const long = 2_000_000
const tooLong = 8_000_000

describe('a long read', () => {
  it('returns the same as any other, with bound values', async () => {
    const { database } = await createDatabase()
    await insert(database, [
      { n: 1, text: 'one' },
      { n: 2, text: "it's two" },
    ])
    const text = 'select n, text from notes where text = ? and n > ?'
    const parameters = ["it's two", 0]
    const long = await database.readLong<{ n: number; text: string }>(text, parameters)
    const { rows } = await database.read.executeQuery(CompiledQuery.raw(text, parameters))
    assert.deepEqual(
      long.map((row) => ({ ...row })),
      [{ n: 2, text: "it's two" }],
    )
    assert.deepEqual(
      long.map((row) => ({ ...row })),
      rows.map((row) => ({ ...(row as object) })),
    )
  })

  it('sees everything acknowledged before its request', async () => {
    const { database } = await createDatabase()
    for (let n = 1; n <= 20; n += 1) {
      await insert(database, [{ n, text: '' }])
      assert.equal((await database.readLong<{ count: number }>('select count(*) as count from notes', []))[0]?.count, n)
    }
  })

  it('does not delay others, and takes turns with others of its group', async () => {
    const { database } = await createDatabase()
    const ended: string[] = []
    const heavy = database.readLong<{ count: number }>(counting, [long], 'a').then(([row]) => {
      ended.push('heavy')
      return row?.count
    })
    const next = database.readLong('select 1', [], 'a').then(() => ended.push('next'))
    const ofAnother = database.readLong('select 1', [], 'b').then(() => ended.push('of another'))
    await insert(database, [{ n: 1, text: '' }])
    await database.read.selectFrom('notes').selectAll().execute()
    ended.push('read')
    assert.equal(await heavy, long)
    await Promise.all([next, ofAnother])
    assert.deepEqual(
      ended.filter((name) => name !== 'of another'),
      ['read', 'heavy', 'next'],
    )
    assert.ok(ended.indexOf('of another') < ended.indexOf('heavy'))
  })

  it('cannot write', async () => {
    const { database } = await createDatabase()
    await insert(database, [{ n: 1, text: '' }])
    await assert.rejects(database.readLong('delete from notes returning n', []), /readonly/)
    assert.equal((await database.read.selectFrom('notes').selectAll().execute()).length, 1)
  })

  it('that is invalid fails alone, with SQLite’s message', async () => {
    const { database } = await createDatabase()
    const [failure, row] = await Promise.allSettled([
      database.readLong('select missing from notes', []),
      database.readLong('select 1 as one', []),
    ])
    assert.match(String(failure.status === 'rejected' && failure.reason), /no such column: missing/)
    assert.equal(row.status, 'fulfilled')
  })

  it('that checks the time is ended at its time limit, repeatedly, and leaves nothing behind', async () => {
    const { database } = await createDatabase(createSqliteWorker({ timeoutMs: 20 }))
    const asking = `${counting} where in_time()`
    for (let time = 0; time < 6; time += 1) {
      const ended = await Promise.allSettled([1, 2].map(() => database.readLong(asking, [tooLong])))
      for (const each of ended) assert.equal(each.status === 'rejected' && each.reason.code, 'Unavailable')
    }
    assert.equal((await database.readLong('select 1 as one', [])).length, 1)
  })

  it('that does not check it is abandoned later, alone: waiting reads continue in another thread', async () => {
    const { database } = await createDatabase(createSqliteWorker({ timeoutMs: 400, graceMs: 400 }))
    const given = [1, 2].map(() => database.readLong(counting, [tooLong]))
    const behind = database.readLong('select 1 as one', [])
    const ended = await Promise.allSettled(given)
    assert.ok(ended.every((each) => each.status === 'rejected' && isDatabaseUnavailable(each.reason)))
    // These threads cannot be interrupted: while two exist none is started, and this read waits until one has ended.
    assert.deepEqual(
      (await behind).map((row) => ({ ...(row as object) })),
      [{ one: 1 }],
    )
  })

  it('that exceeds its thread’s memory fails alone, and the next one gets another thread', async () => {
    const { database } = await createDatabase()
    const rows = `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ?)
      select hex(zeroblob(4000000)) || n as text from numbers`
    for (let time = 0; time < 2; time += 1) {
      await assert.rejects(database.readLong(rows, [40]), (error) => isDatabaseUnavailable(error))
      assert.equal((await database.readLong(rows, [2])).length, 2)
    }
  })

  it('gets a new thread after the last one exited idle', async () => {
    const { database } = await createDatabase(createSqliteWorker({ idleMs: 0 }))
    for (let n = 0; n < 3; n += 1) {
      assert.equal((await database.readLong('select 1 as one', [])).length, 1)
      await nextTurn()
    }
  })
})

onBothEngines('a long read', (engine) => {
  it('within a transaction sees the transaction’s state', async () => {
    const { newGroup, clock } = await harness(engine)
    const { store } = await newGroup()
    const text = `select count(*) as count from ${engine === 'sqlite' ? '' : 'sluice_main.'}containers`
    const count = async ({ readLong }: Pick<typeof store.database, 'readLong'>) =>
      Number((await readLong<{ count: number }>(text, []))[0]?.count)
    await write(store, clock.now, async (writer) => {
      await insertContainer(writer, { kind: 'collection', name: 'Posts', schema: parseSchema({}) })
      assert.equal(await count(writer.group.database), 1)
      assert.equal(await count(store.database), 0)
    })
    assert.equal(await count(store.database), 1)
    await store.database.snapshot(async (read) => {
      assert.equal(await count(insideTransaction(read, store.database)), 1)
      await write(store, clock.now, ({ db }) => db.deleteFrom('containers').execute())
      assert.equal(await count(insideTransaction(read, store.database)), 1)
    })
    assert.equal(await count(store.database), 0)
  })
})

describe('the log of a SQLite database', () => {
  const pageBytes = 4096
  /** Rows that take about this many pages. */
  const pagesOf = (pages: number) => Array.from({ length: pages / 25 }, (_, n) => ({ n, text: 'x'.repeat(100_000) }))

  it('is not checkpointed by writers', async () => {
    const worker = createSqliteWorker()
    const done = Promise.withResolvers<void>()
    const checkpoint = (path: string) => worker.checkpoint(path).then(done.resolve, done.reject)
    const { path, database } = await createDatabase({ ...worker, checkpoint })
    await insert(database, pagesOf(2000))
    await done.promise
    assert.ok(statSync(path).size > 1900 * pageBytes)
  })

  it('does not grow without limit under constant writes', async () => {
    const path = join(await createFolder(), 'notes.sqlite')
    const writer = openFile(path)
    const [reader, checkpointer] = [openReadOnly(path), openReadOnly(path)]
    after(() => [reader, checkpointer, writer].map((file) => file.close()))
    writer.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 0')
    writer.exec('create table notes (text text)')
    const commit = writer.prepare('insert into notes values (?)')
    const commitPages = 500
    /** During each passive checkpoint a later commit keeps it incomplete: an open snapshot does not include it. */
    const prepare = (text: string) => ({
      get() {
        if (!text.includes('passive')) return checkpointer.prepare(text).get()
        reader.exec('begin; select 1 from notes limit 1')
        commit.run('x'.repeat(commitPages * pageBytes))
        const row = checkpointer.prepare(text).get()
        reader.exec('rollback')
        return row
      },
    })
    const logPages = () => Number(writer.prepare('pragma wal_checkpoint(noop)').get()?.log)
    const lengths = Array.from({ length: 20 }, () => {
      runCheckpoint(prepare)
      return logPages()
    })
    assert.ok(Math.max(...lengths) < 6000, `it only grows: ${lengths}`)
  })
})
