import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CompiledQuery } from 'kysely'
import { parseListQuery } from '../../../src/content/list-query.ts'
import type { Container } from '../../../src/content/model.ts'
import type { Database } from '../../../src/store/engine/database.ts'
import { createContentCache } from '../../../src/store/lists/content-cache.ts'
import { listObjectsInState } from '../../../src/store/lists/list-objects.ts'
import { findContainerToList, listVisible } from '../../../src/store/lists/list-visible.ts'
import { readAtOneRevision } from '../../../src/store/lists/reading.ts'
import type { ContentTables } from '../../../src/store/schema/tables.ts'
import type { GroupStore } from '../../../src/store/store.ts'
import { createSite } from '../../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine, testStartMs } from '../../helpers/harness.ts'

const schema = { title: { type: 'text' }, body: { type: 'longText' }, n: { type: 'integer' } }

interface Statement {
  text: string
  isAside: boolean
  rows: object[]
}

/** The same group, with its statements recorded. */
function watch({ groupId, database }: GroupStore): { store: GroupStore; statements: Statement[] } {
  const statements: Statement[] = []
  const watched: Database<ContentTables> = {
    ...database,
    async readRowArrays(text, parameters) {
      const rows = await database.readRowArrays(text, parameters)
      statements.push({ text, isAside: false, rows })
      return rows
    },
    async readLong(text, parameters, whose) {
      const rows = await database.readLong<never>(text, parameters, whose)
      statements.push({ text, isAside: true, rows })
      return rows
    },
    read: new Proxy(database.read, {
      get(read, name) {
        if (name === 'executeQuery')
          return async (query: CompiledQuery<object>) => {
            const result = await read.executeQuery(query)
            statements.push({ text: query.sql, isAside: false, rows: result.rows })
            return result
          }
        const found = Reflect.get(read, name, read)
        return typeof found === 'function' ? found.bind(read) : found
      },
    }),
  }
  return { store: { groupId, database: watched }, statements }
}

/** Searched content: few objects with long texts, and many with short ones. */
async function fill(
  engine: TestEngine,
  { long, short, isIndexed = true }: { long: number; short: number; isIndexed?: boolean },
) {
  const created = await harness(engine)
  const group = await created.newGroup()
  const collection = await group.collection('Items', schema)
  for (let n = 0; n < long; n += 1)
    await group.add(collection, { value: { title: 'long', body: 'a'.repeat(400_000), n } })
  const shorts = Array.from({ length: short }, (_, n) => ({
    value: { title: n % 3 === 0 ? 'third' : 'other', n: n % 2 },
    ...(n % 5 === 0 && { archived: true }),
  }))
  if (short > 0) await group.add(collection, ...shorts)
  if (!isIndexed)
    await group.store.database.write((db) => db.updateTable('search_containers').set({ filled_to: '' }).execute())
  return { created, group, collection }
}

const list = (store: GroupStore, { id }: Container, parameters: object, cache = createContentCache()) =>
  readAtOneRevision(store, cache, testStartMs, async (reading) => {
    const found = await findContainerToList(reading, { kind: 'collection', id })
    assert.ok(found)
    return listVisible(reading, found, parseListQuery(found.container.schema, { limit: 5, ...parameters }))
  })

const readsTexts = ({ text }: Statement): boolean => /search_text|\.words/.test(text)

onBothEngines('a search', (engine) => {
  for (const isIndexed of [true, false])
    describe(isIndexed ? 'in the index' : 'without the index', () => {
      it('reads texts separately, in statements of limited size', async () => {
        const { group, collection } = await fill(engine, { long: 12, short: 0, isIndexed })
        const { store, statements } = watch(group.store)
        const word = isIndexed ? 'bb' : `${'a'.repeat(199)}b` // has no trigram, or is sought in vain
        const found = await list(store, collection, { search: word })
        const edited = await listObjectsInState(
          store,
          collection,
          parseListQuery(collection.schema, { search: word, limit: 5 }),
          {},
          testStartMs,
        )
        assert.deepEqual([found.totalCount, edited.totalCount], [0, 0])
        const pieces = statements.filter(readsTexts)
        assert.ok(pieces.every(({ isAside }) => isAside))
        assert.equal(pieces.length, 2 * 4, 'three texts of 400,000 characters are more than a million')
        assert.ok(pieces.every(({ rows }) => (rows[0] as { looked_at: number }).looked_at === 3))
      })

      it('finds the same in many parts as in one, on every page, and searches once', async () => {
        const { group, collection } = await fill(engine, { long: 2, short: 4100, isIndexed })
        const { store, statements } = watch(group.store)
        const cache = createContentCache()
        const isWanted = (n: number): boolean => n % 3 === 0 && n % 5 !== 0 && n % 2 === 1
        const total = Array.from({ length: 4100 }, (_, n) => n).filter(isWanted).length
        const ask = (skip: number) =>
          list(store, collection, { search: 'TH ird', filters: { n: ['1'] }, sort: '_id:asc', skip }, cache)
        const seen = new Set<string>()
        for (let skip = 0; skip < total; skip += 5) {
          const { objects, totalCount } = await ask(skip)
          assert.equal(totalCount, total)
          for (const { id, valueText } of objects) {
            assert.equal(JSON.parse(valueText).title, 'third')
            seen.add(id)
          }
          if (skip >= 100) break
        }
        assert.equal(seen.size, 105)
        assert.equal(statements.filter(readsTexts).length, isIndexed ? 1 : 3)
      })
    })

  it('finds the given objects, and nothing in an empty collection', async () => {
    const { group, collection } = await fill(engine, { long: 1, short: 10 })
    const { objects } = await list(group.store, collection, {})
    const ids = objects.map(({ id }) => id)
    const some = await list(group.store, collection, { search: 'third', filters: { _id: ids } })
    assert.equal(some.totalCount, objects.filter(({ valueText }) => valueText.includes('third')).length)
    assert.equal((await list(group.store, collection, { search: 'zebra' })).totalCount, 0)
    const empty = await group.collection('Empty', schema)
    assert.equal((await list(group.store, empty, { search: 'third' })).totalCount, 0)
  })

  it('waits for earlier ones of its group, of which at most fifty may wait; those of other groups do not', async () => {
    const { created, group } = await fill(engine, { long: 0, short: 0 })
    const other = await created.newGroup()
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const { withLongReadPermit } = group.store.database
    const inTurn = withLongReadPermit(group.group.id, () => held)
    const waiting = Array.from({ length: 50 }, (_, n) => withLongReadPermit(group.group.id, async () => n))
    await assert.rejects(
      withLongReadPermit(group.group.id, async () => {}),
      { code: 'Unavailable', retryAfterSeconds: 1 },
    )
    const items = await other.collection('Items', schema)
    await other.add(items, { value: { title: 'there' } })
    assert.equal((await list(other.store, items, { search: 'there' })).totalCount, 1)
    await createSite(group.store, { name: 'S', domainName: 'a.example', settings: {} }, testStartMs)
    letGo()
    await inTurn
    assert.deepEqual(
      await Promise.all(waiting),
      waiting.map((_, n) => n),
    )
  })
})
