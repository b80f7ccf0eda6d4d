import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseListQuery } from '../../../src/content/list-query.ts'
import type { Container } from '../../../src/content/model.ts'
import { parseSchema } from '../../../src/content/parse-schema.ts'
import { fillSearchIndex, findUnfilledContainers } from '../../../src/store/content/fill-search-index.ts'
import type { Database } from '../../../src/store/engine/database.ts'
import { listObjectsInState } from '../../../src/store/lists/list-objects.ts'
import { migrate } from '../../../src/store/schema/migrate.ts'
import { contentMigrations } from '../../../src/store/schema/migrations/content.ts'
import type { ContentTables } from '../../../src/store/schema/tables.ts'
import { openFormer } from '../../helpers/former-database.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { assertSearchIndexIsRight } from '../../helpers/search-index.ts'
import { assertUsageIsRight } from '../../helpers/usage.ts'

const schema = { title: { type: 'text' }, body: { type: 'longText' } }
const dates = { created_ms: 1, updated_ms: 1 }
const own = { group_id: 'g', container_id: 'posts', external_id: null, account_handle: '', review: null }
const state = { archived: 0, publish_ms: 0, version: 1, changed_by: '', change: 'created' }

/** As written by the previous version, which keeps all text. */
const rowOf = (id: string, title: string) => ({
  ...{ ...own, ...state, ...dates, id },
  value: JSON.stringify({ title, body: '<p>Rye, rye and rye</p>' }),
  search_text: `${title.toLowerCase()}\n rye, rye and rye `,
})

const insertAsBefore = ({ write }: Database<ContentTables>, ...titles: string[]) =>
  write((db) =>
    db
      .insertInto('objects')
      .values(titles.map((title) => rowOf(`o${title}`.padEnd(24, '0'), title)))
      .execute(),
  )

onBothEngines('a database without a search index', (engine) => {
  it('is searched as before; a job fills the index, and the writes of the previous version are indexed as well', async () => {
    const database = await openFormer(engine, 'the search index')
    await database.write(async (db) => {
      const container = { group_id: 'g', kind: 'collection' as const, schema: JSON.stringify(schema), ...dates }
      for (const id of ['posts', 'empty'])
        await db.insertInto('containers').values({ ...container, id, name: id }).execute() // biome-ignore format: short
      await db.insertInto('group_revisions').values({ group_id: 'g', revision: 1 }).execute()
    })
    await insertAsBefore(database, 'A', 'B', 'C')
    await migrate(database, contentMigrations, 0)
    const group = { groupId: 'g', database }
    const found = async (search: string): Promise<string[]> => {
      const container = { id: 'posts', schema: parseSchema(schema) } as Container
      const list = await listObjectsInState(group, container, parseListQuery(container.schema, { search }), {}, 0)
      return list.objects.map(({ value }) => String(value.title)).toSorted()
    }
    const [job, ...others] = await database.read.selectFrom('jobs').selectAll().execute()
    assert.deepEqual([job?.group_id, job?.kind, job?.state, others.length], ['g', 'search.fill', 'waiting', 0])
    assert.deepEqual(await found('rye'), ['A', 'B', 'C'])
    await insertAsBefore(database, 'D')
    await database.write((db) => db.deleteFrom('objects').where('id', 'like', 'oA%').execute())
    await database.write((db) =>
      db.updateTable('objects').set({ search_text: 'spelt', archived: 1 }).where('id', 'like', 'oD%').execute(),
    )
    assert.deepEqual(await found('rye'), ['B', 'C'])
    await fillSearchIndex(group)
    assert.deepEqual(await findUnfilledContainers(group), [])
    assert.deepEqual([await found('rye'), await found('spe'), await found('b r')], [['B', 'C'], ['D'], ['B']])
    await insertAsBefore(database, 'E')
    await database.write((db) =>
      db.updateTable('objects').set({ search_text: 'spelt bread' }).where('id', 'like', 'oB%').execute(),
    )
    assert.deepEqual(
      [await found('rye'), await found('spelt')],
      [
        ['C', 'E'],
        ['B', 'D'],
      ],
    )
    await assertSearchIndexIsRight(group)
    await assertUsageIsRight(group)
  })
})
