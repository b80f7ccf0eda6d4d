import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { rangeKeyOf } from '../../../src/content/index-keys.ts'
import { parseListQuery } from '../../../src/content/list-query.ts'
import { type Container, draftPublishMs, isVisible, type StoredObject } from '../../../src/content/model.ts'
import { changeObjects, deleteObjects } from '../../../src/store/content/change-objects.ts'
import { deleteContainer } from '../../../src/store/content/containers.ts'
import { iterateObjects, type NewObject } from '../../../src/store/content/objects.ts'
import { type SplitOptions, splitRanges } from '../../../src/store/content/split-ranges.ts'
import { countMatches } from '../../../src/store/lists/list-objects.ts'
import { countRange } from '../../../src/store/lists/range-totals.ts'
import type { GroupStore } from '../../../src/store/store.ts'
import { write } from '../../helpers/authoring.ts'
import { harness, onBothEngines, type TestGroup, testStartMs } from '../../helpers/harness.ts'
import { assertRangesAreRight, readBuckets } from '../../helpers/range-totals.ts'

const schema = { name: { type: 'text' }, rank: { type: 'integer' } }
const hourMs = 3_600_000
const small: SplitOptions = { maxTotal: 6, entries: 3, nowMs: testStartMs }

const names = ['a', 'A', 'ä', 'b', 'b\u0001', 'bb', '日本', '語', '😀', '12', '9', ' ', 'a*']
const value = fc.record(
  { name: fc.constantFrom(...names), rank: fc.oneof(fc.constant(5), fc.integer({ min: -3, max: 12 })) },
  { requiredKeys: [] },
)
const state = {
  publishMs: fc.constantFrom(0, 0, testStartMs, testStartMs + hourMs, draftPublishMs),
  archived: fc.constantFrom(false, false, false, true),
}
const nth = fc.nat({ max: 1000 })

type Step = (group: TestGroup, container: Container) => Promise<unknown>

const objectsIn = (group: GroupStore, { id }: Container): Promise<StoredObject[]> =>
  Array.fromAsync(iterateObjects(group, id))

async function choose(group: GroupStore, container: Container, at: readonly number[]): Promise<StoredObject[]> {
  const all = await objectsIn(group, container)
  return [...new Map(at.flatMap((n) => all[n % all.length] ?? []).map((object) => [object.id, object])).values()]
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.array(fc.record({ value, ...state }), { minLength: 1, maxLength: 12 }).map(
    (objects): Step =>
      (group, container) =>
        group.add(container, ...(objects as NewObject[])),
  ),
  fc.tuple(fc.array(nth, { maxLength: 6 }), fc.record({ value, ...state }, { requiredKeys: [] })).map(
    ([at, wanted]): Step =>
      (group, container) =>
        write(group.store, testStartMs, async (writer) => {
          const chosen = await choose(writer.group, container, at)
          const planned = chosen.map((before) => ({ before, wanted: wanted as Partial<NewObject> }))
          await changeObjects(writer, container, planned, 'updated')
        }),
  ),
  fc.array(nth, { maxLength: 8 }).map(
    (at): Step =>
      (group, container) =>
        write(group.store, testStartMs, async (writer) => {
          const chosen = await choose(writer.group, container, at)
          await deleteObjects(writer, chosen.map((object) => ({ containerId: container.id, object }))) // biome-ignore format: short
        }),
  ),
  fc.constant<Step>((group) => splitRanges(group.store, small)),
)

const bounds = fc.record(
  {
    gte: fc.constantFrom(...names),
    gt: fc.constantFrom(...names),
    lte: fc.constantFrom(...names),
    lt: fc.constantFrom(...names),
  },
  { requiredKeys: [] },
)

/** The number of visible objects whose name is in the range, counted one by one. */
function countByArray(objects: readonly StoredObject[], field: 'name' | 'rank', range: Record<string, string>, nowMs: number) {
  const keyOf = (given: unknown): Buffer => Buffer.from(rangeKeyOf({ type: field === 'name' ? 'text' : 'integer' }, String(given)) ?? '')
  return objects.filter((object) => {
    const given = object.value[field]
    if (!isVisible(object, nowMs) || given === undefined) return false
    return Object.entries(range).every(([operator, text]) => {
      const order = Buffer.compare(keyOf(given), keyOf(text))
      if (operator === 'gte') return order >= 0
      if (operator === 'gt') return order > 0
      return operator === 'lte' ? order <= 0 : order < 0
    })
  }).length
} // biome-ignore format: a table of operators

function listingOf(
  group: TestGroup,
  container: Container,
  field: string,
  range: Record<string, string>,
  nowMs: number,
) {
  const filters = Object.fromEntries(Object.entries(range).map(([operator, text]) => [`${field}[${operator}]`, [text]]))
  const query = parseListQuery(container.schema, { filters })
  return { group: group.store, container, query, show: 'visible' as const, nowMs }
}

onBothEngines('totals of ranges', (engine) => {
  it('equal counting one by one, after any writes and splits, for any range and time', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    let run = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 4, maxLength: 14 }),
        fc.array(bounds, { minLength: 4, maxLength: 8 }),
        fc.array(fc.integer({ min: -4, max: 13 }), { minLength: 2, maxLength: 4 }),
        async (steps, ranges, ranks) => {
          run += 1
          const container = await group.collection(`Items ${run}`, schema)
          for (const take of steps) {
            await take(group, container)
            await assertRangesAreRight(group.store, container.id)
          }
          await splitRanges(group.store, small)
          await assertRangesAreRight(group.store, container.id)
          const objects = await objectsIn(group.store, container)
          const asked: ['name' | 'rank', Record<string, string>][] = [
            ...ranges.filter((range) => Object.keys(range).length > 0).map((range) => ['name', range] as ['name', typeof range]),
            ...ranks.map((rank, at) => ['rank', at % 2 ? { gt: String(rank) } : { gte: String(ranks[0]), lte: String(rank) }] as ['rank', Record<string, string>]),
          ] // biome-ignore format: a table
          for (const nowMs of [testStartMs, testStartMs + hourMs])
            for (const [field, range] of asked) {
              const counted = await countRange(listingOf(group, container, field, range, nowMs))
              assert.equal(counted?.total, countByArray(objects, field, range, nowMs), JSON.stringify([field, range]))
            }
          await write(group.store, testStartMs, (writer) => deleteContainer(writer, container))
          assert.deepEqual(await readBuckets(group.store, container.id), [])
        },
      ),
      { numRuns: 25 },
    )
  })

  it('of a field with one value for all objects are added up from many buckets', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const container = await group.collection('Items', schema)
    await group.add(container, ...Array.from({ length: 100 }, () => ({ value: { rank: 5 } })))
    await splitRanges(group.store, small)
    await assertRangesAreRight(group.store, container.id)
    const ofRank = (await readBuckets(group.store, container.id)).filter(({ field }) => field === 'rank')
    assert.ok(ofRank.length > 20 && ofRank.every(({ total }) => Number(total) < 6), JSON.stringify(ofRank))
    const totalOf = async (range: Record<string, string>) =>
      (await countRange(listingOf(group, container, 'rank', range, testStartMs)))?.total
    assert.deepEqual(
      [await totalOf({ gte: '5' }), await totalOf({ lte: '5' }), await totalOf({ gt: '5' }), await totalOf({ lt: '5' })],
      [100, 100, 0, 0],
    ) // biome-ignore format: short
  })

  it('are counted one by one where a bucket or the schedule is long, with the same result', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const container = await group.collection('Items', schema)
    const states = [{ publishMs: testStartMs + hourMs }, {}]
    const objects = states.flatMap((given, at) =>
      Array.from({ length: 5001 }, (_, n) => ({ value: { rank: n - at * 6000 }, ...given })),
    )
    for (let start = 0; start < objects.length; start += 2000)
      await group.add(container, ...objects.slice(start, start + 2000))
    const count = async (range: Record<string, string>) => {
      const listing = listingOf(group, container, 'rank', range, testStartMs)
      const counted = await countRange(listing)
      const { total } = await countMatches(listing, async () => objects.length)
      return [counted?.total, total]
    }
    assert.deepEqual(await count({ lt: '-999' }), [undefined, 5001])
    const { database } = group.store
    await database.write((db) =>
      db.updateTable('objects').set({ publish_ms: 0 }).where('publish_ms', '>', testStartMs).execute(),
    )
    assert.deepEqual(await count({ lt: '-999' }), [undefined, 5001], 'in one bucket')
    await splitRanges(group.store, { nowMs: testStartMs })
    assert.deepEqual(await count({ lt: '-999' }), [5001, 5001])
    await assertRangesAreRight(group.store, container.id)
  })

  it('make a bucket that grows beyond its size be split by one job of the group', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const container = await group.collection('Items', schema)
    const jobs = () =>
      group.store.database.read.selectFrom('jobs').select(['group_id', 'kind', 'state', 'topic']).execute()
    const add = (count: number) =>
      group.add(container, ...Array.from({ length: count }, (_, n) => ({ value: { rank: n } })))
    await add(1999)
    assert.deepEqual(await jobs(), [])
    await add(1)
    const job = { group_id: group.store.groupId, kind: 'ranges.split', state: 'waiting', topic: 'ranges' }
    assert.deepEqual((await jobs()).map((row) => ({ ...row })), [job], 'though two fields have grown') // biome-ignore format: short
    await splitRanges(group.store, { nowMs: testStartMs })
    const buckets = await readBuckets(group.store, container.id)
    assert.deepEqual(buckets.map(({ field, total }) => [field, total]), [['name', 1000], ['name', 1000], ['rank', 1000], ['rank', 1000]]) // biome-ignore format: short
    await group.store.database.write((db) => db.deleteFrom('jobs').execute())
    await add(500)
    assert.deepEqual(await jobs(), [])
  })
})
