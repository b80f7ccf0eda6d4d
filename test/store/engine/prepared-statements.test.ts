import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from 'kysely'
import { readRevision } from '../../../src/store/content/revisions.ts'
import { createStatementNames } from '../../../src/store/engine/prepared-statements.ts'
import { openStore } from '../../../src/store/open.ts'
import { openGroup, type Store } from '../../../src/store/store.ts'
import { harness } from '../../helpers/harness.ts'

describe('names of statements', () => {
  it('are assigned to repeated texts, always the same one to the same text', () => {
    const { nameOf } = createStatementNames()
    const text = 'select id from objects where id = $1'
    assert.deepEqual([nameOf(text), nameOf(text)], [undefined, undefined])
    const name = nameOf(text)
    assert.match(name ?? '', /^s_[\w-]{22}$/)
    assert.equal(nameOf(text), name)
    for (let time = 0; time < 3; time++) nameOf('select id from sites where id = $1')
    assert.notEqual(nameOf('select id from sites where id = $1'), name)
  })

  it('are not assigned to statements that select all columns, are too long, or exceed the maximum number', () => {
    const { nameOf } = createStatementNames()
    const often = (text: string) => [1, 2, 3, 4].map(() => nameOf(text)).at(-1)
    for (const text of [
      'select * from objects where id = $1',
      'select "o".* from objects as o where id = $1',
      'insert into objects (id) values ($1) returning *',
      `select id from objects where id in (${'$1, '.repeat(3000)}$1)`,
    ])
      assert.equal(often(text), undefined, text.slice(0, 60))
    assert.ok(often('select count(*) as total from objects where id = $1'))
    for (let n = 0; n < 1000; n++) often(`select ${n} from objects where id = $1`)
    assert.equal(often('select one_too_many from objects where id = $1'), undefined)
    assert.ok(nameOf('select count(*) as total from objects where id = $1'), 'an assigned name is kept')
  })
})

describe('PostgreSQL', () => {
  async function openAnother(preparesStatements: boolean) {
    const created = await harness('postgres')
    const { group } = await created.newGroup()
    const { dataDir, databaseUrl } = created.config
    const store = await openStore({
      dataDir,
      databaseUrl,
      preparesStatements,
      clock: Date.now,
      onConnectionError: () => {},
    })
    after(() => store.close())
    return { store, read: await openGroup(store, { database: group.database, groupID: group.id }) }
  }

  const preparedOn = async ({ control }: Store): Promise<string[]> => {
    const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(
      control.read,
    )
    return rows.map(({ statement }) => statement)
  }

  it('prepares frequent reads once per connection', async () => {
    const { store, read } = await openAnother(true)
    for (let time = 0; time < 10; time++) assert.equal(await readRevision(read), 0)
    const statements = (await preparedOn(store)).filter((text) => text.includes('group_revisions'))
    assert.equal(statements.length, 1)
  })

  it('prepares nothing if DATABASE_PREPARE is off', async () => {
    const { store, read } = await openAnother(false)
    for (let time = 0; time < 10; time++) assert.equal(await readRevision(read), 0)
    assert.deepEqual(await preparedOn(store), [])
  })

  it('continues to use prepared statements after a migration adds a column', async () => {
    const { read } = await openAnother(true)
    const { database } = read
    const readRows = () =>
      database.read.selectFrom('group_revisions').selectAll().where('group_id', '=', read.groupId).execute()
    for (let time = 0; time < 10; time++) await readRows()
    for (let time = 0; time < 10; time++) await readRevision(read)
    await sql`alter table ${sql.id(database.schemaName ?? '', 'group_revisions')} add column later integer`.execute(
      database.read,
    )
    assert.deepEqual(await readRows(), [])
    assert.equal(await readRevision(read), 0)
  })
})
