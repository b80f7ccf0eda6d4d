import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import fc from 'fast-check'
import { toIso } from '../../src/content/moments.ts'
import { type Cluster, startCluster } from '../cache/cluster.ts'
import { createApiKey, createContainer, createGroup, createObjects } from '../helpers/authoring.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { contradictions, type ModelObject, mergeValues, patchValue, settle, type Value } from './model.ts'

/** `npm run prove -- drafts` runs 10,000. */
const scripts = Number(process.env.DRAFT_SCRIPTS ?? 10)
const objectsPerGroup = 3
const secondMs = 1000

const ops = [
  'edit', 'save', 'save', 'save', 'publish', 'merge', 'schedule', 'schedule', 'cancel', 'discard', 'archiveAt', 'restore',
] as const // biome-ignore format: one line reads better

const step = fc.record({
  op: fc.constantFrom(...ops),
  object: fc.nat(objectsPerGroup - 1),
  changes: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('0', '1', '2', null), {
    minKeys: 1,
    maxKeys: 2,
  }),
  seconds: fc.integer({ min: 1, max: 5 }),
  /** The process that is called. */
  at: fc.nat(1),
})
type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never

/** Scripts that run at the same time, each in its own group, because all have the clock in common. */
const width = Math.min(scripts, 10)
/** A step of each script, or one of the clock. */
const round = fc.oneof(
  { weight: ops.length, arbitrary: fc.array(step, { minLength: width, maxLength: width }) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 5 }) },
)

async function openScript(cluster: Cluster) {
  const { clock, reference } = cluster
  const { store } = reference.service
  const group = await createGroup(store, { name: 'Script' }, clock.now)
  const { key } = await createApiKey(store, group.id, 'test', clock.now)
  const content = { groupId: group.id, database: await store.content(group.database) }
  const text = { type: 'text' }
  const schema = { a: text, b: text, c: text }
  const posts = await createContainer(content, { kind: 'collection', name: 'Posts', schema }, clock.now)
  const inputs = Array.from({ length: objectsPerGroup }, (_, n) => ({ value: { a: String(n) }, publishMs: clock.now }))
  const objects = await createObjects(content, posts, inputs, clock.now)
  const path = `/manage/groups/${group.id}`
  const list = `/tenant/collectionObjects?collectionId=${posts.id}`
  const model = objects.map(({ value }): ModelObject => ({ live: value as Value, archived: false }))
  const created = await cluster.manage('elsewhere', 'POST', `${path}/previews/site`)
  const { token } = JSON.parse(created.body).data

  async function read(at: number, query: string): Promise<Value[]> {
    const instance = cluster.instances[at === 0 ? 0 : 1]
    const answer = await instance.send(list + query, { headers: { authorization: key } })
    assert.equal(answer.status, 200, String(answer.body))
    const { items } = JSON.parse(String(answer.body)).data
    return items.map(({ objectValue: { _id, mediaFields, ...value } }: { objectValue: Value }) => inOrder(value))
  }

  const inOrder = (value: Value): Value => Object.fromEntries(Object.entries(value).toSorted())
  const visible = () => model.filter(({ archived }) => !archived)
  return {
    model,
    call: (at: number, method: 'PATCH' | 'POST' | 'DELETE', object: number, sub: string, body?: object) =>
      cluster.manage(cluster.instances[at === 0 ? 0 : 1], method, `${path}/objects/${objects[object]?.id}${sub}`, body),
    version: async (object: number) =>
      JSON.parse((await cluster.manage('elsewhere', 'GET', `${path}/objects/${objects[object]?.id}`)).body).data
        .version,
    /** What a process delivers, and what it shows to an editor. */
    async compare(at: number, why: string, knowsAll = true): Promise<void> {
      const delivered = visible().map(({ live }) => inOrder(live))
      if (knowsAll) assert.deepEqual(await read(at, ''), delivered, `${why}: the list`)
      assert.deepEqual(
        await read(at, `&preview=${token}`),
        visible().map(({ live, copy }) => inOrder(copy?.value ?? live)),
        `${why}: the preview`,
      )
    },
  }
}

type Script = Awaited<ReturnType<typeof openScript>>

/** Takes a step in the service and in the model, and compares whether it was refused. */
async function take({ model, call, version }: Script, taken: Step, nowMs: number): Promise<void> {
  const { op, object: index, changes, seconds, at } = taken
  const object = model[index]
  if (!object) return
  const { copy, live } = object
  const dueMs = nowMs + seconds * secondMs
  const isRefused = async (answer: Promise<{ status: number; body: string }>, expected: boolean) => {
    const { status, body } = await answer
    assert.equal(status >= 400, expected, `${op}: ${status} ${body}`)
    assert.ok(status < 500, body)
  }
  const publishes = (merge: boolean) => {
    if (!copy) return undefined
    const isStale =
      JSON.stringify(Object.entries(copy.base).toSorted()) !== JSON.stringify(Object.entries(live).toSorted())
    if (!isStale) return copy.value
    return merge && contradictions(copy.base, live, copy.value).length === 0
      ? mergeValues(copy.base, live, copy.value)
      : undefined
  }
  switch (op) {
    case 'edit': {
      const edited = patchValue(live, changes)
      const isContradicted = copy?.dueMs !== undefined && contradictions(copy.base, edited, copy.value).length > 0
      await isRefused(
        call(at, 'PATCH', index, '', { version: await version(index), objectValue: changes }),
        isContradicted,
      )
      if (!isContradicted) object.live = edited
      return
    }
    case 'save': {
      await isRefused(call(at, 'PATCH', index, '/draft', { objectValue: changes }), copy?.dueMs !== undefined)
      if (copy?.dueMs === undefined)
        object.copy = { base: copy?.base ?? live, value: patchValue(copy?.value ?? live, changes) }
      return
    }
    case 'publish':
    case 'merge': {
      const published = publishes(op === 'merge')
      await isRefused(call(at, 'POST', index, '/draft/publish', { merge: op === 'merge' }), published === undefined)
      if (published) Object.assign(object, { live: published, copy: undefined })
      return
    }
    case 'schedule': {
      const scheduled = publishes(true)
      const body = { publishAt: toIso(dueMs), merge: true }
      await isRefused(call(at, 'POST', index, '/draft/schedule', body), scheduled === undefined)
      if (scheduled) object.copy = { base: live, value: scheduled, dueMs }
      return
    }
    case 'cancel':
      await isRefused(call(at, 'POST', index, '/draft/schedule', { publishAt: null }), !copy)
      if (copy) copy.dueMs = undefined
      return
    case 'discard':
      await isRefused(call(at, 'DELETE', index, '/draft'), !copy)
      object.copy = undefined
      return
    case 'archiveAt':
      await isRefused(call(at, 'PATCH', index, '', { version: await version(index), archiveDate: toIso(dueMs) }), false)
      object.archiveMs = dueMs
      return
    default:
      await isRefused(call(at, 'POST', index, '/restore'), false)
      object.archived = false
      if (object.archiveMs !== undefined && object.archiveMs <= nowMs) object.archiveMs = undefined
  }
}

onBothEngines('scripts of saves, publishes, schedules and clock steps over two processes', (engine) => {
  let cluster: Cluster
  before(async () => {
    cluster = await startCluster(engine, { usesThreads: engine === 'sqlite' })
  })
  after(() => cluster.close())

  it('deliver what a model delivers, which knows working copies as plain values', async (context) => {
    const seen = { steps: 0, clockSteps: 0 }
    const { clock } = cluster
    await fc.assert(
      fc.asyncProperty(fc.array(round, { minLength: 15, maxLength: 25 }), async (rounds) => {
        const running = await Promise.all(
          Array.from({ length: width }, async () => ({
            script: await openScript(cluster),
            /** The processes that have written since the last step of the clock. */
            writers: new Set<number>(),
          })),
        )
        for (const [position, taken] of rounds.entries()) {
          seen.steps += width
          if (typeof taken === 'number') {
            const why = `round ${position}, a clock step`
            await cluster.setClock(clock.now + taken * secondMs)
            seen.clockSteps += width
            await Promise.all(
              running.map(async ({ script, writers }) => {
                settle(script.model, clock.now)
                // A process knows the writes of others after a second, and what is due at once.
                writers.clear()
                await Promise.all([script.compare(0, why), script.compare(1, why)])
              }),
            )
          } else
            await Promise.all(
              running.map(async ({ script, writers }, number) => {
                const step = taken[number] as Step
                await take(script, step, clock.now)
                writers.add(step.at)
                await script.compare(step.at, `round ${position}, script ${number}, ${step.op}`, writers.size === 1)
              }),
            )
        }
        await cluster.setClock(clock.now + 10 * secondMs)
      }),
      { numRuns: Math.ceil(scripts / width), endOnFailure: true },
    )
    context.diagnostic(`${engine}: ${scripts} scripts of ${seen.steps} steps, ${seen.clockSteps} of them of the clock`)
  })
})
