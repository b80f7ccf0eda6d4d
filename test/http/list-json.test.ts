import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ok } from '../../src/core/envelope.ts'
import { answerJson } from '../../src/http/list-json.ts'

const answers = [
  null,
  1,
  { a: 1 },
  { items: [] },
  { items: [1, 'x', undefined, { y: '"items":[]' }], totalCount: 3 },
  { first: '"items":[]', items: [{ a: [] }], last: { items: [] } },
  { a: undefined, items: ['é🍞'] },
]

describe('the JSON of an answer of the management API', () => {
  for (const data of answers)
    it(`equals JSON.stringify of ${JSON.stringify(data)}`, async () => {
      assert.equal((await answerJson(data, 1000)).toString(), JSON.stringify(ok(data)))
    })

  it('is refused as soon as it exceeds the maximum size of an answer', async () => {
    const data = { items: ['é'.repeat(100), 'never written'] }
    const { length } = await answerJson(data, 1000)
    await answerJson(data, length)
    await assert.rejects(answerJson(data, length - 1), /maximum of \d+ bytes/)
    const items = [
      { toJSON: () => 'x'.repeat(2000) },
      { toJSON: () => assert.fail('written although there is no room') },
    ]
    await assert.rejects(answerJson({ items }, 1000), /maximum of 1000 bytes/)
  })
})
