import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeContent } from '../../src/delivery/answer.ts'
import { type ContentRequest, createFairMaker } from '../../src/delivery/make-content.ts'

const content = encodeContent({ json: ['{}'], revision: 1, untilMs: 2000 })

const askedBy = (groupID: string, query: object = {}): ContentRequest => ({
  route: '/tenant/collectionObjects',
  tenant: { database: 'main', bucketName: 'media', groupID, tier: 'free' },
  query,
})

describe('pages requested concurrently', () => {
  it('are built a few at a time for each group: another group, and a search, do not wait for them', async () => {
    const begun: string[] = []
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const make = createFairMaker(async ({ tenant: { groupID }, query }) => {
      begun.push('search' in query ? 'search' : groupID)
      if (groupID === 'busy') await held
      return content
    })
    const ask = (asked: ContentRequest) => make(asked, 1000)
    const pages = Array.from({ length: 508 }, () => ask(askedBy('busy')))
    await assert.rejects(ask(askedBy('busy')), { code: 'Unavailable', retryAfterSeconds: 1 })
    assert.equal(begun.length, 8)
    assert.equal(await ask(askedBy('other')), content)
    const search = ask(askedBy('busy', { search: 'bread' }))
    assert.deepEqual(begun.slice(8), ['other', 'search'])
    letGo()
    assert.equal((await Promise.all([...pages, search])).length, 509)
  })
})
