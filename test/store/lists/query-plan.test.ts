import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import { writeCursor } from '../../../src/content/cursor.ts'
import { sortKeyOfText } from '../../../src/content/index-keys.ts'
import { type ListParameters, type ListQuery, parseListQuery } from '../../../src/content/list-query.ts'
import type { Container } from '../../../src/content/model.ts'
import { splitRanges } from '../../../src/store/content/split-ranges.ts'
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
  const rank = sql`(cast(i as bigint) * 7919) % ${sql.lit(itemCount)}`
  const digits = sql`cast(${rank} as text)`
  const rankKey = sql`case when ${rank} = 0 then 'n1' else 'n2' || (5000 + length(${digits})) || rtrim(${digits}, '0') end`
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
  'Rows Removed by Filter'?: number
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
      /** Runs a query, and returns the plan of its last statement: its steps, and the most rows of any step. */
      async function planOf(asked: ListParameters, expected = 20): Promise<{ steps: string[]; mostRows: number }> {
        statements.length = 0
        const parsed = parseListQuery(collection.schema, { limit: 20, ...asked })
        const { objects } = await listIn(groupStore, createContentCache(), collection, parsed, created.clock.now)
        assert.equal(objects.length, expected)
        const last = statements.at(-1)
        assert.ok(last)
        if (engine === 'sqlite') {
          const explained = CompiledQuery.raw(prefix + last.sql, [...last.parameters])
          const plan = (await groupStore.database.read.executeQuery(explained)).rows as { detail: string }[]
          const inner = plan.slice(
            0,
            plan.findIndex(({ detail }) => detail.startsWith('SCAN page')),
          )
          const steps = inner.map(({ detail }) => detail).filter((step) => !step.startsWith('CO-ROUTINE'))
          return { steps, mostRows: 0 }
        }
        const explained = await explainPrepared(databaseUrl, prefix, last)
        const [{ Plan: root }] = (explained.rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN']
        const nodes = nodesOf(root)
        const mostRows = Math.max(...nodes.map((node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'])) // biome-ignore format: short
        return { steps: nodes.map((node) => `${node['Node Type']} ${node['Index Name'] ?? ''}`), mostRows }
      }
      async function assertStopsEarly(asked: ListParameters, expected?: number): Promise<void> {
        const what = JSON.stringify(asked)
        const { steps, mostRows } = await planOf(asked, expected)
        assert.ok(mostRows < 2000, `${what} reads ${mostRows} rows: ${steps.join(' | ')}`)
        if (engine === 'postgres') return
        // Several terms are sorted among equal values of the first one only.
        assert.ok(steps.length > 0 && !steps.includes('USE TEMP B-TREE FOR ORDER BY'), `${what}: ${steps.join(' | ')}`)
        assert.match(steps[0] ?? '', /^SEARCH (s0|o) USING COVERING INDEX/, what)
        const isBounded = asked.after !== undefined || (asked.sort?.startsWith('rank') && asked.filters?.['rank[lt]'])
        if (isBounded) assert.match(steps[0] ?? '', /[<>]\S*\)$/, what)
      }

      const c3 = { category: ['c3'] }
      for (const sort of [undefined, 'createdAt:desc', 'updatedAt:asc']) await assertStopsEarly({ filters: c3, sort })

      const middle = { 'rank[gte]': ['10000'], 'rank[lt]': ['20000'] }
      await assertStopsEarly({ filters: middle, sort: 'rank:asc' })
      await assertStopsEarly({ filters: { ...middle, ...c3 }, sort: 'rank:desc' })
      await assertStopsEarly({ filters: { 'rank[lt]': ['10000'] }, sort: 'createdAt:desc' })
      await assertStopsEarly({ filters: { 'category[ne]': ['c3'] }, sort: 'rank:desc' })

      // A count starts from the rarest condition, whichever comes first: here a range of ten items, not 3,000 of a category.
      const rare = { ...c3, 'rank[gte]': ['29990'] }
      await planOf({ filters: rare, sort: 'createdAt:desc' }, 1)
      const count = statements.find(({ sql }) => sql.startsWith('select count(*) as total'))
      assert.ok(count)
      if (engine === 'sqlite') {
        const explained = CompiledQuery.raw(prefix + count.sql.replace(' and in_time()', ''), [...count.parameters])
        const [first] = (await groupStore.database.read.executeQuery(explained)).rows as { detail: string }[]
        assert.match(first?.detail ?? '', /^SEARCH f USING COVERING INDEX object_fields_by_sort .*sort_key>/)
      } else {
        const sizes = statements.find(({ sql }) => sql.startsWith('select (select coalesce(sum(total), 0)'))
        assert.ok(sizes)
        for (const statement of [count, sizes]) {
          const { rows: explained } = await explainPrepared(databaseUrl, prefix, statement)
          const [{ Plan: root }] = (explained[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN']
          for (const node of nodesOf(root)) {
            const read = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
            assert.ok(read < 100, JSON.stringify(root))
          }
        }
      }

      const rank = (value: number) => sortKeyOfText(String(value))
      const idOf = (at: number) => at.toString(16).padStart(24, '0')
      const deep: [asked: ListParameters, keys: (string | number)[], id: string][] = [
        [{}, [], idOf(25_000)],
        [{ filters: c3 }, [], idOf(25_000)],
        [{ sort: '_id:desc' }, [idOf(5000)], idOf(5000)],
        [{ sort: 'rank:asc' }, [rank(15_000)], idOf(1)],
        [{ sort: 'rank:desc' }, [rank(15_000)], idOf(1)],
        [{ sort: 'rank:desc,category:asc' }, [rank(15_000), 'tc3'], idOf(1)],
        [{ sort: 'rank:asc', filters: c3 }, [rank(15_000)], idOf(1)],
        [{ sort: 'rank:asc', filters: middle }, [rank(15_000)], idOf(1)],
        [{ sort: 'rank:desc', filters: middle }, [rank(15_000)], idOf(1)],
        [{ sort: 'createdAt:desc' }, [0], idOf(15_000)],
        [{ sort: 'updatedAt:asc' }, [0], idOf(15_000)],
        [{ sort: 'publishDate:desc' }, [0], idOf(15_000)],
        [{ sort: 'publishDate:asc' }, [0], idOf(15_000)],
        [{ sort: 'category:asc' }, ['tc5'], idOf(15_000)],
      ]
      for (const [asked, keys, id] of deep) {
        const query = parseListQuery(collection.schema, { limit: 20, ...asked })
        await assertStopsEarly({ ...asked, after: writeCursor([collection.id], query, { keys, id }) })
      }

      // The total of half of all items adds up buckets, and reads the entries of two of them at most.
      await splitRanges(groupStore, { nowMs: created.clock.now })
      statements.length = 0
      const half = parseListQuery(collection.schema, { filters: { 'rank[gte]': ['14500'] }, limit: 20 })
      const { totalCount } = await listIn(groupStore, createContentCache(), collection, half, created.clock.now)
      assert.equal(totalCount, itemCount - 14_500)
      const ofRange = statements.find(({ sql }) => sql.startsWith('with first_border'))
      assert.ok(ofRange)
      if (engine === 'sqlite') {
        const explained = CompiledQuery.raw(prefix + ofRange.sql, [...ofRange.parameters])
        const found = (await groupStore.database.read.executeQuery(explained)).rows as { detail: string }[]
        const read = found
          .map(({ detail }) => detail)
          .filter((step) => / (range_totals|object_fields|objects|f) /.test(step))
        context.diagnostic(read.join(' | '))
        for (const step of read) assert.match(step, /^SEARCH .* USING (COVERING )?(INDEX|PRIMARY KEY)/)
        const ends = read.filter((step) =>
          step.startsWith('SEARCH object_fields USING COVERING INDEX object_fields_by_sort'),
        )
        assert.equal(ends.length, 2)
        for (const step of ends) assert.match(step, />.*<.*\)$/, 'seeks to both ends')
      } else {
        const { rows: explained } = await explainPrepared(databaseUrl, prefix, ofRange)
        const [{ Plan: root }] = (explained[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN']
        for (const node of nodesOf(root)) {
          const read = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
          assert.ok(read <= 2000, JSON.stringify(node))
        }
      }
    } finally {
      await watched.close()
    }
  })
})
