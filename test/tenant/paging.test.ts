import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { writeCursor } from '../../src/content/cursor.ts'
import { parseListQuery } from '../../src/content/list-query.ts'
import { changeObject, deleteObjects } from '../../src/store/content/change-objects.ts'
import { findObject } from '../../src/store/content/objects.ts'
import { write } from '../helpers/authoring.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { harness, onBothEngines, type TestGroup } from '../helpers/harness.ts'

/** `npm run prove -- lists` runs more. */
const scripts = Number(process.env.PAGING_SCRIPTS ?? 25)
const itemCount = 40

const schema = { title: { type: 'text' }, rank: { type: 'integer' }, body: { type: 'longText' } }
type Item = { _id: string; objectValue: { title?: string; rank?: number } }

const values = fc.record({
  title: fc.constantFrom('a', 'B', 'c', undefined),
  rank: fc.constantFrom(1, 2, 3, 10, undefined),
})
const change = fc.record({
  kind: fc.constantFrom('add', 'add', 'delete', 'archive', 'touch', 'touch', 'move'),
  at: fc.nat(itemCount - 1),
  value: values,
})
const script = fc.record({
  start: fc.array(values, { minLength: itemCount, maxLength: itemCount }),
  /** The changes before each page. */
  changes: fc.array(fc.array(change, { maxLength: 3 }), { minLength: 5, maxLength: 10 }),
  more: fc.constantFrom(
    '',
    '&sort=rank:asc',
    '&sort=rank:desc',
    '&sort=rank:asc,title:desc',
    '&sort=createdAt:desc',
    '&sort=publishDate:desc',
    '&sort=title:desc&filters[rank][gte]=2',
    '&sort=rank:desc&filters[rank][gt]=1&filters[rank][lte]=10',
    '&filters[rank][exists]=true',
    '&filters[title][ne]=a&sort=title:asc',
    '&fields=title&sort=_id:desc',
  ),
  limit: fc.integer({ min: 1, max: 12 }),
})

onBothEngines('paging by cursor', (engine) => {
  it('delivers every item that stays unchanged exactly once and in order, whatever else is written between two pages', async (context) => {
    const created = await harness(engine)
    const group = await created.newGroup()
    const seen = { pages: 0, writes: 0, unchanged: 0 }
    const { clock } = created

    await fc.assert(
      fc.asyncProperty(script, async ({ start, changes, more, limit }) => {
        const collection = await group.collection(`Items ${seen.pages}`, schema)
        const stored: { id: string }[] = []
        for (const value of start) {
          clock.now += 1
          stored.push(...(await group.add(collection, { value, publishMs: clock.now })))
        }
        const url = `/tenant/collectionObjects?collectionId=${collection.id}${more}`
        const read = async (at: string) => {
          const answer = await group.get(url + at)
          assert.equal(answer.statusCode, 200, answer.body)
          return answer.json().data as { items: Item[]; nextCursor: string | null }
        }
        const before = (await read('')).items.map(({ _id }) => _id)
        /** Items whose place in the list, or whose presence, has changed. */
        const moved = new Set<string>()
        const written = new Set<string>()
        async function apply({ kind, at, value }: (typeof changes)[number][number]): Promise<void> {
          clock.now += 1
          seen.writes += 1
          const id = stored[at]?.id ?? ''
          if (kind === 'add') {
            stored.push(...(await group.add(collection, { value })))
            return
          }
          await write(group.store, clock.now, async (writer) => {
            const found = await findObject(writer.group, id)
            if (!found) return
            written.add(id)
            if (kind !== 'touch') moved.add(id)
            if (kind === 'delete') await deleteObjects(writer, [found])
            else {
              const wanted =
                kind === 'archive'
                  ? { archived: true }
                  : { value: { ...found.object.value, ...(kind === 'touch' ? { body: `${clock.now}` } : value) } }
              await changeObject(writer, collection, found.object, wanted, 'updated')
            }
          })
        }
        const delivered: string[] = []
        let after: string | null = ''
        for (let page = 0; after !== null; page += 1) {
          assert.ok(page < 1000, 'paging must end')
          const { items, nextCursor } = await read(`&limit=${limit}&after=${after}`)
          delivered.push(...items.map(({ _id }) => _id))
          after = nextCursor
          seen.pages += 1
          for (const each of changes[page] ?? []) await apply(each)
        }
        const stayed = before.filter((id) => !written.has(id))
        seen.unchanged += stayed.length
        assert.deepEqual(
          delivered.filter((id) => stayed.includes(id)),
          stayed,
        )
        const still = delivered.filter((id) => !moved.has(id))
        assert.equal(new Set(still).size, still.length, 'an item that kept its place was delivered twice')
      }),
      { numRuns: scripts },
    )
    context.diagnostic(JSON.stringify(seen))
  })

  async function withItems(): Promise<{
    group: TestGroup
    read: (more: string) => ReturnType<TestGroup['get']>
    id: string
  }> {
    const created = await harness(engine)
    const group = await created.newGroup()
    const collection = await group.collection('Items', schema)
    const added = Array.from({ length: 10 }, (_, at) => ({ value: { title: `t${at}`, ...(at > 2 && { rank: at }) } }))
    await group.add(collection, ...added)
    const { id } = collection
    return { group, id, read: (more) => group.get(`/tenant/collectionObjects?collectionId=${id}${more}`) }
  }

  it('has nextCursor only when after is given: the next page, or null at the end', async () => {
    const { read } = await withItems()
    const data = async (more: string) => (await read(more)).json().data
    assert.ok(!('nextCursor' in (await data(''))))
    const first = await data('&after=&limit=5&sort=rank:desc')
    assert.equal(first.totalCount, 10)
    const second = await data(`&after=${first.nextCursor}&limit=3&sort=rank:desc`)
    const third = await data(`&after=${second.nextCursor}&limit=2&sort=rank:desc`)
    assert.deepEqual(
      [first, second, third].map(({ items }) => items.map((item: Item) => item.objectValue.title).join()),
      ['t9,t8,t7,t6,t5', 't4,t3,t2', 't1,t0'],
    )
    assert.equal(third.nextCursor, null)
    assert.equal(third.totalCount, 10)
    assert.deepEqual(await data('&after=&filters[title]=nothing'), { items: [], totalCount: 0, nextCursor: null })
    assert.equal((await data('&after=&limit=10')).nextCursor, null, 'a full last page is the end')
  })

  it('takes a cursor with any spelling of the same query, and another limit or fields', async () => {
    const { read } = await withItems()
    const first = await read('&filters[title][ne]=t1&filters[rank]=3&filters[rank]=4&sort=title:asc&limit=1&after=')
    const { nextCursor } = first.json().data
    const same = await read(
      `&after=${nextCursor}&fields=title&sort=objectValue.title:asc&filters[objectValue.rank]=4&filters[rank]=3&filters[title][ne]=t1`,
    )
    assert.deepEqual(
      same.json().data.items.map((item: Item) => item.objectValue.title),
      ['t4'],
    )
  })

  it('refuses cursors of another list, order, filter or collection, altered ones, and skip beside after', async () => {
    const { group, id, read } = await withItems()
    const { nextCursor } = (await read('&after=&limit=2&sort=rank:asc')).json().data
    const other = await group.collection('Others', schema)
    const bad = /^after is not a cursor of this list\. Send nextCursor/
    for (const more of [
      '',
      '&sort=rank:desc',
      '&sort=title:asc',
      '&sort=rank:asc&filters[rank]=3',
      '&sort=rank:asc&search=t',
    ])
      assertFailure(await read(`${more}&after=${nextCursor}`), 400, 'ValidationError', bad)
    const elsewhere = await group.get(
      `/tenant/collectionObjects?collectionId=${other.id}&sort=rank:asc&after=${nextCursor}`,
    )
    assertFailure(elsewhere, 400, 'ValidationError', bad)
    assertFailure(await read('&after=&skip=0'), 400, 'ValidationError', /^after and skip cannot be combined/)
    assertFailure(await read('&after=a&after=b'), 400, 'ValidationError', /^after must be given once/)
    assertFailure(await read(`&after=${'x'.repeat(10_001)}`), 400, 'ValidationError', /^after must have at most 10000/)

    const query = parseListQuery(other.schema, { sort: 'rank:asc', filters: { 'rank[gte]': ['4'] }, after: '' })
    const forged: [keys: unknown[], itsId: unknown][] = [
      [['n1'], '0'], // before the range
      [['n0'], 'x\u0000'],
      [[5], '0'],
      [[null], '0'],
      [['\ud800'], '0'],
      [['z', 'z'], '0'],
      [[], '0'],
      [['z'], 5],
      [['z'], { a: 1 }],
    ]
    for (const [keys, itsId] of forged) {
      const after = writeCursor([id], query, { keys: keys as string[], id: itsId as string })
      assertFailure(await read(`&sort=rank:asc&filters[rank][gte]=4&after=${after}`), 400, 'ValidationError', bad)
    }
  })

  it('answers any text as a cursor with 200 or 400', async () => {
    const { read } = await withItems()
    const { nextCursor } = (await read('&after=&limit=2&sort=rank:asc,createdAt:desc')).json().data
    const parts = JSON.parse(Buffer.from(nextCursor, 'base64url').toString())
    const key = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.double(), fc.integer(), fc.constant(null))
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const texts = fc.oneof(
      fc.string({ maxLength: 200 }),
      fc.base64String({ maxLength: 200 }),
      fc.json().map((text) => Buffer.from(text).toString('base64url')),
      fc.tuple(key, key, key).map((keys) => encode([parts[0], parts[1], ...keys])),
    )
    await fc.assert(
      fc.asyncProperty(texts, async (after) => {
        const { statusCode, body } = await read(`&sort=rank:asc,createdAt:desc&after=${encodeURIComponent(after)}`)
        assert.ok(statusCode === 200 || statusCode === 400, body)
      }),
      { numRuns: 100 },
    )
  })

  it('fits long keys and control characters into a cursor', async () => {
    const created = await harness(engine)
    const group = await created.newGroup()
    const names = ['a', 'b', 'c', 'd', 'e']
    const collection = await group.collection('Long', Object.fromEntries(names.map((name) => [name, { type: 'text' }])))
    const long = (end: string) => Object.fromEntries(names.map((name) => [name, `${'\u0001'.repeat(300)}${end}`]))
    await group.add(collection, ...['x', 'y', 'z'].map((end) => ({ value: long(end) })))
    const url = `/tenant/collectionObjects?collectionId=${collection.id}&limit=1&sort=${names.map((name) => `${name}:asc`).join()}`
    const seen: string[] = []
    for (let after: string | null = ''; after !== null; ) {
      const answer = await group.get(`${url}&after=${after}`)
      assert.equal(answer.statusCode, 200, answer.body)
      seen.push(answer.json().data.items[0]._id)
      after = answer.json().data.nextCursor
    }
    assert.equal(new Set(seen).size, 3)
  })
})
