import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createSettler } from '../../../src/store/content/settle-due.ts'
import type { Database } from '../../../src/store/engine/database.ts'
import type { ContentTables } from '../../../src/store/schema/tables.ts'

describe('settling in a database that cannot be written', () => {
  it('is tried once a second for each group, however many readers there are', async () => {
    const time = { nowMs: 0 }
    let attempts = 0
    const database = {
      write: async () => {
        attempts += 1
        throw new Error('The disk is full.')
      },
    } as unknown as Database<ContentTables>
    const settle = createSettler(database, () => time.nowMs)
    const read = (groupId: string) => assert.rejects(settle(groupId, 1), /The disk is full/)
    await Promise.all([read('one'), read('one'), read('one')])
    time.nowMs = 999
    await read('one')
    assert.equal(attempts, 1)
    await read('two')
    assert.equal(attempts, 2)
    time.nowMs = 1000
    await read('one')
    assert.equal(attempts, 3)
  })
})
