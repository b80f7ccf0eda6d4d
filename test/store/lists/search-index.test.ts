import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { searchWordsOf } from '../../../src/content/index-keys.ts'
import { parseListQuery } from '../../../src/content/list-query.ts'
import type { Container, StoredObject } from '../../../src/content/model.ts'
import { searchByTrigrams, trigramsOf } from '../../../src/content/trigrams.ts'
import { changeObject, deleteObjects } from '../../../src/store/content/change-objects.ts'
import { deleteContainer } from '../../../src/store/content/containers.ts'
import { fillSearchIndex } from '../../../src/store/content/fill-search-index.ts'
import { listObjectsInState } from '../../../src/store/lists/list-objects.ts'
import type { GroupStore } from '../../../src/store/store.ts'
import { write } from '../../helpers/authoring.ts'
import { harness, onBothEngines, testStartMs } from '../../helpers/harness.ts'
import { assertSearchIndexIsRight } from '../../helpers/search-index.ts'

const schema = { title: { type: 'text' }, body: { type: 'text' } }
/** Parts of words: operators and wildcards of FTS5 and LIKE, CJK, accents, an emoji of two code units. */
const parts = [
  'ab',
  'c',
  '日本',
  '語',
  'é',
  'É',
  '"',
  "'",
  '%',
  '_',
  '*',
  '\\',
  ' ',
  '-',
  'NOT',
  'a*',
  '(',
  '😀',
  '^',
  ':',
  'NEAR(',
  ' OR ',
  ' ',
  ' ',
]
const text = fc.array(fc.constantFrom(...parts), { maxLength: 12 }).map((some) => some.join(''))
const value = fc.record({ title: text, body: text })

const list = async (store: GroupStore, { id, schema: of }: Container, search: string): Promise<StoredObject[]> => {
  const container = { id, schema: of } as Container
  return (await listObjectsInState(store, container, parseListQuery(of, { search }), {}, testStartMs)).objects
}

const hasWords = (search: string, { title, body }: Record<string, unknown>): boolean => {
  const all = `${title}\n${body}`.normalize('NFC').toLowerCase()
  return searchWordsOf(search).every((word) => all.includes(word))
}

onBothEngines('the search index', (engine) => {
  it('finds the same as a plain array, for any text, after any changes, and while it is being filled', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    await fc.assert(
      fc.asyncProperty(
        fc.array(value, { minLength: 1, maxLength: 12 }),
        fc.array(fc.tuple(fc.nat(11), fc.option(value)), { maxLength: 6 }),
        fc.array(text, { minLength: 3, maxLength: 8 }),
        fc.boolean(),
        async (values, changes, searches, isFilled) => {
          const collection = await group.collection('Items', schema)
          let objects = await group.add(collection, ...values.map((each) => ({ value: each })))
          for (const [at, changed] of changes) {
            const object = objects[at]
            if (!object) continue
            if (changed) {
              const after = await write(group.store, testStartMs, (writer) =>
                changeObject(writer, collection, object, { value: changed, archived: !object.archived }, 'updated'),
              )
              objects = objects.with(at, after)
            } else {
              await write(group.store, testStartMs, (writer) =>
                deleteObjects(writer, [{ containerId: collection.id, object }]),
              )
              objects = objects.toSpliced(at, 1)
            }
          }
          await assertSearchIndexIsRight(group.store)
          if (!isFilled)
            await group.store.database.write((db) =>
              db.updateTable('search_containers').set({ filled_to: '' }).execute(),
            )
          for (const search of searches) {
            const found = await list(group.store, collection, search)
            const wanted = objects.filter((object) => hasWords(search, object.value))
            assert.deepEqual(found.map(({ id }) => id).toSorted(), wanted.map(({ id }) => id).toSorted(), search)
          }
          if (!isFilled) await fillSearchIndex(group.store)
          await assertSearchIndexIsRight(group.store)
          await write(group.store, testStartMs, (writer) => deleteContainer(writer, collection))
        },
      ),
      { numRuns: 40 },
    )
    const { read } = group.store.database
    assert.deepEqual(await read.selectFrom('search_entries').selectAll().execute(), [])
    assert.deepEqual(await read.selectFrom('search_containers').selectAll().execute(), [])
  })

  it('is filled step by step: what is written meanwhile is indexed once, and an interruption loses nothing', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const collection = await group.collection('Items', schema)
    const values = Array.from({ length: 250 }, (_, n) => ({ value: { title: `item ${n}`, body: 'x'.repeat(100) } }))
    const objects = await group.add(collection, ...values)
    const { database } = group.store
    await database.write(async (db) => {
      await db.deleteFrom('search_entries').execute()
      await db.updateTable('search_containers').set({ filled_to: '' }).execute()
    })
    const controller = new AbortController()
    const { write: writeNow } = database
    let steps = 0
    const interrupted: GroupStore = {
      ...group.store,
      database: {
        ...database,
        async write(work, whose) {
          const result = await writeNow(work, whose)
          steps += 1
          controller.abort()
          return result
        },
      },
    }
    await assert.rejects(fillSearchIndex(interrupted, controller.signal))
    assert.equal(steps, 1)
    const [first, last] = [objects[0], objects.at(-1)]
    assert.ok(first && last)
    for (const object of [first, last])
      await write(group.store, testStartMs, (writer) =>
        changeObject(writer, collection, object, { value: { title: 'changed' } }, 'updated'),
      )
    await group.add(collection, { value: { title: 'changed' } })
    assert.equal((await list(group.store, collection, 'changed')).length, 3)
    await fillSearchIndex(group.store)
    await assertSearchIndexIsRight(group.store)
    assert.equal((await list(group.store, collection, 'changed')).length, 3)
    assert.equal((await list(group.store, collection, 'item 24')).length, 12)
  })
})

describe('trigramsOf', () => {
  it('takes a limited number of them from long words, and none from short ones', () => {
    assert.deepEqual(trigramsOf(['loaf', 'rye', 'of', '😀a😀']), ['loa', 'oaf', 'rye', '😀a😀'])
    const long = Array.from({ length: 200 }, (_, n) => String.fromCharCode(0x4e00 + n)).join('')
    const trigrams = trigramsOf([long])
    assert.ok(trigrams.length > 12 && trigrams.length <= 24)
    assert.ok(trigrams.every((trigram) => long.includes(trigram)))
  })
})

describe('searchByTrigrams', () => {
  it('uses the rarest trigrams, and knows a word of three characters for certain', () => {
    const counts = new Map(Object.entries({ loa: 900, oaf: 2000, '987': 3, '876': 20 }))
    assert.deepEqual(searchByTrigrams(['loaf', '9876', '987', 'of'], counts), {
      trigrams: ['987', '876'],
      uncertain: ['loaf', '9876', 'of'],
    })
  })

  it('uses several that are equally frequent, up to a limit', () => {
    const counts = new Map(Array.from({ length: 24 }, (_, n) => [`${100 + n}`, 1000 + n]))
    const { trigrams } = searchByTrigrams(['word'], counts)
    assert.deepEqual(trigrams, ['100', '101', '102', '103', '104', '105'])
  })
})
