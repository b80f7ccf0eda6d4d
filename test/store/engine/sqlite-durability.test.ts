import assert from 'node:assert/strict'
import { copyFileSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../../../src/store/engine/database.ts'
import { openWal, type Wal } from '../../../src/store/engine/sqlite/durability.ts'
import { openSqlite } from '../../../src/store/engine/sqlite.ts'
import { isDatabaseUnavailable } from '../../../src/store/engine/unavailable.ts'
import { type Migration, migrate } from '../../../src/store/schema/migrate.ts'
import type { MigrationRow } from '../../../src/store/schema/tables.ts'
import { harness } from '../../helpers/harness.ts'

interface Tables {
  notes: { n: number }
  migrations: MigrationRow
}

/** A log whose syncs are completed by the test. */
interface HeldWal extends Wal {
  /** The number started. */
  begun(): number
  /** Completes the oldest running one, or fails it. */
  end(failure?: Error): void
}

function createHeldWal(): HeldWal {
  let begun = 0
  const running: { resolve(): void; reject(error: Error): void }[] = []
  return {
    sync() {
      begun += 1
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      running.push({ resolve, reject })
      return promise
    },
    close: async () => {},
    begun: () => begun,
    end(failure) {
      const oldest = running.shift()
      assert.ok(oldest, 'no sync is running')
      if (failure) oldest.reject(failure)
      else oldest.resolve()
    },
  }
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await nextTurn()
}

async function createPath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  after(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'notes.sqlite')
}

/** A database with an empty table, synced to disk. */
async function createDatabaseFile(): Promise<string> {
  const path = await createPath()
  const database = openSqlite<Tables>(path)
  await database.write((db) => db.schema.createTable('notes').addColumn('n', 'integer').execute())
  await database.close()
  return path
}

function open(path: string, wal: Wal): Database<Tables> {
  const database = openSqlite<Tables>(path, { wal })
  after(() => database.close())
  return database
}

const insert = (database: Database<Tables>, n: number): Promise<unknown> =>
  database.write((db) => db.insertInto('notes').values({ n }).execute())

async function listNotes({ read }: Pick<Database<Tables>, 'read'>): Promise<number[]> {
  const rows = await read.selectFrom('notes').select('n').orderBy('n').execute()
  return rows.map(({ n }) => n)
}

/** The numbers whose writes have been acknowledged, in order. */
function insertAll(database: Database<Tables>, numbers: readonly number[]) {
  const acknowledged: number[] = []
  const failed: unknown[] = []
  const all = numbers.map((n) =>
    insert(database, n).then(
      () => acknowledged.push(n),
      (error: unknown) => failed.push(error),
    ),
  )
  return { acknowledged, failed, settled: Promise.all(all) }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

describe('a write to SQLite', () => {
  it('is acknowledged only after a sync that started after its commit', async () => {
    const wal = createHeldWal()
    const database = open(await createDatabaseFile(), wal)
    const { acknowledged, settled } = insertAll(database, [1])
    await until(() => wal.begun() === 1)
    assert.deepEqual(await listNotes(database), [1], 'reads continue, and see it')
    assert.deepEqual(acknowledged, [])
    const second = insertAll(database, [2])
    await until(async () => (await listNotes(database)).length === 2)
    wal.end()
    await settled
    await until(() => wal.begun() === 2)
    assert.deepEqual(second.acknowledged, [], 'commits during a sync wait for the next one')
    wal.end()
    await second.settled
    assert.deepEqual(second.acknowledged, [2])
  })

  it('counts as in progress from its request to its commit', async () => {
    const { service, newGroup } = await harness('sqlite')
    const { store } = await newGroup()
    const isWriting = () => service.store.isWriting()
    await until(() => !isWriting())
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const first = store.database.write(async () => {
      begun.resolve()
      await goOn.promise
    })
    assert.ok(isWriting())
    const second = store.database.write(async () => {
      throw new Error('given up')
    })
    await begun.promise
    assert.ok(isWriting())
    goOn.resolve()
    await Promise.all([first, assert.rejects(second, /given up/)])
    assert.ok(!isWriting())
  })

  it('shares its sync with all earlier commits', async () => {
    const wal = createHeldWal()
    const database = open(await createDatabaseFile(), wal)
    const first = insertAll(database, [0])
    await until(() => wal.begun() === 1)
    const others = insertAll(database, upTo(50).slice(1))
    await until(async () => (await listNotes(database)).length === 50)
    assert.equal(wal.begun(), 1, 'one at a time')
    wal.end()
    await first.settled
    await until(() => wal.begun() === 2)
    wal.end()
    await others.settled
    assert.equal(others.acknowledged.length, 49)
    assert.equal(wal.begun(), 2)
  })

  it('is acknowledged only when it would survive a power cut', async () => {
    const path = await createDatabaseFile()
    const left = `${path}-left`
    const wal = openWal(path)
    let syncs = 0
    const database = open(path, {
      ...wal,
      async sync() {
        for (const ending of ['', '-wal']) copyFileSync(path + ending, left + ending) // everything that is guaranteed afterwards
        await nextTurn() // others commit in between
        await wal.sync()
        syncs += 1
      },
    })
    for (const round of upTo(5)) {
      const numbers = upTo(20).map((n) => round * 20 + n)
      for (const acknowledgement of numbers.map((n) => insert(database, n))) await acknowledgement
      const survivor = openSqlite<Tables>(left)
      const survived = new Set(await listNotes(survivor))
      await survivor.close()
      rmSync(`${left}-wal`, { force: true })
      assert.deepEqual(
        numbers.filter((n) => !survived.has(n)),
        [],
      )
    }
    assert.ok(syncs < 100, `${syncs} syncs for 100 commits`)
  })

  it('without changes waits for the commits it may have read, and not at all if everything is synced', async () => {
    const wal = createHeldWal()
    const database = open(await createDatabaseFile(), wal)
    const written = insertAll(database, [1])
    await until(() => wal.begun() === 1)
    let hasLooked = false
    const looks: number[][] = []
    const looking = database
      .write(async (db) => {
        hasLooked = true
        return listNotes({ read: db })
      })
      .then((notes) => looks.push(notes))
    await until(() => hasLooked)
    for (const _turn of upTo(20)) await nextTurn()
    assert.deepEqual(looks, [])
    wal.end()
    await Promise.all([written.settled, looking])
    assert.deepEqual(looks, [[1]])
    assert.deepEqual(await database.write((db) => listNotes({ read: db })), [1])
    assert.equal(wal.begun(), 1)
  })

  it('also waits for other commits that it may have read', async () => {
    const path = await createDatabaseFile()
    const [ours, theirs] = [createHeldWal(), createHeldWal()]
    const [here, there] = [open(path, ours), open(path, theirs)]
    const written = insertAll(there, [1])
    await until(() => theirs.begun() === 1)
    const looking = here.write((db) => listNotes({ read: db }))
    await until(() => ours.begun() === 1)
    ours.end()
    assert.deepEqual(await looking, [1])
    theirs.end()
    await written.settled
  })

  it('fails with all others waiting for the same sync if the disk fails, and later writes are refused', async () => {
    const path = await createDatabaseFile()
    const wal = createHeldWal()
    const database = open(path, wal)
    const first = insertAll(database, [0])
    await until(() => wal.begun() === 1)
    const others = insertAll(database, [1, 2, 3])
    await until(async () => (await listNotes(database)).length === 4)
    wal.end(Object.assign(new Error('i/o error'), { code: 'EIO' }))
    await Promise.all([first.settled, others.settled])
    assert.deepEqual([...first.acknowledged, ...others.acknowledged], [])
    assert.equal(wal.begun(), 1, 'no other sync counts')
    for (const error of [...first.failed, ...others.failed]) {
      assert.ok(error instanceof Error && isDatabaseUnavailable(error), String(error))
      assert.match(String(error.cause), /i\/o error/)
    }
    await assert.rejects(insert(database, 4), /Nothing more is written/)
    assert.deepEqual(await listNotes(database), [0, 1, 2, 3], 'reads continue, and nothing was added')
    const reopened = open(path, openWal(path))
    await insert(reopened, 4)
  })

  it('is neither synced nor checkpointed within its commit', async () => {
    const { store } = await (await harness('sqlite')).newGroup()
    const setting = async (name: string) => {
      const { rows } = await store.database.write((db) => sql`pragma ${sql.raw(name)}`.execute(db))
      return rows.map((row) => ({ ...(row as object) }))
    }
    assert.deepEqual(await setting('synchronous'), [{ synchronous: 1 }])
    assert.deepEqual(await setting('wal_autocheckpoint'), [{ wal_autocheckpoint: 20_000 }])
  })
})

describe('a migration of SQLite', () => {
  it('ends when its last step is synced', async () => {
    const wal = createHeldWal()
    const database = open(await createPath(), wal)
    let hasEnded = false
    const steps: Migration[] = [
      { name: 'notes', up: (db) => db.schema.createTable('notes').addColumn('n', 'integer').execute() },
    ]
    const migrating = migrate(database, steps, 0).then(() => {
      hasEnded = true
    })
    await until(() => wal.begun() === 1)
    assert.deepEqual(await listNotes(database), [])
    assert.equal(hasEnded, false)
    wal.end()
    await migrating
  })
})

describe('the log of a SQLite database', () => {
  it('that was removed externally fails the write in it', async () => {
    const path = await createDatabaseFile()
    const database = open(path, openWal(path))
    await insert(database, 1)
    rmSync(`${path}-wal`)
    await assert.rejects(insert(database, 2), (error: Error) => /was removed/.test(String(error.cause)))
  })
})
