import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { createOutageLog } from '../../src/core/outage-log.ts'
import { startCutProxy } from '../helpers/cut-proxy.ts'
import { createEmptyDatabase, type Harness, harness } from '../helpers/harness.ts'
import { mailServer } from '../helpers/mail-server.ts'
import { contactBody, contactPath, openOutbox } from '../helpers/outbox.ts'

const refused = (code = 'ECONNREFUSED') => Object.assign(new Error('no connection'), { code })

/** A log with the test's clock. */
function outageLog(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const lines: string[] = []
  const write = (fields: object, message: string) => {
    const { failures, seconds } = fields as Record<string, number | undefined>
    lines.push(failures === undefined ? message : `${message} (${failures} in ${seconds} s)`)
  }
  let now = 0
  return {
    lines,
    ...createOutageLog({ error: write, warn: write }, () => now),
    wait(seconds: number) {
      for (let passed = 0; passed < seconds; passed += 5) {
        now += 5000
        t.mock.timers.tick(5000)
      }
    },
  }
}

describe('an outage in the log', () => {
  it('is one line at once, a count every minute, and one line when it is over', (t) => {
    const { lines, noteOutage, noteSuccess, wait } = outageLog(t)
    for (let n = 0; n < 1000; n++) noteOutage('the database', refused())
    assert.deepEqual(lines, ['the database failed'])
    wait(55)
    assert.equal(lines.length, 1)
    wait(5)
    noteOutage('the database', refused())
    wait(60)
    noteSuccess('the database')
    wait(10)
    assert.deepEqual(lines.slice(1), [
      'the database failed again (999 in 60 s)',
      'the database failed again (1 in 60 s)',
      'the database works again after 60 s (1001 in 60 s)',
    ])
    wait(600)
    noteOutage('the database', refused())
    assert.equal(lines.at(-1), 'the database failed')
    assert.equal(lines.length, 5)
  })

  it('reports each cause once, a limited number of causes, and each outage separately', (t) => {
    const { lines, noteOutage } = outageLog(t)
    for (let n = 0; n < 100; n++) noteOutage('the database', refused(`E${n}`))
    assert.equal(lines.length, 5)
    for (let n = 0; n < 1000; n++) noteOutage(`store ${n}`, refused())
    assert.equal(lines.length, 5 + 99 + 1)
  })

  it('without a success ends after ten quiet minutes, and a single failure is one line', (t) => {
    const { lines, noteOutage, wait } = outageLog(t)
    for (const what of ['the media store', 'the media store', 'a request']) noteOutage(what, refused())
    wait(610)
    assert.deepEqual(lines, [
      'the media store failed',
      'a request failed',
      'the media store failed again (1 in 60 s)',
      'the media store has not failed for 600 s (2 in 1 s)',
    ])
  })
})

/** Without the request lines. */
const linesOf = ({ log }: Pick<Harness, 'log'>): string[] =>
  log()
    .split('\n')
    .filter((line) => /"level":"(warn|error|fatal)"/.test(line) && !/"route"|the event loop stalled/.test(line))

describe('an outage of a peer', () => {
  it('of the database writes a handful of lines, however many requests fail', async () => {
    const testDatabase = await createEmptyDatabase('postgres')
    after(() => testDatabase.remove())
    const url = new URL(testDatabase.env.DATABASE_URL)
    const proxy = await startCutProxy({ host: url.hostname, port: Number(url.port) })
    url.port = String(proxy.port)
    const service = await harness('postgres', { env: { DATABASE_URL: url.href, ANSWER_CACHE_MB: '0' } })
    const group = await service.newGroup()
    const read = () => {
      service.clock.now += 2000 // past the authorizer's cache
      return group.get('/tenant/integrationObjects?type=stripe')
    }
    assert.equal((await read()).statusCode, 200)
    const before = linesOf(service).length
    proxy.cut()
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(Array.from({ length: 20 }, read))
      for (const { statusCode, headers } of answers) assert.deepEqual([statusCode, headers['retry-after']], [503, '1'])
    }
    await service.service.worker.runDue()
    const lines = linesOf(service).slice(before)
    assert.ok(lines.length > 0 && lines.length <= 8, `${lines.length} lines:\n${lines.join('\n')}`)
    proxy.mend()
    assert.equal((await read()).statusCode, 200)
  })

  it('of the mail server writes a handful of lines, however many e-mails wait', async () => {
    const server = await mailServer()
    await server.stop()
    const outbox = await openOutbox('sqlite', { env: { SMTP_URL: server.url, MAIL_FROM: 'mail@shop.example' } })
    for (let n = 0; n < 50; n++) assert.equal((await outbox.post(contactPath, contactBody)).statusCode, 201)
    await outbox.service.worker.runDue()
    const lines = linesOf(outbox)
    assert.ok(lines.length > 0 && lines.length <= 3, `${lines.length} lines:\n${lines.join('\n')}`)
    assert.match(lines[0] ?? '', /a job of the kind mail\.deliver failed/)
  })
})
