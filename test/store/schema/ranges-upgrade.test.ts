import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sortKeyOfText } from '../../../src/content/index-keys.ts'
import { parseListQuery } from '../../../src/content/list-query.ts'
import { type Container, draftPublishMs } from '../../../src/content/model.ts'
import { parseSchema } from '../../../src/content/parse-schema.ts'
import { splitRanges } from '../../../src/store/content/split-ranges.ts'
import type { Database } from '../../../src/store/engine/database.ts'
import { countMatches } from '../../../src/store/lists/list-objects.ts'
import { migrate } from '../../../src/store/schema/migrate.ts'
import { contentMigrations } from '../../../src/store/schema/migrations/content.ts'
import type { ContentTables } from '../../../src/store/schema/tables.ts'
import type { GroupStore } from '../../../src/store/store.ts'
import { openFormer } from '../../helpers/former-database.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { assertRangesAreRight, readBuckets } from '../../helpers/range-totals.ts'

const schema = { rank: { type: 'integer' } }
const dates = { created_ms: 0, updated_ms: 0 }
const own = { group_id: 'g', external_id: null, account_handle: '', value: '{}', search_text: '', review: null }
const version = { version: 1, changed_by: '', change: 'created' }
const states = [
  { archived: 0, publish_ms: 0 },
  { archived: 0, publish_ms: draftPublishMs },
  { archived: 0, publish_ms: 1000 },
  { archived: 1, publish_ms: 0 },
  { archived: 0, publish_ms: 0 },
]

const idOf = (rank: number): string => String(rank).padStart(24, '0')

/** As written by the previous version: three in five are live, and one of them is scheduled. */
async function insertAsBefore({ write }: Database<ContentTables>, ranks: readonly number[]) {
  await write(async (db) => {
    for (const rank of ranks) {
      const id = idOf(rank)
      const state = states[rank % states.length] ?? { archived: 0, publish_ms: 0 }
      const row = { id, container_id: 'posts', ...state, ...own, ...dates, ...version }
      await db.insertInto('objects').values(row).execute()
      const keys = { field: 'rank', filter_key: `=${rank}`, sort_key: sortKeyOfText(String(rank)) }
      await db
        .insertInto('object_fields')
        .values({ object_id: id, container_id: 'posts', ...state, ...keys })
        .execute()
    }
  })
}

const ranksFrom = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)

onBothEngines('a database without totals of ranges', (engine) => {
  it('is counted as before; a job counts it in steps that survive an interruption, as are later writes of the previous version', async () => {
    const database = await openFormer(engine, 'totals of ranges')
    await database.write(async (db) => {
      const container = { group_id: 'g', kind: 'collection' as const, schema: JSON.stringify(schema), ...dates }
      for (const id of ['posts', 'empty'])
        await db.insertInto('containers').values({ ...container, id, name: id }).execute() // biome-ignore format: short
      await db.insertInto('group_revisions').values({ group_id: 'g', revision: 1 }).execute()
    })
    await insertAsBefore(database, ranksFrom(1, 150))
    await migrate(database, contentMigrations, 0)
    const group: GroupStore = { groupId: 'g', database }
    const container = { id: 'posts', schema: parseSchema(schema) } as Container
    const assertCounts = async (live: (rank: number) => boolean) => {
      await assertRangesAreRight(group, 'posts')
      for (const [nowMs, hidden] of [[0, [1, 2, 3]], [1000, [1, 3]]] as const) // biome-ignore format: short
        for (const from of [1, 40, 99, 149]) {
          const query = parseListQuery(container.schema, { filters: { 'rank[gte]': [String(from)] } })
          const { total } = await countMatches({ group, container, query, show: 'visible', nowMs }, async () => 1000)
          const wanted = ranksFrom(from, 200).filter((rank) => live(rank) && !hidden.includes((rank % 5) as never))
          assert.equal(total, wanted.length, `from ${from} at ${nowMs}`)
        }
    }
    const jobs = await database.read.selectFrom('jobs').select(['group_id', 'kind', 'state']).execute()
    assert.deepEqual(jobs.map((job) => ({ ...job })), [{ group_id: 'g', kind: 'ranges.split', state: 'waiting' }]) // biome-ignore format: short
    assert.deepEqual((await readBuckets(group, 'posts')).map(({ total }) => total), [null]) // biome-ignore format: short
    await assertCounts((rank) => rank <= 150)
    await insertAsBefore(database, ranksFrom(151, 170))
    await assertCounts((rank) => rank <= 170)

    const controller = new AbortController()
    const interrupted: GroupStore = {
      ...group,
      database: {
        ...database,
        async write(work, whose) {
          const result = await database.write(work, whose)
          controller.abort()
          return result
        },
      },
    }
    const sizes = { maxTotal: 20, entries: 10, nowMs: 0 }
    await assert.rejects(splitRanges(interrupted, { ...sizes, signal: controller.signal }))
    const begun = await readBuckets(group, 'posts')
    assert.equal(begun.length, 6, 'five parts and the rest')
    assert.deepEqual(begun.map(({ total }) => total === null), [false, false, false, false, false, true]) // biome-ignore format: short
    await insertAsBefore(database, ranksFrom(171, 200))
    await database.write((db) => db.deleteFrom('objects').where('id', '=', idOf(40)).execute())
    await assertCounts((rank) => rank !== 40)

    await splitRanges(group, sizes)
    assert.ok((await readBuckets(group, 'posts')).every(({ total }) => total !== null))
    await assertCounts((rank) => rank !== 40)
    await database.write((db) =>
      db.updateTable('object_fields').set({ archived: 1 }).where('filter_key', '=', '=99').execute(),
    )
    await assertCounts((rank) => rank !== 40 && rank !== 99)
  })
})
