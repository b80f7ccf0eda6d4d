import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { assertOnly, assertSound, examineAll, patient } from '../../doctor/patient.ts'
import { createEmptyDatabase, type Harness, harness } from '../../helpers/harness.ts'
import { startPgBouncer, whyNoPgBouncer } from '../../helpers/pgbouncer.ts'

/** The number of answers by status of concurrent reads, each of which queries the database. */
async function readOften({ newGroup }: Harness): Promise<(rounds: number) => Promise<Record<number, number>>> {
  const group = await newGroup()
  const { id } = await group.collection('Posts', { title: { type: 'text' } })
  let asked = 0
  return async (rounds) => {
    const counts: Record<number, number> = {}
    for (let round = 0; round < rounds; round++) {
      const urls = Array.from({ length: 20 }, () => `/tenant/collectionObjects?collectionId=${id}&skip=${asked++}`)
      for (const { statusCode } of await Promise.all(urls.map((url) => group.get(url))))
        counts[statusCode] = (counts[statusCode] ?? 0) + 1
    }
    return counts
  }
}

const warnings = ({ log }: Harness): string[] =>
  log()
    .split('\n')
    .filter((line) => line.includes('DATABASE_PREPARE=off'))

async function startPooler(mode: 'session' | 'transaction') {
  const testDatabase = await createEmptyDatabase('postgres')
  after(() => testDatabase.remove())
  return startPgBouncer(testDatabase.env.DATABASE_URL, mode)
}

describe('PgBouncer without prepared statements', { skip: whyNoPgBouncer() ?? false }, () => {
  it('in transaction mode is detected at the start: every read succeeds, and the log names DATABASE_PREPARE once', async () => {
    const { url } = await startPooler('transaction')
    const service = await harness('postgres', { env: { DATABASE_URL: url } })
    const read = await readOften(service)
    assert.deepEqual(await read(10), { 200: 200 })
    assert.equal(warnings(service).length, 1)
  })

  it('in transaction mode is found by the doctor, unless DATABASE_PREPARE is off', async () => {
    const { url } = await startPooler('transaction')
    const { config, examine } = await patient('postgres', { DATABASE_URL: url })
    assertOnly(await examine(), {
      check: 'Databases',
      level: 'attention',
      what: /loses prepared statements/,
      advice: /max_prepared_statements/,
      commands: ['DATABASE_PREPARE=off'],
    })
    assertSound(await examineAll({ ...config, databasePrepare: 'off' }))
  })

  it('in session mode works', async () => {
    const { url } = await startPooler('session')
    const { log, examine } = await patient('postgres', { DATABASE_URL: url })
    assertSound(await examine())
    assert.doesNotMatch(log(), /DATABASE_PREPARE/)
  })

  it('that changes its mode under a running service costs some answers 503, and no 500', async () => {
    const pooler = await startPooler('session')
    const service = await harness('postgres', { env: { DATABASE_URL: pooler.url } })
    const read = await readOften(service)
    assert.deepEqual(await read(3), { 200: 60 })
    await pooler.setMode('transaction')
    const { 200: good = 0, 503: refused = 0, ...others } = await read(10)
    assert.deepEqual([good + refused, others], [200, {}])
    assert.deepEqual(await read(3), { 200: 60 })
    assert.equal(warnings(service).length, refused > 0 ? 1 : 0)
  })
})
