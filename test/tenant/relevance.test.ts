import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sql } from 'kysely'
import { fillSearchIndex } from '../../src/store/content/fill-search-index.ts'
import { harness, onBothEngines } from '../helpers/harness.ts'

const schema = { title: { type: 'text' }, body: { type: 'longText' }, kind: { type: 'enum', values: ['a', 'b'] } }

/** By their expected places for "rye". */
const values = [
  { title: 'Rye', body: 'first', kind: 'a' },
  { title: 'A rye loaf', body: 'second', kind: 'b' },
  { title: 'Ryebread', body: 'third', kind: 'a' },
  { title: 'Loaf', body: 'fourth <b>rye</b>.', kind: 'a' },
  { title: 'Loaf', body: 'fifth: ryegrass', kind: 'b' },
]

onBothEngines('sort=relevance', (engine) => {
  const fill = async () => {
    const created = await harness(engine)
    const group = await created.newGroup()
    const posts = await group.collection('Posts', schema)
    const second = { createdMs: Date.UTC(2020, 0, 1) }
    const objects = values.map((value, n) => ({ value, ...(n === 1 ? second : { createdMs: Date.UTC(2021, 0, 1) }) }))
    await group.add(posts, ...objects.toReversed())
    await group.add(posts, { value: { title: 'Rye' }, archived: true }, { value: { title: 'Wheat' } })
    const get = (query: string) => group.get(`/tenant/collectionObjects?collectionId=${posts.id}&${query}`)
    const bodies = async (query: string) => {
      const { items, totalCount } = (await get(query)).json().data
      return [
        items.map((item: { objectValue: { body: string } }) =>
          values.findIndex(({ body }) => body === item.objectValue.body),
        ),
        totalCount,
      ]
    }
    return { ...created, group, posts, get, bodies }
  }

  it('has the best matches first, and newer ones before older ones that match as well, on every page', async () => {
    const { bodies, group } = await fill()
    const check = async () => {
      assert.deepEqual(await bodies('search=RYE&sort=relevance'), [[0, 1, 2, 3, 4], 5])
      for (let skip = 0; skip < 6; skip += 1)
        assert.deepEqual(await bodies(`search=rye&sort=relevance&limit=2&skip=${skip}`), [
          [0, 1, 2, 3, 4].slice(skip, skip + 2),
          5,
        ])
      assert.deepEqual(await bodies('search=rye&sort=relevance&filters[kind]=b'), [[1, 4], 2])
      assert.deepEqual(await bodies('search=rye+loaf&sort=relevance'), [[1, 3, 4], 3])
    }
    await check()
    await group.store.database.write((db) => db.updateTable('search_containers').set({ filled_to: '' }).execute())
    await check()
    await fillSearchIndex(group.store)
    await check()
  })

  it('requires a search, and stands alone', async () => {
    const { get } = await fill()
    for (const query of ['sort=relevance', 'sort=relevance&search=+']) {
      const answer = await get(query)
      assert.equal(answer.statusCode, 400)
      assert.equal(answer.json().error, 'sort=relevance requires a search.')
    }
    assert.match(
      (await get('search=rye&sort=relevance&after=')).json().error,
      /^after cannot be combined with sort=relevance/,
    )
    for (const sort of ['relevance,title:asc', 'relevance:desc', 'title:asc,relevance'])
      assert.equal((await get(`search=rye&sort=${sort}`)).statusCode, 400)
  })

  it('has the newest of too many matches first', async () => {
    const { group, posts, get } = await fill()
    const { database } = group.store
    const table = database.schemaName === undefined ? 'objects' : `"${database.schemaName}".objects`
    const series =
      engine === 'sqlite' ? 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 20001) ' : ''
    const source = engine === 'sqlite' ? 'n' : 'generate_series(1, 20001) as n(i)'
    const id = engine === 'sqlite' ? "printf('%024x', i)" : "lpad(to_hex(i), 24, '0')"
    await database.write((db) =>
      sql
        .raw(
          `insert into ${table} (id, group_id, container_id, account_handle, publish_ms, archived, created_ms, updated_ms, value, search_text)
            ${series}select ${id}, '${group.group.id}', '${posts.id}', '', 0, 0, i, 0, '{"title":"many"}', 'many' from ${source}`,
        )
        .execute(db),
    )
    const { items, totalCount } = (await get('search=many&sort=relevance&limit=3&skip=1')).json().data
    assert.equal(totalCount, 20_001)
    assert.deepEqual(
      items.map(({ createdAt }: { createdAt: string }) => Date.parse(createdAt)),
      [20_000, 19_999, 19_998],
    )
  })
})
