import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { readConfig } from '../../../src/config/config.ts'
import { describeRefusal } from '../../../src/store/engine/unavailable.ts'
import { openStore } from '../../../src/store/open.ts'
import { examineAll, findingsOf } from '../../doctor/patient.ts'
import { makeCertificate } from '../../helpers/certificate.ts'
import { type PostgresServer, startPostgres } from '../../helpers/postgres-server.ts'
import { runCli } from '../../helpers/process.ts'

describe('TLS to PostgreSQL with a private CA', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-tls-'))
  const ca = join(folder, 'ca.pem')
  let server: PostgresServer | undefined
  before(async () => {
    const tls = makeCertificate('localhost')
    writeFileSync(ca, tls.cert)
    server = await startPostgres({ tls })
  })
  after(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const urlOf = (query: string, host = 'localhost') => `${server?.url.replace('127.0.0.1', host)}${query}`

  async function isEncrypted(databaseUrl: string): Promise<boolean> {
    const store = await openStore({ dataDir: folder, databaseUrl, clock: Date.now, onConnectionError: () => {} })
    try {
      const { rows } = await sql<{ ssl: boolean }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(
        store.control.read,
      )
      return rows[0]?.ssl === true
    } finally {
      await store.close()
    }
  }

  it('is verified against the CA in sslrootcert, and off if sslmode is missing or disable', async () => {
    assert.equal(await isEncrypted(urlOf(`?sslmode=verify-full&sslrootcert=${ca}`)), true)
    assert.equal(await isEncrypted(urlOf(`?sslmode=require&sslrootcert=${ca}`)), true)
    assert.equal(await isEncrypted(urlOf('?sslmode=no-verify')), true)
    for (const query of ['', '?sslmode=disable']) assert.equal(await isEncrypted(urlOf(query)), false)
  })

  it('that fails is reported with advice, by a command and by the doctor', async () => {
    const expected = /self-signed certificate\. Name the CA that signed it: .*sslmode=verify-full&sslrootcert=/
    const env = { DATABASE_URL: urlOf('?sslmode=require'), DATA_DIR: folder }
    const { code, output } = await runCli(['group', 'list'], env)
    assert.equal(code, 1)
    assert.match(output, /^PostgreSQL cannot be used: [^\n]+\n$/)
    assert.match(output, expected)
    const [finding] = findingsOf(await examineAll(readConfig(env))).filter(({ check }) => check === 'Databases')
    assert.match(`${finding?.what} ${finding?.advice}`, expected)
  })

  it('reports other problems: a wrong host name, or no TLS at all', async () => {
    const adviceFor = async (url: string) =>
      describeRefusal(await isEncrypted(url).catch((error: unknown) => error))?.advice ?? ''
    assert.match(await adviceFor(urlOf(`?sslmode=verify-full&sslrootcert=${ca}`, '127.0.0.1')), /a host name that/)
    assert.match(await adviceFor(`${process.env.TEST_POSTGRES_URL}?sslmode=verify-full`), /ssl = on.*sslmode=disable/)
  })
})
