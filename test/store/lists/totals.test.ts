import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { Filter } from '../../../src/content/filters.ts'
import { parseListQuery } from '../../../src/content/list-query.ts'
import { type Container, draftPublishMs, isVisible, type StoredObject } from '../../../src/content/model.ts'
import { parseSchema } from '../../../src/content/parse-schema.ts'
import { changeObjects, deleteObjects } from '../../../src/store/content/change-objects.ts'
import { addFields, changeSchema } from '../../../src/store/content/change-schema.ts'
import { deleteContainer, findContainerById } from '../../../src/store/content/containers.ts'
import { iterateObjects, type NewObject } from '../../../src/store/content/objects.ts'
import { deleteGroupContent, purgeContainer } from '../../../src/store/content/purge.ts'
import { readRevision } from '../../../src/store/content/revisions.ts'
import { rawReader } from '../../../src/store/engine/database.ts'
import { countMatches } from '../../../src/store/lists/list-objects.ts'
import { hasStoredTotal, storedTotal } from '../../../src/store/lists/totals.ts'
import { write } from '../../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine, type TestGroup, testStartMs } from '../../helpers/harness.ts'
import { assertTotalsAreRight, readStoredTotal } from '../../helpers/totals.ts'

const schema = {
  category: { type: 'text' },
  rank: { type: 'integer' },
  tags: { type: 'list', of: { type: 'text' } },
  cover: { type: 'image' },
  email: { type: 'text', private: true },
}
const hourMs = 3_600_000
const scheduledMs = testStartMs + hourMs

async function posts(engine: TestEngine) {
  const created = await harness(engine)
  const group = await created.newGroup()
  const collection = await group.collection('Posts', schema)
  const total = async (filter?: { field: string; keys: string[] }, nowMs = created.clock.now) =>
    (await readStoredTotal(group.store, collection.id, filter, nowMs)).total
  return { ...created, group, collection, total }
}

const value = fc.record(
  {
    category: fc.constantFrom('a', 'b', 'A', '', 'ä'),
    rank: fc.integer({ min: 0, max: 2 }),
    tags: fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 }),
    email: fc.constantFrom('ann@example.org', 'bob@example.org'),
  },
  { requiredKeys: [] },
)
const publishMs = fc.constantFrom(0, testStartMs - 1, testStartMs, scheduledMs, scheduledMs + 1, draftPublishMs)
const archived = fc.boolean()
const nth = fc.nat({ max: 1000 })

type Step = (group: TestGroup, containerId: string) => Promise<void>

const inContainer =
  (change: (writer: Parameters<Parameters<typeof write>[2]>[0], container: Container) => Promise<unknown>): Step =>
  async (group, containerId) => {
    await write(group.store, testStartMs, async (writer) => {
      const container = await findContainerById(writer.group, containerId)
      assert.ok(container)
      await change(writer, container)
    })
  }

/** Writes to objects: created in batches, changed in value and state, converted to another schema, deleted. */
const step: fc.Arbitrary<Step> = fc.oneof(
  fc
    .array(fc.record({ value, publishMs, archived }), { minLength: 1, maxLength: 5 })
    .map((objects): Step => async (group, containerId) => {
      const container = await findContainerById(group.store, containerId)
      assert.ok(container)
      const fitting = objects.map((object): NewObject => ({
        ...object,
        value: Object.fromEntries(Object.entries(object.value).filter(([name]) => container.schema.has(name))),
      }))
      await group.add(container, ...fitting)
    }),
  fc.tuple(fc.array(nth, { maxLength: 4 }), fc.record({ publishMs, archived }, { requiredKeys: [] })).map(([at, wanted]) =>
    inContainer(async (writer, container) => {
      const all = await Array.fromAsync(iterateObjects(writer.group, container.id))
      const chosen = new Map(at.flatMap((n) => all[n % all.length] ?? []).map((object) => [object.id, object]))
      await changeObjects(writer, container, [...chosen.values()].map((before) => ({ before, wanted })), 'updated')
    }),
  ),
  fc.tuple(nth, fc.constantFrom('a', 'c')).map(([at, category]) =>
    inContainer(async (writer, container) => {
      const all = await Array.fromAsync(iterateObjects(writer.group, container.id))
      const before = all[at % all.length]
      if (before) await changeObjects(writer, container, [{ before, wanted: { value: { ...before.value, category } } }], 'updated')
    }),
  ),
  nth.map((at) =>
    inContainer(async (writer, container) => {
      const all = await Array.fromAsync(iterateObjects(writer.group, container.id))
      const object = all[at % all.length]
      if (object) await deleteObjects(writer, [{ containerId: container.id, object }])
    }),
  ),
  fc.boolean().map((hasRank) =>
    inContainer(async (writer, container) => {
      const { rank, ...others } = schema
      const wanted = parseSchema(hasRank ? schema : others)
      await changeSchema(writer, container, { schema: wanted, renames: {}, defaults: {} }, { allowLoss: true })
    }),
  ),
  fc.constant(
    inContainer(async (writer, container) => {
      if (!container.schema.has('extra')) await addFields(writer, container, parseSchema({ extra: { type: 'text' } }))
    }),
  ),
) // biome-ignore format: a table of steps

onBothEngines('stored totals', (engine) => {
  it('equal a recount after every write, and count exactly what is visible', async () => {
    const { group } = await posts(engine)
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        run += 1
        const { id } = await group.collection(`Posts ${run}`, schema)
        for (const take of steps) {
          await take(group, id)
          await assertTotalsAreRight(group.store)
        }
        const objects = await Array.fromAsync(iterateObjects(group.store, id))
        const valuesOf = ({ value }: StoredObject): unknown[] => [value.category, value.tags].flat()
        for (const nowMs of [testStartMs - 1, testStartMs, scheduledMs, scheduledMs + 1]) {
          const visible = objects.filter((object) => isVisible(object, nowMs))
          const totalOf = async (filter?: Filter) => (await readStoredTotal(group.store, id, filter, nowMs)).total
          assert.equal(await totalOf(), visible.length)
          for (const [field, texts] of [
            ['category', ['a']],
            ['category', ['a', 'b']],
            ['tags', ['x']],
            ['tags', ['none']],
          ] as const) {
            const matching = visible.filter((object) => valuesOf(object).some((text) => texts.includes(text as never)))
            assert.equal(await totalOf({ field, keys: texts.map((text) => `=${text}`) }), matching.length)
          }
        }
      }),
      { numRuns: 12 },
    )
  })

  it('exclude archived, draft and future objects, and include those due this millisecond', async () => {
    const { group, collection, total } = await posts(engine)
    const category = { field: 'category', keys: ['=a'] }
    for (const state of [{}, { archived: true }, { publishMs: draftPublishMs }, { publishMs: scheduledMs }])
      await group.add(collection, { value: { category: 'a' }, ...state })
    for (const filter of [undefined, category]) {
      assert.equal(await total(filter, scheduledMs - 1), 1)
      assert.equal(await total(filter, scheduledMs), 2)
      assert.equal(await total(filter, draftPublishMs - 1), 2)
    }
  })

  it('have the revision of the same moment, which is 0 before the first write', async () => {
    const { newGroup, group, collection, clock } = await posts(engine)
    const other = await newGroup()
    assert.deepEqual(
      { ...(await readStoredTotal(other.store, collection.id, undefined, clock.now)) },
      { total: 0, revision: 0 },
    )
    await group.add(collection, { value: {} })
    const { total, revision } = await readStoredTotal(group.store, collection.id, undefined, clock.now)
    assert.deepEqual([total, revision], [1, await readRevision(group.store)])
  })

  it('answer one filter only, and several values only if objects have a single one', async () => {
    const { collection } = await posts(engine)
    const asked = (parameters: object) => hasStoredTotal(collection, parseListQuery(collection.schema, parameters))
    assert.ok(asked({ filters: {} }))
    assert.ok(asked({ filters: { tags: ['x'] } }))
    assert.ok(asked({ filters: { category: ['a', 'b'] } }))
    assert.ok(!asked({ filters: { tags: ['x', 'y'] } }))
    assert.ok(!asked({ filters: { category: ['a'], tags: ['x'] } }))
    assert.ok(!asked({ filters: { _id: ['0'.repeat(24)] } }))
    assert.ok(!asked({ search: 'word' }))
  })

  it('are correct after any kind of write: upserts, moves to another container, and bulk updates', async () => {
    const { group, collection } = await posts(engine)
    const second = await group.collection('Second', schema)
    const [one] = await group.add(collection, { value: { category: 'a' } }, { value: { category: 'b' } })
    const { database } = group.store
    const row = await database.read.selectFrom('objects').selectAll().where('id', '=', one?.id ?? '').executeTakeFirstOrThrow()
    const upsert = (changed: Partial<typeof row>, ...more: (typeof row)[]) =>
      database.write((db) =>
        db
          .insertInto('objects')
          .values([{ ...row, ...changed }, ...more])
          .onConflict((conflict) =>
            conflict.column('id').doUpdateSet((eb) => ({
              archived: eb.ref('excluded.archived'),
              publish_ms: eb.ref('excluded.publish_ms'),
              container_id: eb.ref('excluded.container_id'),
            })),
          )
          .execute(),
      )
    await upsert({ archived: 1 }, { ...row, id: 'new' })
    await assertTotalsAreRight(group.store)
    await upsert({ archived: 0, container_id: second.id })
    await assertTotalsAreRight(group.store)
    await database.write((db) => db.updateTable('object_fields').set({ container_id: second.id, filter_key: '=moved' }).where('field', '=', 'category').execute())
    await assertTotalsAreRight(group.store)
    await database.write((db) => db.insertInto('objects').values(row).onConflict((conflict) => conflict.doNothing()).execute())
    await assertTotalsAreRight(group.store)
    await database.write((db) => db.updateTable('objects').set({ publish_ms: draftPublishMs }).execute())
    await assertTotalsAreRight(group.store)
    await database.write((db) => db.deleteFrom('objects').execute())
    assert.deepEqual(await database.read.selectFrom('totals').selectAll().execute(), [])
  }) // biome-ignore format: short statements

  it('are rolled back with their transaction', async () => {
    const { group, collection } = await posts(engine)
    await group.add(collection, { value: { category: 'a' } })
    const failing = write(group.store, testStartMs, async (writer) => {
      for await (const object of iterateObjects(writer.group, collection.id)) await deleteObjects(writer, [{ containerId: collection.id, object }])
      throw new Error('changed my mind')
    }) // biome-ignore format: one line reads better
    await assert.rejects(failing, /changed my mind/)
    await assertTotalsAreRight(group.store)
  })

  it('are deleted with their container, and with their group', async () => {
    const { group, collection } = await posts(engine)
    const { database } = group.store
    const objects = Array.from({ length: 700 }, (_, n) => ({ value: { category: `c${n % 7}`, rank: n } }))
    await group.add(collection, ...objects)
    const second = await group.collection('Second', schema)
    await group.add(second, ...objects.slice(0, 300))
    await write(group.store, testStartMs, (writer) => deleteContainer(writer, collection))
    await purgeContainer(group.store, collection.id)
    const left = await database.read.selectFrom('totals').select('container_id').distinct().execute()
    assert.deepEqual(left.map((row) => row.container_id), [second.id]) // biome-ignore format: short
    await assertTotalsAreRight(group.store)
    await deleteGroupContent(group.store, testStartMs, () => {})
    assert.deepEqual(await database.read.selectFrom('totals').selectAll().execute(), [])
  })

  it('are correct, without deadlocks, when many groups write concurrently', async () => {
    const { newGroup } = await harness(engine)
    const groups = await Promise.all(Array.from({ length: 6 }, () => newGroup()))
    await Promise.all(
      groups.map(async (group) => {
        const collections = [await group.collection('A', schema), await group.collection('B', schema)]
        for (let round = 0; round < 5; round += 1)
          for (const collection of collections)
            await group.add(
              collection,
              ...Array.from({ length: 20 }, (_, n) => ({ value: { category: `c${n % 3}`, tags: ['x'] } })),
            )
      }),
    )
    for (const group of groups) await assertTotalsAreRight(group.store)
  })

  it('are read by key, together with scheduled objects only', async () => {
    const { group, collection, clock } = await posts(engine)
    const { database } = group.store
    const many = Array.from({ length: 3000 }, (_, n) => ({ value: { category: `c${n % 2}` } }))
    await group.add(collection, ...many, { value: { category: 'c1' }, publishMs: scheduledMs })
    const explain = async (how: string, filter: Filter | undefined) => {
      const { text, parameters } = storedTotal(group.store, collection.id, filter, clock.now)
      return JSON.stringify(await rawReader(database.read)(how + text, how.includes('generic') ? [] : parameters))
    }
    const category = (...keys: string[]) => ({ field: 'category', keys })
    for (const filter of [undefined, category('=c1'), category('=c0', '=c1')]) {
      if (engine === 'sqlite') {
        const plan = await explain('explain query plan ', filter)
        assert.doesNotMatch(plan, /"SCAN (?!CONSTANT|to_come)/)
        assert.match(plan, /SEARCH totals USING PRIMARY KEY/)
        assert.match(plan, /archived=\? AND publish_ms>\? AND publish_ms<\?/)
      } else {
        // The tables are not analysed, and custom and generic plans must not differ.
        const plan = await explain('explain (analyze, buffers, format json) ', filter)
        const [blocks] = plan.match(/(?<="Shared Hit Blocks":)\d+/) ?? []
        assert.ok(Number(blocks) < 25, plan)
        const general = await explain('explain (generic_plan, format json) ', filter)
        const indexes = [...general.matchAll(/"Index Name":"(\w+)"/g)].map(([, name]) => name)
        const wanted = filter ? ['object_fields_by_filter'] : ['objects_by_publish', 'objects_due']
        const known = [...wanted, 'totals_key', 'group_revisions_pkey']
        assert.ok(indexes.length >= 3 && indexes.every((name) => known.includes(name ?? '')), general)
      }
    }
  })

  it('of several filters equal a plain count, by merging their sections of the index or by look-ups from the rarest', async () => {
    const { group, collection, clock } = await posts(engine)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ value, publishMs, archived }), { maxLength: 30 }),
        fc.subarray(['category', 'rank', 'tags'], { minLength: 2 }),
        fc.array(fc.nat(2), { minLength: 3, maxLength: 3 }),
        fc.boolean(),
        async (added, fields, picks, hasTwoValues) => {
          const objects = await group.add(collection, ...added)
          const values: Record<string, string[]> = {
            category: ['a', 'A', 'ä'],
            rank: ['0', '1', '2'],
            tags: ['x', 'y', 'z'],
          }
          const filters = Object.fromEntries(
            fields.map((field, n) => {
              const at = picks[n] ?? 0
              return [field, values[field]?.slice(at, at + (hasTwoValues ? 2 : 1)) ?? []]
            }),
          )
          const query = parseListQuery(collection.schema, { filters })
          const listing = {
            group: group.store,
            container: collection,
            query,
            show: 'visible' as const,
            nowMs: clock.now,
          }
          const { total } = await countMatches(listing, async () => 1_000_000)
          const expected = objects.filter(
            (object) =>
              isVisible(object, clock.now) &&
              fields.every((field) =>
                [object.value[field]].flat().some((one) => filters[field]?.includes(String(one))),
              ),
          )
          assert.equal(total, expected.length)
          await write(group.store, testStartMs, (writer) =>
            deleteObjects(
              writer,
              objects.map((object) => ({ containerId: collection.id, object })),
            ),
          )
        },
      ),
      { numRuns: 40 },
    )
  })
})
