import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import { type ListQuery, parseListQuery } from '../../../src/content/list-query.ts'
import type { Container } from '../../../src/content/model.ts'
import { type ContentCache, createContentCache } from '../../../src/store/lists/content-cache.ts'
import { findContainerToList, listVisible } from '../../../src/store/lists/list-visible.ts'
import { readAtOneRevision } from '../../../src/store/lists/reading.ts'
import { openStore } from '../../../src/store/open.ts'
import { type GroupStore, openGroup } from '../../../src/store/store.ts'
import { type Harness, harness, onBothEngines, type TestGroup } from '../../helpers/harness.ts'

/** A category of them exceeds what a plan may read, and what a listing gathers and sorts. */
const itemCount = 30_000
/** Far below the time limit of statements, even on a loaded machine. */
const itemsPerInsert = 10_000

/** Items written by the database itself: category of 10 values, and a distinct rank for each. */
async function fillCollection(created: Harness, group: TestGroup) {
  const collection = await group.collection('Many', { category: { type: 'text' }, rank: { type: 'integer' } })
  const { database, groupId } = group.store
  const isSqlite = created.engine === 'sqlite'
  const seriesFrom = (start: number) => {
    const last = start + itemsPerInsert - 1
    return isSqlite
      ? sql`(with recursive n(i) as (select ${sql.lit(start)} union all select i + 1 from n where i < ${last}) select i from n)`
      : sql`(select i from generate_series(${sql.lit(start)}, ${sql.lit(last)}) as i)`
  }
  const id = isSqlite ? sql`printf('%024x', i)` : sql`lpad(to_hex(i), 24, '0')`
  // Spread over all items, as a real sort order is spread over all filters.
  const rank = sql`(cast(i as bigint) * 7919) % ${itemCount}`
  const rankKey = isSqlite ? sql`printf('n25006%06d', ${rank})` : sql`'n25006' || lpad(cast(${rank} as text), 6, '0')`
  const insertFrom = (start: number) =>
    database.write(async (db) => {
      const series = seriesFrom(start)
      const scope = database.schemaName === undefined ? db : db.withSchema(database.schemaName)
      const objects = database.schemaName ? sql.id(database.schemaName, 'objects') : sql.id('objects')
      const fields = database.schemaName ? sql.id(database.schemaName, 'object_fields') : sql.id('object_fields')
      await sql`insert into ${objects} (id, group_id, container_id, account_handle, publish_ms, archived, created_ms, updated_ms, value, search_text)
      select ${id}, ${groupId}, ${collection.id}, '', 0, 0, 0, 0, '{}', '' from ${series} as s`.execute(scope)
      await sql`insert into ${fields} (object_id, field, filter_key, sort_key, container_id, archived, publish_ms)
      select ${id}, 'category', '=c' || (i % 10), 'tc' || (i % 10), ${collection.id}, 0, 0 from ${series} as s`.execute(
        scope,
      )
      await sql`insert into ${fields} (object_id, field, filter_key, sort_key, container_id, archived, publish_ms)
      select ${id}, 'rank', '=' || (${rank}), ${rankKey}, ${collection.id}, 0, 0 from ${series} as s`.execute(scope)
    })
  for (let start = 0; start < itemCount; start += itemsPerInsert) await insertFrom(start)
  await sql`analyze`.execute(database.read).catch(() => {}) // not permitted for SQLite's readers; PostgreSQL does it eventually
  return collection
}

/** The generic plan of a statement in PostgreSQL. */
async function explainPrepared(
  url: string | undefined,
  prefix: string,
  { sql: text, parameters }: { sql: string; parameters: readonly unknown[] },
): Promise<{ rows: unknown[] }> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query('set plan_cache_mode = force_generic_plan')
    await client.query(`prepare page as ${text}`)
    const values = parameters.map((value) => pg.escapeLiteral(String(value)))
    return await client.query(`${prefix}execute page(${values.join(', ')})`)
  } finally {
    await client.end()
  }
}

interface PlanNode {
  'Node Type': string
  'Index Name'?: string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  Plans?: PlanNode[]
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}

const listIn = (group: GroupStore, cache: ContentCache, { id }: Container, query: ListQuery, nowMs: number) =>
  readAtOneRevision(group, cache, nowMs, async (reading) => {
    const found = await findContainerToList(reading, { kind: 'collection', id })
    assert.ok(found)
    return listVisible(reading, found, query)
  })

onBothEngines('the plan of a first page', (engine) => {
  it('filtered and sorted by schema fields, or in another order, among 30,000 items reads an index of it and stops early', async (context) => {
    const created = await harness(engine)
    const group = await created.newGroup()
    const collection = await fillCollection(created, group)
    const statements: { sql: string; parameters: readonly unknown[] }[] = []
    const { dataDir, databaseUrl } = created.config
    const watched = await openStore({
      dataDir,
      databaseUrl,
      clock: Date.now,
      onConnectionError: () => {},
      onQuery: (query) => statements.push(query),
    })
    try {
      const groupStore = await openGroup(watched, { database: group.group.database, groupID: group.group.id })
      const query = parseListQuery(collection.schema, { filters: { category: ['c3'] }, sort: 'rank:desc', limit: 20 })
      const cache = createContentCache()
      const list = async () => {
        statements.length = 0
        const { objects, totalCount } = await listIn(groupStore, cache, collection, query, created.clock.now)
        assert.equal(objects.length, 20)
        assert.equal(totalCount, itemCount / 10)
        return statements.map(({ sql }) => sql)
      }
      assert.equal((await list()).length, 4, 'the container, two totals from counters, the page')
      const page = statements[3]
      assert.ok(page)
      assert.equal((await list()).length, 1, 'with everything cached there is one statement')
      const prefix = engine === 'sqlite' ? 'explain query plan ' : 'explain (analyze, format json) '
      const { rows } =
        engine === 'sqlite'
          ? await groupStore.database.read.executeQuery(CompiledQuery.raw(prefix + page.sql, [...page.parameters]))
          : await explainPrepared(databaseUrl, prefix, page)
      if (engine === 'sqlite') {
        const plan = rows.map((row) => (row as { detail: string }).detail)
        context.diagnostic(plan.join(' | '))
        assert.ok(
          plan.some((step) => /^SEARCH s0 USING COVERING INDEX object_fields_by_sort/.test(step)),
          plan.join('\n'),
        )
        assert.ok(
          plan.some((step) => /^SEARCH probe (EXISTS )?USING PRIMARY KEY/.test(step)),
          plan.join('\n'),
        )
        assert.ok(!plan.some((step) => step.startsWith('SCAN objects') || step.startsWith('SCAN s0')), plan.join('\n'))
        // The index provides the order within the page's subquery; only the 20 rows of the page may be sorted again.
        const inner = plan.slice(
          0,
          plan.findIndex((step) => step.startsWith('SCAN page')),
        )
        assert.ok(!inner.some((step) => step.includes('TEMP B-TREE')), plan.join('\n'))
      } else {
        const [{ Plan: root }] = (rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN']
        const nodes = nodesOf(root)
        context.diagnostic(
          nodes
            .map((node) =>
              [node['Node Type'], node['Index Name'], node['Actual Rows'] * node['Actual Loops']].join(' '),
            )
            .join(' | '),
        )
        const walk = nodes.find((node) => node['Index Name'] === 'object_fields_by_sort')
        assert.ok(walk, 'the sort index is walked')
        assert.ok(walk['Actual Rows'] < 1000, `the walk stopped after ${walk['Actual Rows']} entries`)
        const scans = nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name'])
        assert.deepEqual(
          [...new Set(scans)],
          ['group_revisions'],
          'no table is scanned except one with a row per group',
        )
        for (const node of nodes) assert.ok(node['Actual Rows'] * node['Actual Loops'] < 2000, node['Node Type'])
      }
      for (const sort of [undefined, 'createdAt:desc', 'updatedAt:asc']) {
        statements.length = 0
        const asked = parseListQuery(collection.schema, { filters: { category: ['c3'] }, sort, limit: 20 })
        await listIn(groupStore, createContentCache(), collection, asked, created.clock.now)
        const last = statements.at(-1)
        assert.ok(last)
        if (engine === 'sqlite') {
          const explained = CompiledQuery.raw(prefix + last.sql, [...last.parameters])
          const plan = (await groupStore.database.read.executeQuery(explained)).rows as { detail: string }[]
          const inner = plan.slice(
            0,
            plan.findIndex(({ detail }) => detail.startsWith('SCAN page')),
          )
          assert.ok(inner.length > 0 && !inner.some(({ detail }) => detail.includes('TEMP B-TREE')), `${sort}`)
        } else {
          const explained = await explainPrepared(databaseUrl, prefix, last)
          const [{ Plan: root }] = (explained.rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN']
          for (const node of nodesOf(root))
            assert.ok(node['Actual Rows'] * node['Actual Loops'] < 2000, `${sort}: ${node['Node Type']}`)
        }
      }
    } finally {
      await watched.close()
    }
  })
})
