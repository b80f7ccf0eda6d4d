import assert from 'node:assert/strict'
import { copyFile, open, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { sql } from 'kysely'
import { readConfig } from '../../src/config/config.ts'
import type { Database } from '../../src/store/engine/database.ts'
import { openStore } from '../../src/store/open.ts'
import type { MigrationRow } from '../../src/store/schema/tables.ts'
import { authoring, createGroup } from '../helpers/authoring.ts'
import { createEmptyDatabase, onBothEngines } from '../helpers/harness.ts'
import { assertOnly, assertSound, examineAll, findingsOf, patient } from './patient.ts'

const secondMs = 1000

/** A closed service in SQLite files, to be damaged. */
async function closedFiles() {
  const testDatabase = await createEmptyDatabase('sqlite')
  after(() => testDatabase.remove())
  const config = readConfig(testDatabase.env)
  const store = await openStore({ ...config, clock: Date.now, onConnectionError: () => {} })
  await createGroup(store, { name: 'Shop' }, Date.now())
  await store.control.write((db) =>
    db
      .insertInto('users')
      .values({ id: 'a', name: 'Ada', email: null, administrator: 1, created_ms: 0, disabled_ms: null })
      .execute(),
  )
  // The end of the file has content, not the schema.
  const days = Array.from({ length: 500 }, (_, day) => ({
    group_id: 'g',
    subject: 'days',
    start_ms: day,
    end_ms: day,
    count: 1,
  }))
  const { write } = await store.content('main')
  await write((db) => db.insertInto('tallies').values(days).execute())
  await store.close()
  const content = join(config.dataDir, 'databases/main.sqlite')
  return { config, content, control: join(config.dataDir, 'control.sqlite') }
}

async function setVersion<Tables extends { migrations: MigrationRow }>(database: Database<Tables>, by: 1 | -1) {
  await (database as unknown as Database<{ migrations: MigrationRow }>).write(async (db) => {
    const { version } = await db
      .selectFrom('migrations')
      .select('version')
      .orderBy('version', 'desc')
      .executeTakeFirstOrThrow()
    if (by < 0) await db.deleteFrom('migrations').where('version', '=', version).execute()
    else
      await db
        .insertInto('migrations')
        .values({ version: version + 1, name: 'of tomorrow', applied_ms: 0 })
        .execute()
  })
}

describe('the doctor’s connection to the databases', () => {
  it('advises what to try when PostgreSQL does not answer, without the password', async () => {
    const { config } = await patient('sqlite')
    const away = { ...config, databaseUrl: 'postgres://sluice:secret@127.0.0.1:1/sluice' }
    const results = await examineAll(away)
    const finding = assertOnly(results, {
      check: 'Databases',
      level: 'wrong',
      what: /cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1/,
      advice: /Start PostgreSQL, or correct the host and the role in DATABASE_URL/,
      commands: ['psql "$DATABASE_URL" -c "select 1"'],
    })
    assert.ok(!JSON.stringify(finding).includes('secret'))
    const skipped = results.filter(({ status }) => status === 'not checked')
    assert.ok(skipped.length > 8)
    for (const { reason } of skipped) assert.equal(reason, 'the databases cannot be reached')
  })

  it('quotes PostgreSQL when it refuses the role', async () => {
    const { config } = await patient('postgres')
    const url = new URL(config.databaseUrl ?? '')
    url.username = 'stranger'
    const [finding] = findingsOf(await examineAll({ ...config, databaseUrl: url.href }))
    assert.match(finding?.what ?? '', /role "stranger" does not exist/)
  })

  it('reports an empty PostgreSQL database, and creates nothing in it', async () => {
    const testDatabase = await createEmptyDatabase('postgres')
    after(() => testDatabase.remove())
    for (const _ of [1, 2])
      assertOnly(await examineAll(readConfig(testDatabase.env)), {
        check: 'Databases',
        level: 'attention',
        what: /There is no database yet/,
        commands: ['npx sluice migrate'],
      })
  })

  it('finds a file that is not a database', async () => {
    const { config, content } = await closedFiles()
    await writeFile(content, 'something else'.repeat(1000))
    const results = await examineAll(config)
    assertOnly(results, {
      check: 'Databases',
      level: 'wrong',
      what: /main\.sqlite cannot be opened: file is not a database/,
      advice: /restore your newest backup/,
    })
    const values = results.find(({ name }) => name === 'Values')
    assert.match(values?.reason ?? '', /the database "main" cannot be read/)
  })

  it('finds that a group’s database is missing, and continues with the others', async () => {
    const { examine, newGroup, service, config } = await patient('sqlite')
    await newGroup({ name: 'Shop', database: 'shop' })
    const group = await newGroup({ name: 'Other' })
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    await group.add(posts, { value: { title: 'Hello' } })
    await service.store.content('shop').then((database) => database.close())
    await rm(join(config.dataDir, 'databases/shop.sqlite'))
    const results = await examine()
    assertOnly(results, {
      check: 'Databases',
      level: 'wrong',
      what: /content in the database "shop", but .*shop\.sqlite does not exist/,
      advice: /Restore it from your newest backup before you start a server/,
    })
    assert.ok(results.every(({ status }) => status !== 'not checked'))
  })

  it('finds that the control database is missing although content exists', async () => {
    const { config, control } = await closedFiles()
    await rm(control)
    assertOnly(await examineAll(config), {
      check: 'Databases',
      level: 'wrong',
      what: /"control", but .*control\.sqlite does not exist/,
      advice: /Restore it/,
    })
  })
})

onBothEngines('the doctor’s check of the databases', (engine) => {
  it('finds nothing in intact ones', async () => {
    const { examine, newGroup } = await patient(engine)
    await newGroup({ database: 'shop' })
    assertSound(await examine())
  })

  it('finds an outdated schema, and advises to migrate', async () => {
    const { examine, newGroup, service } = await patient(engine)
    await newGroup()
    await setVersion(await service.store.content('main'), -1)
    const results = await examine()
    assertOnly(results, {
      check: 'Schema versions',
      level: 'attention',
      what: /main.* is at schema version \d+, and this Sluice works with \d+/,
      commands: ['npx sluice migrate'],
    })
    assert.equal(results.find(({ name }) => name === 'Values')?.status, 'not checked')
  })

  it('finds a newer schema, and advises to upgrade', async () => {
    const { examine, newGroup, service } = await patient(engine)
    await newGroup()
    await setVersion(service.store.control, 1)
    const results = await examine({ repairAs: authoring(0).author })
    assertOnly(results, {
      check: 'Schema versions',
      level: 'wrong',
      what: /control.* and this Sluice supports only \d+: it will not start/,
      advice: /Install that version again, or restore a backup/,
    })
    const reasons = results.filter(({ status }) => status === 'not checked').map(({ reason }) => reason)
    assert.deepEqual([...new Set(reasons)], ['the control database has the schema of another version'])
  })

  it('finds a dropped index, which the given command recreates', async () => {
    const { examine, newGroup, service } = await patient(engine)
    await newGroup()
    const database = await service.store.content('main')
    const schema = database.schemaName === undefined ? sql`` : sql`${sql.id(database.schemaName)}.`
    await database.write((db) => sql`drop index ${schema}objects_by_external_id`.execute(db))
    const finding = assertOnly(await examine(), {
      check: 'Indexes of the databases',
      level: 'wrong',
      what: /lacks 1 index: queries are slow/,
      commands: [engine === 'postgres' ? /^psql "\$DATABASE_URL" -c 'CREATE/ : /^sqlite3 \S+main\.sqlite 'CREATE/],
    })
    assert.deepEqual(finding.examples, ['objects_by_external_id'])
    const [, statement = ''] = /'(CREATE .*)'$/.exec(finding.commands?.[0] ?? '') ?? []
    await database.write((db) => sql.raw(statement).execute(db))
    assertSound(await examine())
  })

  it('finds writes dated in the future', async () => {
    const { examine, newGroup, clock } = await patient(engine)
    const group = await newGroup()
    clock.now += 3 * 3600 * secondMs
    await group.collection('Posts', { title: { type: 'text' } })
    assertOnly(await examine(), {
      check: 'Clock',
      level: 'attention',
      what: /The newest change in .*main.* is dated 20\d\d-.*Z, 3 hours from now/,
      commands: ['timedatectl set-ntp true'],
    })
  })
})

describe('the doctor’s check of PostgreSQL', () => {
  it('finds that the extensions for searches were missing; searches work, and the given commands add the index', async () => {
    const { examine, newGroup, service } = await patient('postgres')
    const group = await newGroup()
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    await group.add(posts, { value: { title: 'Sourdough' } }, { value: { title: '100% rye_*' } })
    const { write } = await service.store.content('main')
    await write((db) => sql`drop extension pg_trgm, btree_gin cascade`.execute(db))
    const finding = assertOnly(await examine(), {
      check: 'Indexes of the databases',
      level: 'attention',
      what: /sluice_main has no index for searches, which therefore read the text of every object/,
      advice: /pg_trgm and btree_gin were not available/,
      commands: [/'create extension if not exists pg_trgm'$/, /btree_gin'$/, /'create index .*gin_trgm_ops/],
    })
    const total = async (search: string): Promise<number> => {
      const answer = await group.get(`/tenant/collectionObjects?collectionId=${posts.id}&search=${search}`)
      return answer.json().data.totalCount
    }
    assert.deepEqual([await total('DOUGH'), await total('rye_'), await total('ry%25')], [1, 1, 0])
    for (const command of finding.commands ?? [])
      await write((db) => sql.raw(/'(.*)'$/.exec(command)?.[1] ?? '').execute(db))
    assertSound(await examine())
    assert.deepEqual([await total('OUGH'), await total('rye_*'), await total('rye__')], [1, 1, 0])
  })

  it('finds an invalid index, which the given command recreates', async () => {
    const { examine, newGroup, service } = await patient('postgres')
    await newGroup()
    const { read } = await service.store.content('main')
    await sql`update pg_index set indisvalid = false where indexrelid = 'sluice_main.objects_by_id'::regclass`.execute(
      read,
    )
    const finding = assertOnly(await examine(), {
      check: 'Integrity of the databases',
      level: 'wrong',
      what: /1 index of the schema sluice_main cannot be used/,
      commands: [`psql "$DATABASE_URL" -c 'reindex index "sluice_main"."objects_by_id"'`],
    })
    assert.deepEqual(finding.examples, ['objects_by_id'])
    await sql`reindex index "sluice_main"."objects_by_id"`.execute(read)
    assertSound(await examine())
  })

  const skews: [aheadMs: number, level: 'attention' | 'wrong', what: RegExp][] = [
    [-5 * secondMs, 'attention', /clock of the database is 5 seconds ahead of this machine/],
    [-100 * secondMs, 'wrong', /clock of the database is 100 seconds ahead of/],
    [100 * secondMs, 'wrong', /clock of the database is (99|100) seconds behind this machine/],
  ]
  for (const [aheadMs, level, what] of skews) {
    it(`reports that a clock ${aheadMs / secondMs} seconds off is ${level}`, async () => {
      const { examine } = await patient('postgres')
      const results = await examine({ clock: () => Date.now() + aheadMs })
      const about = findingsOf(results).filter((finding) => /clock of the database/.test(finding.what))
      assert.equal(about.length, 1)
      assert.equal(about[0]?.level, level)
      assert.match(about[0]?.what ?? '', what)
      assert.match(about[0]?.advice ?? '', /set by the network/)
    })
  }
})

describe('the doctor’s check of SQLite files', () => {
  const pageBytes = 4096
  for (const [where, page, message] of [
    ['in its own description', 5, /malformed/],
    ['in what it holds', -1, /Tree \d+ page \d+/],
  ] as const) {
    it(`finds a file that is damaged ${where}`, async () => {
      const { config, content } = await closedFiles()
      const file = await open(content, 'r+')
      const position = page * pageBytes + (page < 0 ? (await file.stat()).size : 0)
      await file.write(Buffer.alloc(pageBytes, 0x7f), 0, pageBytes, position)
      await file.close()
      const finding = findingsOf(await examineAll(config)).find(({ check }) => check === 'Integrity of the databases')
      assert.equal(finding?.level, 'wrong')
      assert.match(finding?.what ?? '', /main\.sqlite is damaged/)
      assert.match(finding?.examples?.join() ?? '', message)
      assert.match(finding?.advice ?? '', /Stop the servers, keep a copy of the file, and restore/)
      assert.equal(finding?.commands?.[0], `sqlite3 ${content} .recover > recovered.sql`)
    })
  }

  it('finds rows that reference nothing', async () => {
    const { examine, newGroup } = await patient('sqlite')
    const group = await newGroup()
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    await group.add(posts, { value: { title: 'a' } }, { value: { title: 'b' } })
    const { read } = group.store.database
    await sql`pragma query_only = off`.execute(read)
    await sql`pragma foreign_keys = off`.execute(read)
    await sql`delete from containers`.execute(read)
    const finding = assertOnly(await examine(), {
      check: 'Integrity of the databases',
      level: 'wrong',
      what: /main\.sqlite has rows that refer to missing rows/,
      advice: /restore your newest backup/,
      commands: [/^sqlite3 \S+main\.sqlite 'pragma foreign_key_check'$/],
    })
    assert.deepEqual(finding.examples, ['2 rows of objects to containers'])
  })

  it('finds a file modified in the future', async () => {
    const { config, content } = await closedFiles()
    const future = Date.now() / 1000 + 3 * 86_400
    await utimes(content, future, future)
    assertOnly(await examineAll(config), {
      check: 'Clock',
      level: 'attention',
      what: /main\.sqlite is dated 20\S+Z, 3 days from now/,
      commands: ['timedatectl set-ntp true'],
    })
  })

  it('reports nothing about a database that no group uses', async () => {
    const { config, content } = await closedFiles()
    await copyFile(content, join(config.dataDir, 'databases/old.sqlite'))
    assertSound(await examineAll(config))
  })
})
