import { splitIntoSlices, yieldForHeavyWork } from '../../concurrency/time-slicing.ts'
import { maxTargets } from '../../content/answer-limit.ts'
import type { VisibleObject } from '../../content/delivery-text.ts'
import { type ExpandTree, parseExpand } from '../../content/expand.ts'
import { maxLimit } from '../../content/list-query.ts'
import type { Container } from '../../content/model.ts'
import { referringPartOf, targetsOf } from '../../content/references.ts'
import { type ContainerRef, measureSchemas, readContainersAtRevision } from '../content/containers.ts'
import { type Revisions, revisionColumns } from '../content/revisions.ts'
import { findCopiedValues } from '../content/working-copies.ts'
import { createSqlBuilder, isOneOf, runStatement } from '../engine/statement.ts'
import type { ObjectRow } from '../schema/tables.ts'
import type { CachedContainer, ReferringContainer } from './content-cache.ts'
import { deliveredColumns, toVisible } from './delivered-rows.ts'
import { readLargeValues, valueOrLength } from './large-values.ts'
import { editedText } from './list-preview.ts'
import { containerKeyOf } from './list-visible.ts'
import type { Reading } from './reading.ts'

/** What depends on the revision only. */
const always = { fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY }

/** A container by its id alone: that of an integration is otherwise cached by its type. */
const idKeyOf = (id: string): string => `id ${id}`

const refOf = ({ kind, id, name }: Container): ContainerRef =>
  kind === 'collection' ? { kind, id } : { kind: 'integration', name }

/** Containers of the group, or some of them. There may be many with large schemas, so they are read in parts. */
async function* readContainers({ group, nowMs, confirm, untilDue }: Reading, ids?: readonly string[]) {
  const parts = splitIntoSlices(await measureSchemas(group, ids), ({ bytes }) => bytes)
  for (const { items, characters } of parts) {
    await yieldForHeavyWork(characters)
    const part = items.map(({ id }) => id)
    const { found, revision, dueMs } = await readContainersAtRevision(group, part, nowMs)
    confirm(revision)
    const untilDueMs = untilDue(dueMs)
    for (const { container, nextPublishMs } of found)
      yield { container, revision, nextPublishMs: Math.min(nextPublishMs, untilDueMs) } satisfies CachedContainer
  }
}

/** Containers by their ids, from the cache or the database. */
async function findContainers(reading: Reading, ids: readonly string[]): Promise<Map<string, Container>> {
  const { group, cache, nowMs, confirm } = reading
  const { groupId } = group
  const containers = new Map<string, Container>()
  for (const id of ids) {
    const get = (key: string) => cache.containers.get(groupId, cache.revisionOf(groupId), key, nowMs)
    const cached = get(containerKeyOf({ kind: 'collection', id })) ?? get(idKeyOf(id))
    if (!cached) continue
    confirm(cached.revision)
    containers.set(id, cached.container)
  }
  const missing = ids.filter((id) => !containers.has(id))
  if (missing.length === 0) return containers
  for await (const found of readContainers(reading, missing)) {
    const { container, revision, nextPublishMs: untilMs } = found
    containers.set(container.id, container)
    for (const key of [containerKeyOf(refOf(container)), idKeyOf(container.id)])
      cache.containers.set(groupId, revision, key, found, { fromMs: nowMs, untilMs })
  }
  return containers
}

/** What `expand` needs of all containers. */
async function findReferring(reading: Reading): Promise<ReferringContainer[]> {
  const { group, cache, nowMs, revision } = reading
  const cached = cache.referring.get(group.groupId, revision, '', nowMs)
  if (cached) return cached
  const referring: ReferringContainer[] = []
  for await (const { container } of readContainers(reading)) {
    const { kind, name } = container
    const schema = referringPartOf(container.schema)
    if (schema.size > 0) referring.push({ kind, name, schema })
  }
  cache.referring.set(group.groupId, revision, '', referring, always)
  return referring
}

/** Checks an `expand` parameter by the schemas of this revision. */
export async function findExpansion(
  reading: Reading,
  { container, revision }: Pick<CachedContainer, 'container' | 'revision'>,
  text: string | undefined,
): Promise<ExpandTree | undefined> {
  if (text === undefined) return undefined
  const { group, cache, nowMs } = reading
  const key = `${container.id} ${text}`
  const cached = cache.expansions.get(group.groupId, revision, key, nowMs)
  if (cached) return cached
  let referring: Promise<ReferringContainer[]> | undefined
  const tree = await parseExpand(container.schema, text, async (fields) => {
    referring ??= findReferring(reading)
    const containers = await referring
    await yieldForHeavyWork() // there may be thousands, for each of the paths
    return targetsOf(fields, containers).map(({ schema }) => schema)
  })
  cache.expansions.set(group.groupId, revision, key, tree, always)
  return tree
}

export interface Target {
  container: Container
  object: VisibleObject
}

export interface FoundTargets {
  /** Those that are visible now. */
  targets: Target[]
  /** When the next one becomes visible. */
  untilMs: number
}

type TargetRow = Pick<ObjectRow, Exclude<(typeof deliveredColumns)[number], 'value'> | 'container_id' | 'archived'> & {
  /** Null if it is not visible. */
  value: string | null
}

/** Objects of the group that are visible now, with two statements or three: some values are long, and containers may be cached. */
export async function readTargets(reading: Reading, ids: readonly string[], maxBytes: number): Promise<FoundTargets> {
  const { group, nowMs, confirm, isPreview } = reading
  const draft = createSqlBuilder(group.database)
  const columns = [...deliveredColumns.filter((name) => name !== 'value'), 'container_id', 'archived']
  const isVisible = isPreview ? 'o.archived = 0' : `o.archived = 0 and o.publish_ms <= ${draft.bind(nowMs)}`
  const value = `case when ${isVisible} then ${valueOrLength(maxBytes, ids.length > maxLimit ? maxTargets : maxLimit)} end as value`
  const text = `select r.revision, r.media_revision, ${columns.map((name) => `o.${name}`).join(', ')}, ${value} from (select ${revisionColumns(draft, group.groupId)}) as r left join ${draft.table('objects')} as o on o.group_id = ${draft.bind(group.groupId)} and ${isOneOf(draft, 'o.id', ids)}`
  const rows = await runStatement<(TargetRow | { id: null }) & Revisions>(group, text, draft)
  for (const { revision } of rows.slice(0, 1)) confirm(revision)
  const found = rows.filter((row): row is TargetRow & Revisions => row.id !== null)
  const visible = found.flatMap((row) => (row.value === null ? [] : { ...row, value: row.value }))
  const { values, revisions } = await readLargeValues(group, visible, maxBytes)
  for (const { revision } of revisions) confirm(revision)
  const copies = isPreview ? await findCopiedValues(group, ids) : undefined
  const containers = await findContainers(reading, [...new Set(visible.map(({ container_id }) => container_id))])
  const targets = visible.flatMap((row): Target[] => {
    const container = containers.get(row.container_id) // undefined while a deleted one is purged
    const { id, publish_ms, created_ms, updated_ms, external_id, account_handle } = row
    const liveText = values.get(id) ?? row.value
    const copy = copies?.get(id)
    const valueText = container && copy !== undefined ? editedText(container, liveText, copy) : liveText
    const object = toVisible([id, valueText, publish_ms, created_ms, updated_ms, external_id, account_handle])
    return container ? [{ container, object }] : []
  })
  const due = found.filter(({ archived, publish_ms }) => archived === 0 && publish_ms > nowMs)
  return { targets, untilMs: Math.min(...due.map(({ publish_ms }) => publish_ms)) }
}
