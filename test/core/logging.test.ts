import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger } from '../../src/core/logging.ts'
import { createAccessLog } from '../../src/http/access-log.ts'
import type { Metrics } from '../../src/metrics/metrics.ts'
import { makeApiKey, makePreviewToken } from '../../src/security/tokens.ts'

describe('the logger', () => {
  it('writes no key and no token, even when a library quotes a URL or an error contains one', () => {
    const lines: string[] = []
    const logger = createLogger({ logLevel: 'info' }, { write: (line) => void lines.push(line) })
    const secrets = [makeApiKey(), makePreviewToken()]
    for (const secret of secrets) {
      logger.warn(`Reply was already sent in "/tenant/preview?token=${secret}"`)
      logger.error({ err: new Error(`failed for ${secret}`, { cause: new Error(secret) }) }, 'x')
      logger.info({ url: `/x?token=${secret}`, authorization: secret }, 'y')
    }
    assert.equal(lines.length, 6)
    for (const secret of secrets) assert.ok(!lines.join('').includes(secret.slice(0, 20)))
    assert.match(lines.join(''), /slc_preview_\[secret\]/)
  })

  it('writes no query string, even when an error quotes a URL', () => {
    const lines: string[] = []
    const logger = createLogger({ logLevel: 'info' }, { write: (line) => void lines.push(line) })
    const message = 'Reply was already sent, in "GET /tenant/collectionObjects?search=my+illness"'
    logger.error({ err: new Error(message, { cause: new Error(message) }) }, 'x')
    assert.match(lines.join(''), /\/tenant\/collectionObjects\?…/)
    assert.doesNotMatch(lines.join(''), /illness/)
  })

  it('writes deferrable lines together, in order, and drops none', async () => {
    const written: string[] = []
    const logger = createLogger({ logLevel: 'info' }, { write: (text) => void written.push(text) })
    let waiting = ''
    const flush = logger.collectLines(() => {
      const taken = waiting
      waiting = ''
      return taken
    })
    const writeSoon = (line: string, isMuch = false): void => {
      waiting += line
      flush(isMuch)
    }
    for (const line of ['one\n', 'two\n']) writeSoon(line)
    assert.deepEqual(written, [])
    logger.warn('three')
    assert.equal(written[0], 'one\ntwo\n')
    assert.match(written[1] ?? '', /"three"/)
    writeSoon('four\n')
    logger.flush()
    assert.equal(written[2], 'four\n')
    writeSoon('five\n')
    while (written.length < 4) await sleep(5) // within a short time
    assert.equal(written[3], 'five\n')
    writeSoon('six\n', true)
    assert.equal(written[4], 'six\n', 'much does not wait')
  })

  it('never throws, whether a line cannot be serialised or cannot be written', async () => {
    const written: string[] = []
    let isFull = false
    const write = (text: string): void => {
      if (isFull) throw new Error('no space left')
      written.push(text)
    }
    const logger = createLogger({ logLevel: 'info' }, { write })
    let isBroken = true
    const flush = logger.collectLines(() => {
      if (isBroken) throw new Error(`broken for ${makeApiKey()}`)
      return ''
    })
    flush(true)
    flush(false)
    while (written.length < 2) await sleep(5) // by the timer, where an exception would end the process
    isBroken = false
    isFull = true
    logger.warn('this goes nowhere')
    isFull = false
    logger.warn('this arrives')
    const lines = written.map((line) => JSON.parse(line))
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      ['log lines were lost', 'log lines were lost', 'this arrives'],
    )
    assert.match(lines[0].err.stack, /broken for slc_live_\[secret\]/)
  })

  it('does not end the process when standard output is a full disk', async () => {
    const module = JSON.stringify(import.meta.resolve('../../src/core/logging.ts'))
    const program = `
      import { createLogger } from ${module}
      const logger = createLogger({ logLevel: 'info' })
      for (let line = 0; line < 200; line += 1) logger.info('x'.repeat(50000))
      setTimeout(() => console.error('alive'), 50)`
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', full, 'pipe'] })
    closeSync(full)
    assert.ok(child.stderr)
    assert.equal(await text(child.stderr), 'alive\n')
  })

  for (const [what, end] of [
    ['is done', ''],
    ['ends itself', 'process.exit(0)'],
    ['fails', "throw new Error('unexpected')"],
  ] as const) {
    it(`loses no line when the process ${what}`, async () => {
      const module = JSON.stringify(import.meta.resolve('../../src/core/logging.ts'))
      const program = `
        import { createLogger } from ${module}
        createLogger({ logLevel: 'info' }).collectLines(() => 'the last line\\n')(false)
        ${end}`
      const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      assert.equal(await text(child.stdout), 'the last line\n')
    })
  }

  it('writes no line for a request when the level is above info', () => {
    const written: string[] = []
    for (const logLevel of ['warn', 'silent', 'info'] as const) {
      const logger = createLogger({ logLevel }, { write: (line) => void written.push(line) })
      const metrics = { request: () => {} } as unknown as Metrics
      createAccessLog({ logger, metrics })({
        id: 'a',
        method: 'GET',
        route: '/x',
        status: 200,
        answeredMs: Date.UTC(2026, 2, 1),
        ms: 0.04,
        address: `1.2.3.4 ${makeApiKey()} "`,
        tenant: undefined,
        userId: undefined,
        isQuiet: false,
      })
      logger.flush()
    }
    assert.equal(written.length, 1)
    assert.deepEqual(JSON.parse(written[0] ?? ''), {
      level: 'info',
      time: '2026-03-01T00:00:00.000Z',
      requestId: 'a',
      method: 'GET',
      route: '/x',
      status: 200,
      ms: 0,
      address: '1.2.3.4 slc_live_[secret] "',
      msg: 'request',
    })
  })
})
