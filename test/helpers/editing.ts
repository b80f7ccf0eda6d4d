import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'
import { searchTextOf } from '../../src/content/index-keys.ts'
import { listContainers } from '../../src/store/content/containers.ts'
import { fieldRowsOf, toStoredObject } from '../../src/store/content/objects.ts'
import type { GroupStore } from '../../src/store/store.ts'
import type { TestEngine } from './harness.ts'
import { type ManagedGroup, type Managing, type Method, managing } from './manage.ts'
import { assertTotalsAreRight } from './totals.ts'
import { assertUsageIsRight } from './usage.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
export type Data = any

/** A group under edit: calls below its path of the management API, and the items that the delivery API lists. */
export interface Editing extends Managing {
  group: ManagedGroup
  /** A call with the given token, by default the group owner's. */
  send(method: Method, path: string, body?: object, token?: string): Promise<LightMyRequestResponse>
  /** A call that must succeed; returns the `data` of the answer. */
  does(method: Method, path: string, body?: object, token?: string): Promise<Data>
  /** The items that the delivery API lists. */
  delivered(collectionId: string, query?: string): Promise<Data[]>
}

export async function editing(engine: TestEngine, options?: Parameters<typeof managing>[1]): Promise<Editing> {
  const managed = await managing(engine, options)
  const group = await managed.newManagedGroup()
  const pathOf = (path: string): string => `/manage/groups/${group.groupId}${path}`
  return {
    ...managed,
    group,
    send: (method, path, body, token = group.tokens.owner) => managed.call(method, pathOf(path), body, token),
    does: (method, path, body, token = group.tokens.owner) => managed.ask(method, pathOf(path), body, token),
    async delivered(collectionId, query = '') {
      const answer = await group.get(`/tenant/collectionObjects?collectionId=${collectionId}${query}`)
      assert.equal(answer.statusCode, 200, answer.body)
      return answer.json().data.items
    },
  }
}

/** The same with a collection. */
export async function editingPosts(engine: TestEngine, schema: object) {
  const created = await editing(engine)
  const posts = await created.does('POST', '/collections', { name: 'Posts', schema })
  return {
    ...created,
    posts,
    post: (objectValue: object, state: object = {}): Promise<Data> =>
      created.does('POST', `/collections/${posts._id}/objects`, { objectValue, ...state }),
    /** One field of all delivered items, in the order of creation. */
    async deliveredValues(field: string, query = ''): Promise<unknown[]> {
      const items = await created.delivered(posts._id, query)
      return items.map(({ objectValue }) => objectValue[field])
    },
  }
}

export function assertRefused(answer: LightMyRequestResponse, status: number, message: RegExp): Data {
  assert.equal(answer.statusCode, status, answer.body)
  assert.match(answer.json().error, message)
  return answer.json().details
}

const tables = [
  'sites', 'containers', 'objects', 'object_fields', 'totals', 'object_versions', 'working_copies', 'preview_tokens', 'site_previews',
  'group_revisions',  'changes',
] as const // biome-ignore format: one line reads better

/** Every row of a content database, to assert that nothing was changed. */
export async function everythingIn({ database }: GroupStore): Promise<Record<string, string[]>> {
  const dump: Record<string, string[]> = {}
  for (const table of tables) {
    const rows = await database.read.selectFrom(table).selectAll().execute()
    dump[table] = rows.map((row) => JSON.stringify(row)).toSorted()
  }
  return dump
}

const inOrder = (rows: readonly object[]): string[] =>
  rows.map((row) => JSON.stringify(Object.entries(row).toSorted())).toSorted()

/** Asserts that index and search texts follow exactly from the stored values and schemas. */
export async function assertIndexIsRight(group: GroupStore): Promise<void> {
  const containers = new Map((await listContainers(group)).map((container) => [container.id, container]))
  const { read } = group.database
  const rows = await read.selectFrom('objects').selectAll().where('group_id', '=', group.groupId).execute()
  const wanted = rows.flatMap((row) => {
    const container = containers.get(row.container_id)
    assert.ok(container, 'an object has its container')
    assert.equal(row.search_text, searchTextOf(container.schema, JSON.parse(row.value)))
    return fieldRowsOf(container, toStoredObject(row))
  })
  const stored = await read
    .selectFrom('object_fields')
    .selectAll()
    .where('object_id', 'in', (eb) => eb.selectFrom('objects').select('id').where('group_id', '=', group.groupId))
    .execute()
  assert.deepEqual(inOrder(stored), inOrder(wanted))
  await assertTotalsAreRight(group)
  await assertUsageIsRight(group)
}

/** Asserts that the group's changes are numbered consecutively from 1. */
export async function assertNoGaps({ groupId, database }: GroupStore): Promise<void> {
  const rows = await database.read
    .selectFrom('changes')
    .select('seq')
    .where('group_id', '=', groupId)
    .orderBy('seq')
    .execute()
  const state = await database.read
    .selectFrom('group_revisions')
    .select('last_seq')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  assert.deepEqual(
    rows.map(({ seq }) => seq),
    rows.map((_, position) => position + 1),
  )
  assert.equal(state?.last_seq ?? 0, rows.length)
}
