import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { assertIndexIsRight, assertNoGaps, assertRefused, editing, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { locationOf, newSchema, newValue, oldSchema, oldValue, sideOf, startChanger, toNew, toOld } from '../helpers/schema-changes.ts' // biome-ignore format: one line reads better

/** `npm run prove -- schema` runs 10,000. */
const count = Number(process.env.SCHEMA_OBJECTS ?? 300)
const numbers = Array.from({ length: count }, (_, n) => n)
/** How often the schema is changed and changed back during reads. */
const flips = process.env.PROVE === '1' ? 20 : 6
/** Readers must read content: `test/cache` covers cached answers. */
const uncached = { env: { ANSWER_CACHE_MB: '0' } }
const countWhere = (test: (n: number) => boolean): number => numbers.filter(test).length

const queries: [query: string, total: number][] = [
  ['sort=n:asc', count],
  ['sort=n:desc&skip=3&limit=20', count],
  ['filters[rank]=3', countWhere((n) => n % 7 === 3)],
  ['filters[kind]=cake&sort=rank:desc', countWhere((n) => n % 2 === 1)],
  ['search=title&filters[price]=5.50', countWhere((n) => n % 90 === 5)],
]

const valuesIn = (answer: LightMyRequestResponse): Record<string, unknown>[] =>
  answer.json().data.items.map(({ objectValue }: { objectValue: Record<string, unknown> }) => objectValue)

async function withObjects(engine: TestEngine, makeValue: (n: number) => Record<string, unknown> = oldValue) {
  const created = await editing(engine, uncached)
  const { group, send, does } = created
  const collection = await group.collection('Posts', oldSchema)
  const stored = await group.add(collection, ...numbers.map((n) => ({ value: makeValue(n) })))
  const path = `/collections/${collection.id}`
  return {
    ...created,
    collection,
    path,
    ids: stored.map(({ id }) => id),
    change: (body: object) => send('POST', `${path}/schema`, { version: 1, ...body }),
    list: (query: string) => group.get(`/tenant/collectionObjects?collectionId=${collection.id}&${query}`),
    /** The values of all objects, in order of creation. */
    async values() {
      const pages = Array.from({ length: Math.ceil(count / 100) }, (_, page) => page * 100)
      const found = []
      for (const skip of pages) found.push(...(await does('GET', `${path}/objects?skip=${skip}`)).items)
      return found.map(({ objectValue }) => objectValue)
    },
  }
}

onBothEngines('a schema change', (engine) => {
  it('adds, renames, retypes and removes fields of all objects, which are then found by the new schema', async () => {
    const { change, list, values, group, ids, does } = await withObjects(engine)
    const { collection, report } = (await change({ ...toNew, allowLoss: true })).json().data
    assert.deepEqual([collection.schema, collection.version], [newSchema, 2])
    assert.deepEqual(report.fields, {
      added: ['tags'],
      removed: ['old'],
      renamed: [{ from: 'title', to: 'headline' }],
      retyped: [
        { field: 'rank', from: 'integer', to: 'text' },
        { field: 'price', from: 'text', to: 'decimal' },
        { field: 'kind', from: 'text', to: 'enum' },
      ],
    })
    assert.deepEqual(
      [report.objects, report.changed, report.lost.count, report.failing.count],
      [count, count, count, 0],
    )
    assert.deepEqual(await values(), numbers.map(newValue))
    const totals: [query: string, total: number][] = [
      ['', count],
      ['filters[kind]=cake', countWhere((n) => n % 2 === 1)],
      ['filters[rank]=3&filters[kind]=bread', countWhere((n) => n % 7 === 3 && n % 2 === 0)],
      ['filters[price]=7.5', countWhere((n) => n % 90 === 7)],
      ['filters[tags]=fresh&sort=headline:desc', count],
      ['search=title 42', countWhere((n) => `${n}`.includes('42'))],
      ['search=stale', 0],
      ['search=FRESH', count],
    ]
    for (const [query, total] of totals) assert.equal((await list(query)).json().data.totalCount, total, query)
    const prices = (await list('sort=price:desc,n:asc&limit=50')).json().data.items
    const byPrice = numbers.toSorted((a, b) => (b % 90) - (a % 90) || a - b).slice(0, 50)
    assert.deepEqual(prices.map((item: { objectValue: { n: number } }) => item.objectValue.n), byPrice) // biome-ignore format: short
    for (const query of ['filters[title]=x', 'filters[old]=stale', 'sort=title:asc', 'filters[price]=dear'])
      assert.equal((await list(query)).statusCode, 400, query)
    await assertIndexIsRight(group.store)
    await assertNoGaps(group.store)
    const [current, former] = (await does('GET', `/objects/${ids[5]}/versions`)).items
    assert.deepEqual([current.change, current.version, former.version], ['schema changed', 2, 1])
    assert.deepEqual(former.objectValue, oldValue(5))
  })

  it('as a dry run leaves no trace: the report lists what is lost and what fails, object by object', async () => {
    const isDear = (n: number): boolean => n % 50 === 7
    const isUnkind = (n: number): boolean => n % 60 === 11
    const mixed = (n: number) => {
      const { old, ...value } = oldValue(n)
      return {
        ...value,
        ...(n % 3 === 0 && { old }),
        ...(isDear(n) && { price: 'dear' }),
        ...(isUnkind(n) && { kind: 'pie' }),
      }
    }
    const { change, group, ids, does, path } = await withObjects(engine, mixed)
    const before = await everythingIn(group.store)
    const { collection, report } = (await change({ ...toNew, dryRun: true })).json().data
    assert.deepEqual([collection.schema, collection.version], [oldSchema, 1])
    const failing = numbers.filter((n) => isDear(n) || isUnkind(n))
    const problems = (n: number): string[] => [
      ...(isDear(n) ? ['objectValue.price cannot become a decimal: "dear"'] : []),
      ...(isUnkind(n) ? ['objectValue.kind cannot become one of bread, cake: "pie"'] : []),
    ]
    const lost = numbers.filter((n) => n % 3 === 0)
    assert.deepEqual([report.objects, report.changed], [count, count])
    assert.deepEqual(report.failing, {
      count: failing.length,
      objects: failing.slice(0, 100).map((n) => ({ objectId: ids[n], problems: problems(n) })),
    })
    assert.deepEqual(report.lost, {
      count: lost.length,
      objects: lost.slice(0, 100).map((n) => ({ objectId: ids[n], field: 'old', value: '"stale"' })),
    })
    for (const allowLoss of [false, true]) {
      const details = assertRefused(
        await change({ ...toNew, allowLoss }),
        409,
        /objects do not fit the new schema, such as/,
      )
      assert.deepEqual(details.report, report)
    }
    assert.deepEqual(await everythingIn(group.store), before)
    for (const n of failing)
      await does('PATCH', `/objects/${ids[n]}`, { version: 1, objectValue: { price: '1', kind: 'cake' } })
    const corrected = await everythingIn(group.store)
    const details = assertRefused(await change(toNew), 409, /values would be lost, such as old of .*allowLoss/)
    assert.deepEqual([details.report.failing.count, details.report.lost.count], [0, lost.length])
    assert.deepEqual(await everythingIn(group.store), corrected)
    assert.equal((await change({ ...toNew, allowLoss: true })).statusCode, 200)
    assert.deepEqual((await does('GET', path)).schema, newSchema)
    await assertIndexIsRight(group.store)
  })

  it('keeps the version of unchanged objects, and indexes them by the new rules', async () => {
    const { change, list, group, ids, does, clock } = await withObjects(engine)
    const original = await does('GET', `/objects/${ids[0]}`)
    clock.now += 1000
    const { title, ...others } = oldSchema
    const schema = {
      ...others,
      title: { ...title, searchable: false },
      old: { type: 'text', private: true },
      extra: { type: 'text' },
    }
    const { report } = (await change({ schema })).json().data
    assert.deepEqual([report.objects, report.changed, report.lost.count], [count, 0, 0])
    assert.deepEqual(await does('GET', `/objects/${ids[0]}`), original)
    assert.equal((await list('search=title')).json().data.totalCount, 0)
    assert.equal((await list('sort=extra:asc')).json().data.totalCount, count)
    assert.equal((await list('filters[old]=stale')).statusCode, 400)
    assert.ok(!('old' in (await list('limit=1')).json().data.items[0].objectValue))
    await assertIndexIsRight(group.store)
  })

  it('can concern values only: a default for missing ones, or two fields that swap their names', async () => {
    const { does, send, group, delivered } = await editing(engine, uncached)
    const schema = { a: { type: 'text' }, b: { type: 'text' } }
    const { _id } = await does('POST', '/collections', { name: 'Pairs', schema })
    for (const objectValue of [{ a: '1', b: '2' }, { b: '4' }])
      await does('POST', `/collections/${_id}/objects`, { objectValue })
    const change = async (body: object) => {
      const { report, collection } = await does('POST', `/collections/${_id}/schema`, { version: 1, schema, ...body })
      assert.equal(collection.version, 1)
      await assertIndexIsRight(group.store)
      const pairs = (await delivered(_id)).map(({ objectValue: { a, b } }) => [a, b])
      return [report.changed, ...pairs]
    }
    assert.deepEqual(await change({ defaults: { a: '3' } }), [1, ['1', '2'], ['3', '4']])
    assert.deepEqual(await change({ renames: { a: 'b', b: 'a' } }), [2, ['2', '1'], ['4', '3']])
    const before = await everythingIn(group.store)
    assert.deepEqual(await change({}), [0, ['2', '1'], ['4', '3']])
    assert.deepEqual(await everythingIn(group.store), before)
    assertRefused(await send('POST', `/collections/${_id}/schema`, { version: 2, schema }), 409, /at version 1/)
  })

  it('that is invalid, or starts from a stale version, is refused', async () => {
    const { change, group, does, path } = await withObjects(engine)
    const refused: [body: object, message: RegExp][] = [
      [{ schema: { n: { type: 'number' } } }, /n\.type must be one of/],
      [{ ...toNew, renames: { nope: 'headline' } }, /renames\.nope is not a field of the current schema/],
      [{ ...toNew, renames: { title: 'nope' } }, /renames\.title is "nope", which is not a field of the new schema/],
      [{ ...toNew, renames: { title: 'rank' } }, /./],
      [{ ...toNew, defaults: { nope: 1 } }, /defaults\.nope is not a field of the new schema/],
      [{ ...toNew, defaults: { tags: 'fresh' } }, /defaults\.tags must be a list/],
      [{ ...toNew, surprise: 1 }, /surprise cannot be given here/],
      [{ schema: newSchema, renames: { title: 7 } }, /renames\.title must be a text/],
    ]
    const before = await everythingIn(group.store)
    for (const [body, message] of refused) {
      const answer = await change(body)
      assert.ok([400, 409].includes(answer.statusCode), answer.body)
      assert.match(answer.json().error, message)
    }
    for (const dryRun of [true, false]) {
      const details = assertRefused(
        await change({ ...toNew, version: 3, dryRun }),
        409,
        /at version 1, you started from 3/,
      )
      assert.deepEqual(details.current, await does('GET', path))
    }
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('shows readers all of the old, then all of the new: never a mixture, an error or a way back', async (context) => {
    const { list, collection, group, config, clock, does, ids } = await withObjects(engine)
    const { token } = await does('POST', '/previews', { objectId: ids[0] })
    const seen = { old: 0, new: 0 }
    const saw = (values: Record<string, unknown>[], what: string): void => {
      const [side, ...others] = new Set(values.map(sideOf))
      assert.ok(others.length === 0 && (side === 'new' || (side === 'old' && seen.new === 0)), `${side}: ${what}`)
      seen[side] += 1
    }
    const changer = startChanger(locationOf(config, group, collection.id), toNew, clock.now)
    let isChanged = false
    const changed = changer.ended.finally(() => {
      isChanged = true
    })
    for (let poll = 0; !isChanged || seen.new < 2 * queries.length; poll += 1) {
      const [query, total] = queries[poll % queries.length] as [string, number]
      const answer = await list(query)
      assert.equal(answer.statusCode, 200, answer.body)
      assert.equal(answer.json().data.totalCount, total, query)
      saw(valuesIn(answer), query)
      saw([(await group.get(`/tenant/preview?token=${token}`)).json().data.objectValue], 'preview')
    }
    assert.equal(await changed, 0)
    context.diagnostic(`${engine}: ${JSON.stringify(seen)} answers to a reader, ${changer.statements()} statements`)
    assert.ok(seen.old > 1)
  })

  it('repeated back and forth shows none of many readers a mixture or an error', async (context) => {
    const { group, does } = await editing(engine, uncached)
    const collection = await group.collection('Posts', oldSchema)
    await group.add(collection, ...numbers.slice(0, 50).map((n) => ({ value: oldValue(n) })))
    let isDone = false
    const seen = { old: 0, new: 0 }
    const read = async (query: string) => {
      while (!isDone) {
        const answer = await group.get(`/tenant/collectionObjects?collectionId=${collection.id}&${query}`)
        assert.equal(answer.statusCode, 200, answer.body)
        const [side, ...others] = new Set(valuesIn(answer).map(sideOf))
        assert.ok((side === 'old' || side === 'new') && others.length === 0, `${side}: ${query}`)
        seen[side] += 1
      }
    }
    const readers = Promise.all(queries.map(([query]) => read(query)))
    const changes = async () => {
      for (let version = 1; version <= flips; version += 1) {
        const change = { version, allowLoss: true, ...(version % 2 === 1 ? toNew : toOld) }
        await does('POST', `/collections/${collection.id}/schema`, change)
      }
    }
    await Promise.race([readers, changes()]).finally(() => {
      isDone = true
    })
    await readers
    context.diagnostic(`${engine}: ${flips} changes, ${JSON.stringify(seen)} answers to ${queries.length} readers`)
    assert.ok(seen.old > flips && seen.new > flips)
  })

  it('does not block its process', async (context) => {
    const { group, send } = await editing(engine, uncached)
    const collection = await group.collection('Posts', oldSchema)
    await group.add(collection, ...Array.from({ length: 1000 }, (_, n) => ({ value: oldValue(n) })))
    let served = 0
    let isChanged = false
    const changed = send('POST', `/collections/${collection.id}/schema`, { version: 1, allowLoss: true, ...toNew })
    changed.finally(() => {
      isChanged = true
    })
    for (; !isChanged; served += 1) await group.get(`/tenant/collectionObjects?collectionId=${collection.id}&limit=1`)
    assert.equal((await changed).statusCode, 200)
    context.diagnostic(`${engine}: ${served} readers were served in the meantime`)
    assert.ok(served > 3, `${served} were served`)
  })

  it('includes concurrently created objects: converted if created before, validated by the new schema if after', async (context) => {
    const { list, collection, group, config, clock, send, path } = await withObjects(engine)
    const changer = startChanger(locationOf(config, group, collection.id), toNew, clock.now)
    let isChanged = false
    const changed = changer.ended.finally(() => {
      isChanged = true
    })
    const made = { old: 0, new: 0 }
    const refused = { old: 0, new: 0 }
    for (let n = count; !isChanged || refused.old < 2; n += 1) {
      const side = n % 2 === 0 ? 'old' : 'new'
      const objectValue = side === 'old' ? oldValue(n) : newValue(n)
      const answer = await send('POST', `${path}/objects`, { objectValue })
      if (answer.statusCode === 201) made[side] += 1
      else {
        assertRefused(answer, 400, side === 'old' ? /title is not a field/ : /headline is not a field/)
        refused[side] += 1
      }
    }
    assert.equal(await changed, 0)
    context.diagnostic(`${engine}: made ${JSON.stringify(made)}, refused ${JSON.stringify(refused)}`)
    assert.equal((await list('filters[tags]=fresh')).json().data.totalCount, count + made.old + made.new)
    const rows = await group.store.database.read.selectFrom('objects').select('value').execute()
    assert.ok(rows.every(({ value }) => sideOf(JSON.parse(value)) === 'new'))
    await assertIndexIsRight(group.store)
    await assertNoGaps(group.store)
  })
})
