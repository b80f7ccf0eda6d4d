import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRequestIds } from '../../src/http/server.ts'

describe('request ids', () => {
  it('are 24 hex digits and unique within and across processes', () => {
    const makers = Array.from({ length: 20 }, createRequestIds)
    const ids = makers.flatMap((make) => Array.from({ length: 500 }, make))
    assert.equal(new Set(ids).size, 10_000)
    for (const id of ids) assert.match(id, /^[0-9a-f]{24}$/)
  })
})
