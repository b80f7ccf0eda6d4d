import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { splitRanges } from '../../src/store/content/split-ranges.ts'
import { createHarness, engines, type Harness, type TestGroup, testStartMs } from '../helpers/harness.ts'
import { itemCount, makeItems, randomQuery, rules, schema, toUrl, withIds } from '../helpers/list-queries.ts'
import { type Item, listByReference, type Query } from '../helpers/list-reference.ts'

/** `npm run prove -- lists` runs 10,000. */
const queries = Number(process.env.LIST_QUERIES ?? 150)

/** How many pages to read by cursor; undefined for one page by `skip`. */
const paging = fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 5 }), fc.constant(20))

type Listed = Exclude<ReturnType<typeof listByReference>, 'refused'>

interface Side {
  harness: Harness
  group: TestGroup
  collectionId: string
  items: Item[]
  positions: Map<string, number>
}

async function fill(harness: Harness): Promise<Side> {
  const group = await harness.newGroup()
  const collection = await group.collection('Items', schema)
  const inputs = makeItems()
  const stored = await group.add(collection, ...inputs)
  await splitRanges(group.store, { maxTotal: 60, entries: 30, nowMs: testStartMs }) // so that ranges are added up
  const items = inputs.map((input, position) => ({ ...input, id: stored[position]?.id ?? '', updatedMs: testStartMs }))
  const positions = new Map(items.map(({ id }, position) => [id, position]))
  return { harness, group, collectionId: collection.id, items, positions }
}

describe('list queries', () => {
  const sides: Side[] = []
  before(async () => {
    for (const engine of engines) sides.push(await fill(await createHarness(engine)))
  })
  after(async () => {
    for (const { harness } of sides) await harness.close()
  })

  async function assertPages({ group, collectionId, items, positions }: Side, asked: Query, pages: number) {
    const { ids, total } = listByReference(rules, items, { ...asked, limit: itemCount, skip: 0 }, testStartMs) as Listed
    const { limit = 100 } = asked
    let after: string | null = ''
    for (let page = 0; page < pages && after !== null; page += 1) {
      const answer = await group.get(toUrl(collectionId, asked, after))
      assert.equal(answer.statusCode, 200, answer.body.slice(0, 300))
      const { items: delivered, totalCount, nextCursor } = answer.json().data
      assert.equal(totalCount, total)
      assert.deepEqual(
        delivered.map((item: { _id: string }) => positions.get(item._id)),
        ids.slice(page * limit, (page + 1) * limit).map((id) => positions.get(id)),
        `page ${page}`,
      )
      assert.equal(nextCursor === null, (page + 1) * limit >= total)
      after = nextCursor
    }
  }

  it('return the same on SQLite, on PostgreSQL and from a plain array; none fails', async (context) => {
    const seen = { answered: 0, refused: 0, walked: 0, paged: 0 }
    await fc.assert(
      fc.asyncProperty(randomQuery, paging, async (random, pages) => {
        for (const side of sides) {
          const { group, collectionId, items, positions } = side
          const asked = withIds(random, items)
          const expected = listByReference(rules, items, asked, testStartMs)
          const answer = await group.get(toUrl(collectionId, asked))
          if (expected === 'refused') {
            assert.equal(answer.statusCode, 400, answer.body.slice(0, 300))
            seen.refused += 1
            continue
          }
          assert.equal(answer.statusCode, 200, answer.body.slice(0, 300))
          const { items: delivered, totalCount } = answer.json().data
          assert.equal(totalCount, expected.total)
          const order = delivered.map((item: { _id: string }) => positions.get(item._id))
          assert.deepEqual(
            order,
            expected.ids.map((id) => positions.get(id)),
          )
          seen.answered += 1
          if (totalCount > 1000) seen.walked += 1
          if (pages === undefined) continue
          await assertPages(side, asked, pages)
          seen.paged += 1
        }
      }),
      { numRuns: queries },
    )
    context.diagnostic(`${queries} random queries on each engine: ${JSON.stringify(seen)}`)
    assert.ok(seen.answered > seen.refused, 'most queries must be answered for this to mean something')
    assert.ok(seen.walked > 0, 'both plans must have been used')
  })
})
