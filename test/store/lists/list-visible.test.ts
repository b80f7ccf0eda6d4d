import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import type { CompiledQuery } from 'kysely'
import { type ListParameters, parseListQuery } from '../../../src/content/list-query.ts'
import type { Container } from '../../../src/content/model.ts'
import { parseSchema } from '../../../src/content/parse-schema.ts'
import { deleteObjects } from '../../../src/store/content/change-objects.ts'
import { changeSchema } from '../../../src/store/content/change-schema.ts'
import type { ContainerRef } from '../../../src/store/content/containers.ts'
import { findObject } from '../../../src/store/content/objects.ts'
import { readRevision } from '../../../src/store/content/revisions.ts'
import { type Database, insideTransaction } from '../../../src/store/engine/database.ts'
import { type ContentCache, createContentCache } from '../../../src/store/lists/content-cache.ts'
import { findContainerToList, listVisible } from '../../../src/store/lists/list-visible.ts'
import { readAtOneRevision } from '../../../src/store/lists/reading.ts'
import type { ContentTables } from '../../../src/store/schema/tables.ts'
import { type GroupStore, sqlitePath } from '../../../src/store/store.ts'
import { write } from '../../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine, type TestGroup, testStartMs } from '../../helpers/harness.ts'

const schema = { title: { type: 'text' }, n: { type: 'integer' } }
const titlesPerPage = 5

/** A collection of twelve, two of which are scheduled. */
async function fill(engine: TestEngine) {
  const created = await harness(engine)
  const group = await created.newGroup()
  const collection = await group.collection('Items', schema)
  const items = Array.from({ length: 12 }, (_, n) => ({
    value: { title: n % 2 === 0 ? 'even' : 'odd', n },
    ...(n >= 10 && { publishMs: testStartMs + (n - 9) * 1000 }),
  }))
  await group.add(collection, ...items)
  return { created, group, collection }
}

interface Asked {
  filters?: Record<string, string[]>
  sort?: string
  skip?: number
  search?: string
}

const find = (store: GroupStore, cache: ContentCache, ref: ContainerRef, asked: ListParameters, nowMs: number) =>
  readAtOneRevision(store, cache, nowMs, async (reading) => {
    const found = await findContainerToList(reading, ref)
    const list = found && (await listVisible(reading, found, parseListQuery(found.container.schema, asked)))
    return { list, revision: reading.revision }
  })

async function list(store: GroupStore, cache: ContentCache, { id }: Container, asked: Asked, nowMs: number) {
  const parameters = { limit: titlesPerPage, sort: 'n:asc', ...asked }
  const found = await find(store, cache, { kind: 'collection', id }, parameters, nowMs)
  assert.ok(found.list)
  const { objects, ...rest } = found.list
  return { numbers: objects.map(({ valueText }) => JSON.parse(valueText).n), ...rest, revision: found.revision }
}

/** The same database, with its statements recorded. */
function watching({ groupId, database }: GroupStore, onStatement: (text: string) => unknown) {
  const watched: Database<ContentTables> = {
    ...database,
    readRowArrays: async (...statement) => {
      await onStatement(statement[0])
      return database.readRowArrays(...statement)
    },
    readLong: async (...statement) => {
      await onStatement(statement[0])
      return database.readLong(...statement)
    },
    read: new Proxy(database.read, {
      get(read, name) {
        if (name === 'executeQuery')
          return async (query: CompiledQuery) => {
            await onStatement(query.sql)
            return read.executeQuery(query)
          }
        const found = Reflect.get(read, name, read)
        return typeof found === 'function' ? found.bind(read) : found
      },
    }),
  }
  return { groupId, database: watched }
}

const addItem = (group: TestGroup, collection: Container, n: number) =>
  group.add(collection, { value: { title: 'new', n } })

onBothEngines('a cached listing', (engine) => {
  it('is one statement when everything is cached, on every page', async () => {
    const { group, collection } = await fill(engine)
    let statements = 0
    const store = watching(group.store, () => {
      statements += 1
    })
    const cache = createContentCache()
    const ask = async (skip: number) => {
      statements = 0
      const { numbers } = await list(store, cache, collection, { skip, filters: { title: ['even'] } }, testStartMs)
      return { numbers, statements }
    }
    assert.deepEqual((await ask(0)).numbers, [0, 2, 4, 6, 8])
    await ask(2)
    assert.deepEqual(await ask(0), { numbers: [0, 2, 4, 6, 8], statements: 1 })
    assert.deepEqual(await ask(3), { numbers: [6, 8], statements: 1 })
    assert.deepEqual(await ask(5), { numbers: [], statements: 1 })
    assert.deepEqual(await ask(500), { numbers: [], statements: 1 })
  })

  it('is the same from a snapshot, of items and of products', async () => {
    const { group, collection } = await fill(engine)
    const products = await group.integration('stripe', schema)
    const added = Array.from({ length: 4 }, (_, n) => ({ value: { title: 'p', n }, externalId: `prod_${n}` }))
    await group.add(products, ...added)
    for (const ref of [
      { kind: 'collection', id: collection.id },
      { kind: 'integration', name: 'stripe' },
    ] as const) {
      const read = (store: GroupStore, cache: ContentCache) =>
        find(store, cache, ref, { limit: 3, sort: 'n:desc' }, testStartMs)
      const expected = await read(group.store, createContentCache())
      assert.equal(expected.list?.objects.length, 3)
      await group.store.database.snapshot(async (db) => {
        const cache = createContentCache()
        const seen = { ...group.store, database: insideTransaction(db, group.store.database) }
        // The third time its objects are read by the cached ids.
        for (let time = 1; time <= 3; time++) assert.deepEqual(await read(seen, cache), expected, `time ${time}`)
      })
    }
  })

  it('sees what another process wrote, also where everything is cached', async () => {
    const { group, collection } = await fill(engine)
    const cache = createContentCache()
    const ask = (asked: Asked = {}) => list(group.store, cache, collection, asked, testStartMs)
    for (let time = 0; time < 3; time++) assert.deepEqual((await ask()).numbers, [0, 1, 2, 3, 4])
    assert.equal((await ask({ skip: 50 })).totalCount, 10)
    await addItem(group, collection, -1) // without notifying the cache
    const after = await ask({ skip: 50 })
    assert.deepEqual([after.totalCount, after.numbers], [11, []])
    assert.deepEqual((await ask()).numbers, [-1, 0, 1, 2, 3])
    assert.equal((await ask()).revision, await readRevision(group.store))
  })

  it('sees that a cached page no longer exists', async () => {
    const { group, collection } = await fill(engine)
    const [last] = await addItem(group, collection, 20)
    const cache = createContentCache()
    const askLast = () => list(group.store, cache, collection, { skip: 10 }, testStartMs)
    assert.deepEqual((await askLast()).numbers, [20])
    await write(group.store, testStartMs, async (writer) => {
      const found = await findObject(writer.group, last?.id ?? '')
      assert.ok(found)
      await deleteObjects(writer, [{ containerId: collection.id, object: found.object }])
    })
    const { numbers, totalCount } = await askLast()
    assert.deepEqual([numbers, totalCount], [[], 10])
  })

  it('refuses or accepts a field by the current schema, not by the cached one', async () => {
    const { group, collection } = await fill(engine)
    const cache = createContentCache()
    const ask = (asked: Asked) => list(group.store, cache, collection, asked, testStartMs)
    await ask({})
    await assert.rejects(ask({ sort: 'rank:asc' }), /cannot be used here/)
    const change = { schema: parseSchema({ ...schema, rank: { type: 'integer' } }), renames: {}, defaults: { rank: 7 } }
    await write(group.store, testStartMs, (writer) => changeSchema(writer, collection, change, { allowLoss: false }))
    assert.equal((await ask({ sort: 'rank:asc' })).totalCount, 10)
    const removed = { schema: parseSchema(schema), renames: {}, defaults: {} }
    const now = { ...collection, schema: change.schema, version: 2 }
    await write(group.store, testStartMs, (writer) => changeSchema(writer, now, removed, { allowLoss: true }))
    await assert.rejects(ask({ sort: 'rank:asc' }), /cannot be used here/)
  })

  it('changes at the millisecond of a publish date, and back when the clock is set back', async () => {
    const { group, collection } = await fill(engine)
    const cache = createContentCache()
    const ask = async (nowMs: number) => {
      const { totalCount, untilMs } = await list(group.store, cache, collection, {}, nowMs)
      return { totalCount, untilMs }
    }
    const [first, second] = [testStartMs + 1000, testStartMs + 2000]
    for (let time = 0; time < 2; time++) {
      assert.deepEqual(await ask(testStartMs), { totalCount: 10, untilMs: first })
      assert.deepEqual(await ask(first - 1), { totalCount: 10, untilMs: first })
      assert.deepEqual(await ask(first), { totalCount: 11, untilMs: second })
      assert.deepEqual(await ask(second - 1), { totalCount: 11, untilMs: second })
      assert.deepEqual(await ask(second), { totalCount: 12, untilMs: Number.POSITIVE_INFINITY })
    }
    assert.deepEqual(await ask(testStartMs - 5), { totalCount: 10, untilMs: first })
  })

  it('is of one revision, also when content is written between any two of its statements', async () => {
    const { group, collection } = await fill(engine)
    let [written, left] = [0, 0]
    const store = watching(group.store, async () => {
      if (left === 0) return
      left -= 1
      written += 1
      await addItem(group, collection, 100 + written)
    })
    for (const writes of [1, 2, 3, 4, 50]) {
      left = writes
      const cache = createContentCache()
      const found = await list(store, cache, collection, { sort: 'n:desc' }, testStartMs)
      left = 0
      // Each write adds one item, which comes first and contains the number of items at its revision.
      const newest = Math.max(...found.numbers)
      const expected = newest > 100 ? newest - 100 : 0
      assert.equal(found.totalCount, 10 + expected, `${writes} writes`)
      assert.equal(found.numbers[0], newest)
    }
    assert.ok(written > 10, 'there were concurrent writes')
  })

  it('does not find a missing container, and finds it once it exists', async () => {
    const { group } = await fill(engine)
    const cache = createContentCache()
    const findStripe = () => find(group.store, cache, { kind: 'integration', name: 'stripe' }, {}, testStartMs)
    const before = await findStripe()
    assert.equal(before.list, undefined)
    assert.equal(before.revision, await readRevision(group.store))
    await group.integration('stripe', schema)
    const after = await findStripe()
    assert.equal(after.list?.container.name, 'stripe')
    assert.equal(after.revision, before.revision + 1)
  })
})

it('a cached listing is right when SQLite has renumbered its rows', async () => {
  const created = await harness('sqlite')
  const group = await created.newGroup()
  const collection = await group.collection('Items', schema)
  await group.add(collection, ...Array.from({ length: 8 }, (_, n) => ({ value: { title: 'even', n } })))
  let statements: string[] = []
  const store = watching(group.store, (text) => statements.push(text))
  const cache = createContentCache()
  const ask = async () => {
    statements = []
    return (await list(store, cache, collection, { skip: 1 }, testStartMs)).numbers
  }
  for (let round = 0; round < 3; round += 1) assert.deepEqual(await ask(), [1, 2, 3, 4, 5])
  const byNumber = statements
  assert.equal(byNumber.length, 1)
  assert.match(byNumber[0] ?? '', /o\.rowid = /)
  const file = new DatabaseSync(sqlitePath(created.config.dataDir, group.group.database))
  file.exec('update objects set rowid = -rowid; update objects set rowid = 9 + rowid') // like `vacuum` may do
  file.close()
  assert.deepEqual(await ask(), [1, 2, 3, 4, 5])
  assert.equal(statements.length, 2, 'by outdated row numbers, and by ids')
  assert.deepEqual(await ask(), [1, 2, 3, 4, 5])
  assert.deepEqual(statements, byNumber)
})
