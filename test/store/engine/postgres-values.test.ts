import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { PoolClient } from 'pg'
import { openPostgresPool } from '../../../src/store/engine/postgres.ts'
import { queryRowArrays, type RowArrayQuery } from '../../../src/store/engine/postgres-values.ts'
import { harness } from '../../helpers/harness.ts'

describe('a query for values', () => {
  async function open(parameters = '') {
    const { config } = await harness('postgres')
    const pool = await openPostgresPool(`${config.databaseUrl}${parameters}`, () => {})
    after(() => pool.end())
    let descriptions = 0
    pool.on('connect', (client: PoolClient & { connection?: NodeJS.EventEmitter }) => {
      client.connection?.on('rowDescription', () => {
        descriptions += 1
      })
    })
    const known: RowArrayQuery['known'] = new Map()
    const ask = (text: string, parameters: RowArrayQuery['parameters'], name?: string) =>
      queryRowArrays(pool, { text, name, parameters, known })
    return { pool, ask, descriptions: () => descriptions }
  }

  const ofAllKinds = `
    select $1 as text, 9007199254740991::int8 as large, $2::int4 as small, null as nothing, true as yes, '{"a":[1]}'::json as json
    union all select 'ü “”', -1, 0, null, false, 'null'`
  const expected = [
    ['a,b', 9007199254740991, 7, null, true, { a: [1] }],
    ['ü “”', -1, 0, null, false, null],
  ]

  it('returns the same rows as pg', async () => {
    const { pool, ask } = await open()
    const theirs = await pool.query({ text: ofAllKinds, values: ['a,b', 7], rowMode: 'array' })
    assert.deepEqual(theirs.rows, expected)
    assert.deepEqual(await ask(ofAllKinds, ['a,b', 7]), expected)
    assert.deepEqual(await ask('select 1 where false', []), [])
  })

  it('requests the columns of a prepared statement once per connection', async () => {
    const { pool, ask, descriptions } = await open()
    assert.deepEqual(await ask(ofAllKinds, ['a,b', 7], 'kinds'), expected)
    assert.equal(descriptions(), 1)
    const many = await Promise.all(Array.from({ length: 100 }, () => ask(ofAllKinds, ['a,b', 7], 'kinds')))
    for (const rows of many) assert.deepEqual(rows, expected)
    assert.ok(pool.totalCount > 1)
    assert.equal(descriptions(), pool.totalCount)
    await ask(ofAllKinds, ['a,b', 7])
    await ask(ofAllKinds, ['a,b', 7])
    assert.equal(descriptions(), pool.totalCount + 2, 'unnamed statements may have different columns each time')
  })

  it('shares prepared statements with pg on a connection', async () => {
    const { pool, ask } = await open()
    for (let time = 0; time < 2; time += 1) {
      assert.deepEqual(await ask('select 1 as one', [], 'ours'), [[1]])
      assert.deepEqual((await pool.query({ text: 'select 1 as one', name: 'ours' })).rows, [{ one: 1 }])
      assert.deepEqual((await pool.query({ text: 'select 2 as two', name: 'theirs' })).rows, [{ two: 2 }])
      assert.deepEqual(await ask('select 2 as two', [], 'theirs'), [[2]])
    }
    assert.equal(pool.totalCount, 1)
  })

  it('fails with PostgreSQL’s error, without affecting later queries', async () => {
    const { ask } = await open()
    const division = 'select 1 / $1::int4'
    assert.deepEqual(await ask(division, [1], 'division'), [[1]])
    await assert.rejects(ask(division, [0], 'division'), { code: '22012' })
    await assert.rejects(ask('select nonsense', [], 'nonsense'), { code: '42703' })
    await assert.rejects(ask('select pg_terminate_backend(pg_backend_pid())', []), /terminat/)
    const many = Array.from({ length: 30 }, (_, n) => ask(division, [n % 3], 'division'))
    const outcomes = await Promise.allSettled(many)
    for (const [n, { status }] of outcomes.entries()) assert.equal(status, n % 3 ? 'fulfilled' : 'rejected')
  })

  it('applies the timeout in the URL, and leaves no timer behind', async () => {
    const { ask } = await open('?query_timeout=1000')
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    await ask('select 1', [])
    const before = timers()
    for (let time = 0; time < 20; time += 1) await ask('select 1', [])
    assert.ok(timers() <= before, `${timers()} instead of ${before}`)
    await assert.rejects(ask('select pg_sleep(10)', []), /timeout/)
    assert.deepEqual(await ask('select 1', []), [[1]])
  })

  it('fails on an unreadable value, and the process continues', async () => {
    const { pool, ask } = await open()
    pool.options.types = { getTypeParser: () => assert.fail.bind(undefined, 'unreadable') } as never
    await assert.rejects(ask('select 1 union all select 2', []), /unreadable/)
  })
})
