import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLogger } from '../src/logging.ts'
import { makeApiKey, makePreviewToken } from '../src/secrets.ts'

describe('the logger', () => {
  it('lets no key and no token through, even where a library quotes a URL or an error holds one', () => {
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
})
