import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { deliverCollectionObject, deliverIntegrationObject, deliverSite } from '../../src/content/delivery.ts' // biome-ignore format: one line reads better
import { listContainers } from '../../src/store/content/containers.ts'
import { isDue, readDueMs, settleIfDue } from '../../src/store/content/due.ts'
import { toStoredObject } from '../../src/store/content/objects.ts'
import { readRevision } from '../../src/store/content/revisions.ts'
import { listSites } from '../../src/store/content/sites.ts'
import { schemaText } from '../../src/store/content/stored-schema.ts'
import { findGroupById } from '../../src/store/control/groups.ts'
import type { GroupRevisionRow, ObjectRow, ObjectVersionRow, WorkingCopyRow } from '../../src/store/schema/tables.ts'
import type { GroupStore } from '../../src/store/store.ts'
import { createItem } from '../helpers/authoring.ts'
import { assertIndexIsRight, assertNoGaps } from '../helpers/editing.ts'
import { onBothEngines, type TestGroup } from '../helpers/harness.ts'
import { type Managing, managing } from '../helpers/manage.ts'
import { callOf, readWorld, schemas, step, verbNames } from '../helpers/verb-steps.ts'

/** `npm run prove -- verbs` runs 1,000. */
const runs = Number(process.env.VERB_RUNS ?? 8)
const mostSteps = 25
const text = { type: 'text' }
const productSchema = { name: text, productType: text, productImage: { type: 'image' } }
const tables = [
  'sites', 'containers', 'objects', 'object_versions', 'working_copies', 'preview_tokens', 'group_revisions',
  'changes',
] as const // biome-ignore format: one line reads better
const sign = () => ({ source: 'signed', expiresAt: '' })

/** A group with content of each kind, including kinds that no verb creates. */
async function newFilledGroup({ newGroup, ask, clock }: Managing): Promise<TestGroup> {
  const group = await newGroup()
  for (const name of ['cover.png', 'logo.png']) await createItem(group.store, `${group.group.id}/${name}`, clock.now)
  const reviews = await group.collection('Collection 0', schemas[0] ?? {})
  await group.add(reviews, { value: { title: 'a' }, archived: true, review: 'pending' }, { value: { title: 'b' } })
  const stripe = await group.integration('stripe', productSchema)
  await group.add(stripe, { value: { name: 'Cake' }, externalId: 'p1' }, { value: { name: 'Loaf' }, externalId: 'p2' })
  await ask('POST', `/manage/groups/${group.group.id}/sites`, { name: 'Site' })
  return group
}

async function readRows({ groupId, database }: GroupStore): Promise<Record<string, object[]>> {
  const rows: Record<string, object[]> = {}
  for (const table of tables)
    rows[table] = await database.read.selectFrom(table).selectAll().where('group_id', '=', groupId).execute()
  return rows
}

/** Everything stored of a group, and everything that can be delivered of it at any time. */
async function readState({ service }: Managing, { group, store }: TestGroup) {
  const rows = await readRows(store)
  const { tier, versionsKept } = await findGroupById(service.store, group.id)
  const containers = await listContainers(store)
  const objects = rows.objects as ObjectRow[]
  const versions = rows.object_versions as ObjectVersionRow[]
  const [counters] = rows.group_revisions as GroupRevisionRow[]
  const delivered = objects.map((row) => {
    const container = containers.find(({ id }) => id === row.container_id)
    assert.ok(container)
    const deliver = container.kind === 'collection' ? deliverCollectionObject : deliverIntegrationObject
    return deliver(container, toStoredObject(row), sign)
  })
  const sites = (await listSites(store)).map((site) => deliverSite(site, tier, sign))
  // What is due changes a delivered answer later, without a further write.
  const due = (rows.working_copies as WorkingCopyRow[]).filter((row) => row.due_ms !== null)
  const schedules = due.map(({ id, due_ms, value }) => [id, due_ms, value])
  const archivings = objects.map(({ id, archived, archive_ms }) => [id, archived === 0 ? archive_ms : null])
  const shells = [
    [tier],
    ...schedules,
    ...archivings,
    ...containers.map(({ id, name, schema }) => [id, name, schemaText(schema)]),
  ]
  const inOrder = (things: object[]): string[] => things.map((thing) => JSON.stringify(thing)).toSorted()
  return {
    stored: inOrder(Object.values(rows).flat()),
    deliverable: inOrder([...delivered, ...sites, ...shells]).join('\n'),
    revision: counters?.revision ?? 0,
    versionsKept,
    objects: new Map(objects.map((row) => [row.id, row])),
    versions: Map.groupBy(versions, (row) => row.object_id),
  }
}

type State = Awaited<ReturnType<typeof readState>>

/** Asserts that former values are stored as versions, up to the group's limit. */
function assertVersions(before: State, after: State): void {
  for (const [id, row] of after.objects) {
    const former = before.objects.get(id)
    const versions = after.versions.get(id) ?? []
    if (!former || former.version === row.version) {
      assert.deepEqual(versions, before.versions.get(id) ?? [])
      continue
    }
    assert.ok(versions.length <= after.versionsKept, 'versions are limited to the group’s setting')
    if (row.version - former.version > after.versionsKept) continue
    const { group_id, version, value, publish_ms, archived, changed_by, change, updated_ms } = former
    const copy = {
      object_id: id,
      group_id,
      version,
      value,
      publish_ms,
      archived,
      changed_by,
      change,
      changed_ms: updated_ms,
    }
    assert.deepEqual({ ...versions.find((one) => one.version === version) }, copy)
  }
}

onBothEngines('any sequence of verbs', (engine) => {
  it('keeps the index, the revision, the record and the versions correct after each step', async (context) => {
    const managed = await managing(engine)
    const { call, ask, clock } = managed
    const seen = { done: {} as Record<string, number>, refused: {} as Record<string, number> }
    const count = (of: 'done' | 'refused', verb: string): void => {
      seen[of][verb] = (seen[of][verb] ?? 0) + 1
    }
    const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((all, one) => all + one, 0)

    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: mostSteps - 10, maxLength: mostSteps }), async (row) => {
        const sides = []
        for (let n = 0; n < 2; n += 1) {
          const group = await newFilledGroup(managed)
          sides.push({ group, state: await readState(managed, group) })
        }
        for (const taken of row) {
          clock.now += taken.waitMs
          for (const side of sides) await applyDue(managed, side)
          const [{ group, state: before }, other] = (taken.who === 0 ? sides : sides.toReversed()) as [Side, Side]
          const [method, path, body] = callOf(taken, await readWorld(group.store), clock.now)
          const answer = await call(method, `/manage/groups/${group.group.id}${path}`, body)
          const what = `${taken.verb}: ${method} ${path} ${JSON.stringify(body)} → ${answer.body.slice(0, 300)}`
          assert.ok(answer.statusCode < 500, what)
          const after = await readState(managed, group)
          const isChanged = after.deliverable !== before.deliverable
          assert.equal(after.revision !== before.revision, isChanged, `revision ${after.revision}: ${what}`)
          if (answer.statusCode >= 400) assert.deepEqual(after.stored, before.stored, what)
          assert.equal(await readRevision(other.group.store), other.state.revision, what)
          await assertIndexIsRight(group.store)
          await assertNoGaps(group.store)
          assertVersions(before, after)
          sides[taken.who] = { group, state: after }
          count(answer.statusCode < 400 ? 'done' : 'refused', taken.verb)
        }
        for (const { group, state } of sides) {
          assert.deepEqual(
            (await readState(managed, group)).stored,
            state.stored,
            'a group is changed by its own calls only',
          )
          await ask('POST', `/manage/groups/${group.group.id}/delete`, { confirm: group.group.name })
          const left = Object.values(await readRows(group.store)).flat() as { closed?: number }[]
          assert.deepEqual(left.map(({ closed }) => closed), [1], 'except for the marker that it is closed') // biome-ignore format: short
        }
      }),
      // Shrinking so long a sequence takes too long; the message names the failing call.
      { numRuns: runs, endOnFailure: true },
    )
    const [done, refused] = [sum(seen.done), sum(seen.refused)]
    context.diagnostic(`${engine}: ${runs} rows of verbs, ${done} calls done and ${refused} refused`)
    assert.ok(done > refused, 'most calls must be done for this to mean something')
    if (runs >= 500) {
      const never = verbNames.filter((name) => !seen.done[name])
      assert.deepEqual(never, [], 'every verb must have been called')
    }
  })
})

interface Side {
  group: TestGroup
  state: State
}

/** A call would do it first, even one that is refused. */
async function applyDue(managed: Managing, side: Side): Promise<void> {
  if (!isDue(await readDueMs(side.group.store), managed.clock.now)) return
  await settleIfDue(side.group.store, managed.clock.now)
  side.state = await readState(managed, side.group)
}
