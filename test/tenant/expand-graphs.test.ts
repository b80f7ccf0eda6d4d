import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import fc from 'fast-check'
import { draftPublishMs } from '../../src/content/model.ts'
import { makeId } from '../../src/core/ids.ts'
import { deleteObjects } from '../../src/store/content/change-objects.ts'
import { findObjects } from '../../src/store/content/objects.ts'
import { write } from '../helpers/authoring.ts'
import type { Data } from '../helpers/editing.ts'
import { createHarness, type Harness, onBothEngines, type TestGroup } from '../helpers/harness.ts'

/** `npm run prove -- expand` runs 2,000 graphs. */
const graphs = Number(process.env.EXPAND_GRAPHS ?? 25)

const schema = {
  title: { type: 'text' },
  secret: { type: 'text', private: true },
  one: { type: 'reference' },
  many: { type: 'list', of: { type: 'reference' } },
  hidden: { type: 'reference', private: true },
  box: { type: 'object', fields: { one: { type: 'reference' } } },
  rows: {
    type: 'blocks',
    blocks: {
      a: { fields: { many: { type: 'list', of: { type: 'reference' } } } },
      b: { fields: { one: { type: 'reference' } } },
    },
  },
}
const containers = ['Posts', 'People', 'goods'] as const
const names = ['one', 'many', 'box.one', 'rows.a.many', 'rows.b.one'] as const
type Name = (typeof names)[number]

const states = ['visible', 'visible', 'visible', 'draft', 'archived', 'scheduled', 'deleted'] as const
/** A node's position in the graph, the other group's object, or an id of nothing. */
const target = fc.oneof(
  { weight: 6, arbitrary: fc.nat(11) },
  { weight: 1, arbitrary: fc.constantFrom('foreign', 'nothing') },
)
const many = fc.array(target, { maxLength: 4 })
const node = fc.record({
  container: fc.constantFrom(...containers),
  state: fc.constantFrom(...states),
  dueMs: fc.integer({ min: 1, max: 3 }),
  one: fc.option(target),
  many: fc.option(many),
  hidden: fc.option(target),
  box: fc.option(target),
  rows: fc.array(fc.oneof(many, target), { maxLength: 3 }),
})
type Node = typeof node extends fc.Arbitrary<infer Value> ? Value : never
const path = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })
const graph = fc.record({
  nodes: fc.array(node, { minLength: 3, maxLength: 12 }),
  reads: fc.array(
    fc.record({
      container: fc.constantFrom(...containers),
      paths: fc.uniqueArray(path, { minLength: 1, maxLength: 4, selector: (names) => names.join() }),
      waitMs: fc.constantFrom(0, 0, 1, 1, 2),
    }),
    { minLength: 2, maxLength: 6 },
  ),
})

interface Placed extends Node {
  id: string
  publishMs: number
}

/** The reference fields of a node with their paths in the answer. */
function slotsOf({ one, many: list, box, rows }: Node): (readonly [name: Name, path: string, to: unknown])[] {
  return [
    ['one', 'one', one],
    ['many', 'many', list ?? []],
    ...(box === null ? [] : [['box.one', 'box.one', box] as const]),
    ...rows.map((row, position) =>
      Array.isArray(row)
        ? (['rows.a.many', `rows.${position}.many`, row] as const)
        : (['rows.b.one', `rows.${position}.one`, row] as const),
    ),
  ]
}

/** What the answer must be, by plain recursion over the nodes. `shown` has the items as they are listed without expansion. */
function expandByModel(
  placed: Placed,
  paths: readonly Name[][],
  idOf: (to: unknown) => string,
  shown: Map<string, [Placed, Data]>,
): Data {
  const inner = paths.filter(({ length }) => length > 0)
  const [, item] = shown.get(placed.id) ?? assert.fail()
  if (inner.length === 0) return item
  const expanded: Data = {}
  for (const [name, at, to] of slotsOf(placed)) {
    const rests = inner.filter(([first]) => first === name).map(([, ...rest]) => rest)
    if (rests.length === 0) continue
    const visible = [to].flat().flatMap((each) => {
      const found = each === null ? undefined : shown.get(idOf(each))
      return found ? [expandByModel(found[0], rests, idOf, shown)] : []
    })
    expanded[at] = Array.isArray(to) ? visible : (visible[0] ?? null)
  }
  return { ...item, expanded }
}

async function place(group: TestGroup, nodes: readonly Node[], idOf: (to: unknown) => string, nowMs: number) {
  const ids = nodes.map((_, position) => idOf(position))
  const made = {
    Posts: await group.collection('Posts', schema),
    People: await group.collection('People', schema),
    goods: await group.integration('goods', schema),
  }
  const toId = (to: unknown) => (to === null ? null : idOf(to))
  const placed = nodes.map((each, position): Placed => {
    const publishMs = { draft: draftPublishMs, scheduled: nowMs + each.dueMs }[each.state as string] ?? nowMs
    return { ...each, id: ids[position] ?? '', publishMs }
  })
  for (const each of placed) {
    const { one, many: list, hidden, box, rows, id, publishMs, state, container } = each
    const value = {
      title: id,
      secret: 'canary',
      one: toId(one),
      many: list?.map(idOf) ?? null,
      hidden: toId(hidden),
      ...(box !== null && { box: { one: idOf(box) } }),
      rows: rows.map((row) =>
        Array.isArray(row) ? { type: 'a', many: row.map(idOf) } : { type: 'b', one: idOf(row) },
      ),
    }
    await group.add(made[container], { id, value, publishMs, archived: state === 'archived' })
  }
  const deleted = placed.filter(({ state }) => state === 'deleted').map(({ id }) => id)
  await write(group.store, nowMs, async (writer) => deleteObjects(writer, await findObjects(writer.group, deleted)))
  return { made, placed }
}

onBothEngines('the expansion of random graphs', (engine) => {
  it('equals a model over an array, with cycles, hidden, foreign, deleted and scheduled targets, as time passes', async () => {
    const harness: Harness = await createHarness(engine)
    after(() => harness.close())
    const { clock, newGroup } = harness
    const other = await newGroup()
    const [foreign] = await other.add(await other.collection('Posts', schema), { value: { title: 'Foreign' } })
    let expandedItems = 0
    await fc.assert(
      fc.asyncProperty(graph, async ({ nodes, reads }) => {
        const group = await newGroup()
        const ids = nodes.map(() => makeId())
        const nothing = makeId()
        const idOf = (to: unknown): string => {
          if (to === 'foreign') return foreign?.id ?? ''
          return to === 'nothing' ? nothing : (ids[(to as number) % ids.length] ?? '')
        }
        const { made, placed } = await place(group, nodes, idOf, clock.now)
        const list = async (container: (typeof containers)[number], query = ''): Promise<Data[]> => {
          const where =
            container === 'goods'
              ? 'integrationObjects?type=goods'
              : `collectionObjects?collectionId=${made[container].id}`
          const answer = await group.get(`/tenant/${where}${query}`)
          assert.equal(answer.statusCode, 200, answer.body)
          assert.ok(!answer.body.includes('canary'))
          return answer.json().data.items
        }
        for (const { container, paths, waitMs } of reads) {
          clock.now += waitMs
          const expand = paths.map((each) => each.join('.')).join(',')
          // First, so that it cannot profit from what the plain lists have cached.
          const answered = await list(container, `&expand=${expand}`)
          const items = (await Promise.all(containers.map((each) => list(each)))).flat()
          const shown = new Map(
            placed.flatMap((each): [string, [Placed, Data]][] => {
              const item = items.find(({ _id }) => _id === each.id)
              const isVisible = (each.state === 'visible' || each.state === 'scheduled') && each.publishMs <= clock.now
              assert.equal(item !== undefined, isVisible)
              return item ? [[each.id, [each, item]]] : []
            }),
          )
          const wanted = placed
            .filter((each) => each.container === container && shown.has(each.id))
            .map((each) => expandByModel(each, paths, idOf, shown))
          assert.deepEqual(
            answered.toSorted((a, b) => (a._id < b._id ? -1 : 1)),
            wanted.toSorted((a, b) => (a._id < b._id ? -1 : 1)),
          )
          expandedItems += wanted.length
        }
      }),
      { numRuns: graphs },
    )
    assert.ok(expandedItems > graphs, 'most answers must have had items')
  })
})
