import assert from 'node:assert/strict'
import type { Filter } from '../../src/content/filters.ts'
import { draftPublishMs } from '../../src/content/model.ts'
import { listContainers } from '../../src/store/content/containers.ts'
import { rawReader } from '../../src/store/engine/database.ts'
import { type StoredTotal, storedTotal } from '../../src/store/lists/totals.ts'
import type { GroupStore } from '../../src/store/store.ts'

/** No client filters by these. */
const uncountedFields = ['@media', '@email']

/** The totals recounted from the objects and their index. */
async function countOneByOne({ database }: GroupStore, containerIds: ReadonlySet<string>): Promise<string[]> {
  const totals = new Map<string, number>()
  const count = (...key: string[]) => {
    const text = JSON.stringify(key)
    totals.set(text, (totals.get(text) ?? 0) + 1)
  }
  const isLive = (row: { container_id: string; archived: number; publish_ms: number }) =>
    containerIds.has(row.container_id) && row.archived === 0 && row.publish_ms !== draftPublishMs
  const objects = await database.read.selectFrom('objects').selectAll().execute()
  for (const row of objects.filter(isLive)) count(row.container_id, '', '')
  const fields = await database.read.selectFrom('object_fields').selectAll().execute()
  for (const row of fields.filter((field) => isLive(field) && !uncountedFields.includes(field.field)))
    count(row.container_id, row.field, row.filter_key)
  return [...totals].map(([key, total]) => `${key} ${total}`).toSorted()
}

/** Asserts that the stored totals of a group's containers equal recounted ones. */
export async function assertTotalsAreRight(group: GroupStore): Promise<void> {
  const containerIds = new Set((await listContainers(group)).map(({ id }) => id))
  const rows = await group.database.read.selectFrom('totals').selectAll().execute()
  const kept = rows
    .filter((row) => containerIds.has(row.container_id))
    .map((row) => `${JSON.stringify([row.container_id, row.field, row.filter_key])} ${row.total}`)
  assert.deepEqual(kept.toSorted(), await countOneByOne(group, containerIds))
}

export async function readStoredTotal(
  group: GroupStore,
  ...asked: [containerId: string, filter: Filter | undefined, nowMs: number]
): Promise<StoredTotal> {
  const { text, parameters } = storedTotal(group, ...asked)
  const rows = await rawReader(group.database.read)<StoredTotal>(text, parameters)
  assert.equal(rows.length, 1)
  return rows[0] as StoredTotal
}
