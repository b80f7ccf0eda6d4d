import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import type { CompiledQuery } from 'kysely'
import { parseListQuery } from '../../src/content/list-query.ts'
import type { Container } from '../../src/content/model.ts'
import { parseSchema } from '../../src/content/schema.ts'
import { deleteObjects } from '../../src/store/change-objects.ts'
import { changeSchema } from '../../src/store/change-schema.ts'
import { type ContentMemory, createContentMemory } from '../../src/store/content-memory.ts'
import { type Database, seenBy } from '../../src/store/database.ts'
import type { GroupStore } from '../../src/store/groups.ts'
import { listVisible } from '../../src/store/list-visible.ts'
import { findObject } from '../../src/store/objects.ts'
import { sqliteFileOf } from '../../src/store/open.ts'
import { readAtOneRevision, readRevision } from '../../src/store/revisions.ts'
import type { ContentTables } from '../../src/store/tables.ts'
import { write } from '../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine, type TestGroup, testStartMs } from '../helpers/harness.ts'

const schema = { title: { type: 'text' }, n: { type: 'integer' } }
const titlesPerPage = 5

/** A collection of twelve, two of which are still to come. */
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

async function list(store: GroupStore, memory: ContentMemory, { id }: Container, asked: Asked, nowMs: number) {
  const { objects, ...rest } = await readAtOneRevision(store, memory, (group, remembered) =>
    listVisible(
      group,
      remembered,
      { kind: 'collection', id },
      (container) => parseListQuery(container.schema, { limit: titlesPerPage, sort: 'n:asc', ...asked }),
      nowMs,
    ),
  )
  return { numbers: objects.map(({ valueText }) => JSON.parse(valueText).n), ...rest }
}

/** The same database, with a look at what is asked of it. */
function watching({ groupId, database }: GroupStore, onStatement: (text: string) => unknown) {
  const watched: Database<ContentTables> = {
    ...database,
    readValues: async (...statement) => {
      await onStatement(statement[0])
      return database.readValues(...statement)
    },
    readAside: async (...statement) => {
      await onStatement(statement[0])
      return database.readAside(...statement)
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

onBothEngines('a listing with a memory', (engine) => {
  it('is one statement when everything is remembered, on every page', async () => {
    const { group, collection } = await fill(engine)
    let statements = 0
    const store = watching(group.store, () => {
      statements += 1
    })
    const memory = createContentMemory()
    const ask = async (skip: number) => {
      statements = 0
      const { numbers } = await list(store, memory, collection, { skip, filters: { title: ['even'] } }, testStartMs)
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
    for (const place of [
      { kind: 'collection', id: collection.id },
      { kind: 'integration', name: 'stripe' },
    ] as const) {
      const read = (store: GroupStore, memory: ContentMemory) =>
        listVisible(
          store,
          memory,
          place,
          (found) => parseListQuery(found.schema, { limit: 3, sort: 'n:desc' }),
          testStartMs,
        )
      const expected = await read(group.store, createContentMemory())
      assert.equal(expected.objects.length, 3)
      await group.store.database.snapshot(async (db) => {
        const memory = createContentMemory()
        const seen = { ...group.store, database: seenBy(db, group.store.database) }
        // The third time its objects are read by the ids that are remembered.
        for (let time = 1; time <= 3; time++) assert.deepEqual(await read(seen, memory), expected, `time ${time}`)
      })
    }
  })

  it('sees what somebody else wrote, also where it only has to remember', async () => {
    const { group, collection } = await fill(engine)
    const memory = createContentMemory()
    const ask = (asked: Asked = {}) => list(group.store, memory, collection, asked, testStartMs)
    for (let time = 0; time < 3; time++) assert.deepEqual((await ask()).numbers, [0, 1, 2, 3, 4])
    assert.equal((await ask({ skip: 50 })).totalCount, 10)
    await addItem(group, collection, -1) // without a word to the memory
    const after = await ask({ skip: 50 })
    assert.deepEqual([after.totalCount, after.numbers], [11, []])
    assert.deepEqual((await ask()).numbers, [-1, 0, 1, 2, 3])
    assert.equal((await ask()).revision, await readRevision(group.store))
  })

  it('sees that the page it remembers is not there any more', async () => {
    const { group, collection } = await fill(engine)
    const [last] = await addItem(group, collection, 20)
    const memory = createContentMemory()
    const askLast = () => list(group.store, memory, collection, { skip: 10 }, testStartMs)
    assert.deepEqual((await askLast()).numbers, [20])
    await write(group.store, testStartMs, async (writer) => {
      const found = await findObject(writer.group, last?.id ?? '')
      assert.ok(found)
      await deleteObjects(writer, [{ containerId: collection.id, object: found.object }])
    })
    const { numbers, totalCount } = await askLast()
    assert.deepEqual([numbers, totalCount], [[], 10])
  })

  it('refuses or accepts a field by the schema as it is, not as it is remembered', async () => {
    const { group, collection } = await fill(engine)
    const memory = createContentMemory()
    const ask = (asked: Asked) => list(group.store, memory, collection, asked, testStartMs)
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
    const memory = createContentMemory()
    const ask = async (nowMs: number) => {
      const { totalCount, untilMs } = await list(group.store, memory, collection, {}, nowMs)
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

  it('is of one revision, also when somebody writes between any two of its statements', async () => {
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
      const memory = createContentMemory()
      const found = await list(store, memory, collection, { sort: 'n:desc' }, testStartMs)
      left = 0
      // Each write adds one item, which comes first: a list of one revision has as many items as its first one says.
      const newest = Math.max(...found.numbers)
      const expected = newest > 100 ? newest - 100 : 0
      assert.equal(found.totalCount, 10 + expected, `${writes} writes`)
      assert.equal(found.numbers[0], newest)
    }
    assert.ok(written > 10, 'somebody did write')
  })

  it('says that there is no such collection, and finds it once it is there', async () => {
    const { group } = await fill(engine)
    const memory = createContentMemory()
    const find = (name: string) =>
      listVisible(
        group.store,
        memory,
        { kind: 'integration', name },
        (container) => parseListQuery(container.schema, {}),
        testStartMs,
      )
    const before = await find('stripe')
    assert.equal(before.container, undefined)
    assert.equal(before.revision, await readRevision(group.store))
    await group.integration('stripe', schema)
    const after = await find('stripe')
    assert.equal(after.container?.name, 'stripe')
    assert.equal(after.revision, before.revision + 1)
  })
})

it('a listing with a memory is right when SQLite has given its rows other numbers', async () => {
  const created = await harness('sqlite')
  const group = await created.newGroup()
  const collection = await group.collection('Items', schema)
  await group.add(collection, ...Array.from({ length: 8 }, (_, n) => ({ value: { title: 'even', n } })))
  let statements: string[] = []
  const store = watching(group.store, (text) => statements.push(text))
  const memory = createContentMemory()
  const ask = async () => {
    statements = []
    return (await list(store, memory, collection, { skip: 1 }, testStartMs)).numbers
  }
  for (let round = 0; round < 3; round += 1) assert.deepEqual(await ask(), [1, 2, 3, 4, 5])
  const byNumber = statements
  assert.equal(byNumber.length, 1)
  assert.match(byNumber[0] ?? '', /o\.rowid = /)
  const file = new DatabaseSync(sqliteFileOf(created.config.dataDir, group.group.database))
  file.exec('update objects set rowid = -rowid; update objects set rowid = 9 + rowid') // `vacuum` may do the like
  file.close()
  assert.deepEqual(await ask(), [1, 2, 3, 4, 5])
  assert.equal(statements.length, 2, 'by numbers that are wrong now, and by ids')
  assert.deepEqual(await ask(), [1, 2, 3, 4, 5])
  assert.deepEqual(statements, byNumber)
})
