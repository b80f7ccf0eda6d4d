import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CompiledQuery } from 'kysely'
import { selectByKeys } from '../../../src/store/content/object-index.ts'
import { createSqlBuilder } from '../../../src/store/engine/statement.ts'
import { harness, onBothEngines } from '../../helpers/harness.ts'

onBothEngines('index rows', (engine) => {
  it('are looked up by each of several keys, also before the database has statistics', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const posts = await group.collection('Posts', { title: { type: 'text' }, slug: { type: 'slug', unique: true } })
    await group.add(posts, ...Array.from({ length: 1000 }, (_, n) => ({ value: { slug: `s${n}` } })))
    const { database } = group.store
    const draft = createSqlBuilder(database)
    const filterKeys = ['=s1', '=s500', '=none']
    const text = selectByKeys(draft, { containerIds: [posts.id], field: 'slug', filterKeys })
    const run = async (statement: string) =>
      (await database.read.executeQuery(CompiledQuery.raw(statement, draft.parameters))).rows
    const found = (await run(text)) as { filter_key: string }[]
    assert.deepEqual(found.map(({ filter_key }) => filter_key).toSorted(), ['=s1', '=s500'])
    const plan = JSON.stringify(await run(`${engine === 'sqlite' ? 'explain query plan' : 'explain'} ${text}`))
    assert.match(plan, /object_fields_by_filter/)
    assert.doesNotMatch(plan, /object_fields_by_sort|Seq Scan on object_fields/)
  })
})
