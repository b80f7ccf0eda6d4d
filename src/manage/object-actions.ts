import { mergeParts } from '../content/merge.ts'
import { type Container, draftPublishMs, type StoredObject, unsetPublishMs } from '../content/model.ts'
import { parseDateTime } from '../content/moments.ts'
import { isMirrored } from '../content/product-edits.ts'
import { checkObjectValue } from '../content/validate.ts'
import { conflict, invalid, notFound } from '../core/errors.ts'
import { changeObjects, deleteObjects, type ObjectChange } from '../store/content/change-objects.ts'
import { type ContentWriter, createWriteBudget, requestLimits } from '../store/content/changes.ts'
import { findContainerById } from '../store/content/containers.ts'
import { findObject, findObjects, insertObjects, measureObjects } from '../store/content/objects.ts'
import { refuseContradictions } from '../store/content/publish-working-copies.ts'
import { findSomeReferrers } from '../store/content/references.ts'
import { uniqueCopies } from '../store/content/unique.ts'
import { showObject } from './object-shapes.ts'
import { refuseStale } from './shapes.ts'

/** What can be done to an existing object, by the same code for one object and for many. */
export const objectActions = [
  'update', 'patch', 'delete', 'duplicate', 'publish', 'schedule', 'unpublish', 'archive', 'restore',
] as const // biome-ignore format: one line reads better
export type ObjectAction = (typeof objectActions)[number]

export interface ObjectItem {
  objectId: string
  version?: number | undefined
  objectValue?: Record<string, unknown> | undefined
  publishDate?: string | null | undefined
  archived?: boolean | undefined
  archiveDate?: string | null | undefined
  draft?: boolean | undefined
  /** For a deletion: whether other objects may refer to it. */
  force?: boolean | undefined
}

type GivenState = Pick<ObjectItem, 'publishDate' | 'draft' | 'archived' | 'archiveDate'>

/** Reads a publish date: a time, or null for "always". A draft is never published automatically. */
function publishMsOf({ publishDate, draft }: GivenState, nowMs: number, before?: StoredObject): number | undefined {
  if (draft && publishDate !== undefined) throw invalid('Give publishDate or draft, not both.')
  if (draft) return draftPublishMs
  if (publishDate === null) return unsetPublishMs
  if (publishDate === undefined) {
    const leavesDraft = draft === false && before?.publishMs === draftPublishMs
    return leavesDraft ? nowMs : undefined
  }
  const ms = parseDateTime(publishDate)
  if (ms === undefined || ms === draftPublishMs)
    throw invalid('publishDate must be a moment such as 2026-03-01T09:30:00Z, or null.')
  return ms
}

/** Reads an archive date: a time in the future, or null for "never". */
export function archiveMsOf(archiveDate: string | null, nowMs: number): number | null {
  if (archiveDate === null) return null
  const ms = parseDateTime(archiveDate)
  if (ms === undefined) throw invalid('archiveDate must be a moment such as 2026-03-01T09:30:00Z, or null.')
  if (ms <= nowMs) throw invalid('archiveDate must lie in the future; to archive at once, archive.')
  return ms
}

/** The changes to an object's state in an input. */
export function stateOf(
  given: GivenState,
  nowMs: number,
  before?: StoredObject,
): Pick<ObjectChange, 'publishMs' | 'archived' | 'archiveMs'> {
  const publishMs = publishMsOf(given, nowMs, before)
  return {
    ...(publishMs !== undefined && { publishMs }),
    ...(given.archived !== undefined && { archived: given.archived }),
    ...(given.archiveDate !== undefined && { archiveMs: archiveMsOf(given.archiveDate, nowMs) }),
  }
}

function required<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw invalid(`${name} is required.`)
  return value
}

function scheduledMs(item: ObjectItem, nowMs: number): number {
  const publishMs = publishMsOf({ publishDate: required(item.publishDate, 'publishDate') }, nowMs)
  if (publishMs === undefined || publishMs <= nowMs)
    throw invalid('publishDate must lie in the future; to publish at once, publish.')
  return publishMs
}

/** A date in the past stays. Without a date, the object would be sorted behind all others, though it was just published. */
const publishedMs = ({ publishMs }: StoredObject, nowMs: number): number =>
  publishMs === unsetPublishMs || publishMs > nowMs ? nowMs : publishMs

/** One item with its object, as the transaction sees it. */
interface Target {
  item: ObjectItem
  container: Container
  object: StoredObject
}

type Change = Exclude<ObjectAction, 'delete' | 'duplicate'>

/** The change that each action makes. */
const changes: Record<Change, (target: Target, nowMs: number) => ObjectChange> = {
  update: ({ item, object }, nowMs) => ({
    ...stateOf(item, nowMs, object),
    value: required(item.objectValue, 'objectValue'),
  }),
  patch: ({ object, item }, nowMs) => ({
    ...stateOf(item, nowMs, object),
    value: mergeParts(object.value, item.objectValue ?? {}),
  }),
  publish: ({ object }, nowMs) => ({ publishMs: publishedMs(object, nowMs), archived: false }),
  schedule: ({ item }, nowMs) => ({ publishMs: scheduledMs(item, nowMs), archived: false }),
  unpublish: () => ({ publishMs: draftPublishMs }),
  archive: () => ({ archived: true }),
  restore: () => ({ archived: false }),
}

/** The action in versions and in the audit record. */
const pastTense: Record<Change, string> = {
  update: 'updated',
  patch: 'updated',
  publish: 'published',
  schedule: 'scheduled',
  unpublish: 'unpublished',
  archive: 'archived',
  restore: 'restored',
}

const noSuchObject = (): Error => notFound('There is no such object in this group.')

/** An editable object with its container, as the transaction sees them. */
export async function requireObject(group: ContentWriter['group'], objectId: string) {
  const found = await findObject(group, objectId)
  const container = found && (await findContainerById(group, found.containerId))
  if (!found || !container || isMirrored(container)) throw noSuchObject()
  return { container, object: found.object }
}

export function checkObjectVersion(
  containerId: string,
  object: StoredObject,
  { version, ...yours }: ObjectItem,
  nowMs: number,
): void {
  refuseStale('object', object.version, version, () => ({ current: showObject(containerId, object, nowMs), yours }))
}

/** Runs work for one of many items; an error that it throws names the item. */
export type ForItem = (position: number, work: () => void) => void

/** Limits of a batch, for the memory and for one set of statements. */
const itemsPerBatch = 100
const bytesPerBatch = 2 * 1024 ** 2

function* inBatches<Item>(items: readonly Item[], bytesOf: (item: Item) => number) {
  for (let first = 0, next = 0; first < items.length; first = next) {
    for (let bytes = 0; next < items.length && next - first < itemsPerBatch && bytes < bytesPerBatch; next += 1)
      bytes += bytesOf(items[next] as Item)
    yield { first, batch: items.slice(first, next) }
  }
}

const sumOf = (sizes: ReadonlyMap<string, number>): number => sizes.values().reduce((sum, bytes) => sum + bytes, 0)

/** Reads objects in batches; together they may not exceed what one request may work on. */
export async function* readInBatches(group: ContentWriter['group'], ids: readonly string[]) {
  const sizes = await measureObjects(group, ids)
  if (ids.length > 1) createWriteBudget(requestLimits)({ bytes: sumOf(sizes) })
  for (const { batch } of inBatches(ids, (id) => sizes.get(id) ?? 0)) yield await findObjects(group, batch)
}

/** The objects of a batch of items, the first of which has the position `first`. */
async function findTargets(
  { group, nowMs }: ContentWriter,
  items: readonly ObjectItem[],
  first: number,
  forItem: ForItem,
): Promise<Target[]> {
  const ids = items.map(({ objectId }) => objectId)
  const found = new Map((await findObjects(group, ids)).map((one) => [one.object.id, one]))
  const containers = new Map<string, Container | undefined>()
  for (const { containerId } of found.values())
    if (!containers.has(containerId)) containers.set(containerId, await findContainerById(group, containerId))
  const targets: Target[] = []
  for (const [position, item] of items.entries()) {
    forItem(first + position, () => {
      const one = found.get(item.objectId)
      const container = one && containers.get(one.containerId)
      if (!one || !container || isMirrored(container)) throw noSuchObject()
      checkObjectVersion(container.id, one.object, item, nowMs)
      targets.push({ item, container, object: one.object })
    })
  }
  return targets
}

/** Applies an action to objects of one container; answers them in their order. */
async function actInContainer(
  writer: ContentWriter,
  action: Exclude<ObjectAction, 'delete'>,
  container: Container,
  targets: readonly (Target & { change: ObjectChange })[],
): Promise<StoredObject[]> {
  if (action !== 'duplicate') {
    const planned = targets.map(({ object, change }) => ({ before: object, wanted: change }))
    await refuseContradictions(writer, container, planned)
    return changeObjects(writer, container, planned, pastTense[action])
  }
  // The copy is a draft, and may show the same missing media as the original.
  const values = await uniqueCopies(
    writer,
    container,
    targets.map(({ object }) => object.value),
  )
  const copies = targets.map(({ object: { accountHandle } }, position) => ({
    value: values[position] ?? {},
    accountHandle,
    publishMs: draftPublishMs,
  }))
  return insertObjects({ ...writer, allowsMissing: true }, container, copies)
}

const maxReferrersShown = 20

/** `deleted` are all objects of the request: references among them do not count. */
async function refuseReferenced(
  { group }: ContentWriter,
  targets: readonly Target[],
  deleted: readonly string[],
): Promise<void> {
  const ids = targets.filter(({ item }) => !item.force).map(({ object }) => object.id)
  const { referrers, hasMore } = await findSomeReferrers(group, ids, deleted)
  const [first] = referrers
  if (!first) return
  const totalCount = referrers.length
  const count = hasMore ? `more than ${totalCount - 1}` : totalCount - 1
  const others = totalCount > 1 ? ` and ${count} more` : ''
  const shown = referrers.slice(0, maxReferrersShown)
  throw conflict(
    `${ids.length === 1 ? `The object ${ids[0]} is` : 'Some of these objects are'} referred to by the object ${first.id}${others}. Remove the references first ("object references" lists them), or set force=true, which leaves them without a target. Nothing was deleted.`,
    {
      usedBy: shown.map(({ id, containerId }) => ({ _id: id, collectionId: containerId })),
      totalCount,
      ...(hasMore && { hasMore }),
    },
  )
}

async function actOnBatch(
  writer: ContentWriter,
  action: ObjectAction,
  { items, first }: { items: readonly ObjectItem[]; first: number },
  forItem: ForItem,
  deleted: readonly string[],
): Promise<ChangedObject[]> {
  const targets = await findTargets(writer, items, first, forItem)
  if (action === 'delete') {
    await refuseReferenced(writer, targets, deleted)
    await deleteObjects(
      writer,
      targets.map(({ container, object }) => ({ containerId: container.id, object })),
    )
    return []
  }
  const planned = targets.map((target, position) => {
    let change: ObjectChange = {}
    forItem(first + position, () => {
      if (action === 'duplicate') return
      change = changes[action](target, writer.nowMs)
      if (change.value) checkObjectValue(target.container.schema, writer.group.groupId, change.value)
    })
    return { ...target, change }
  })
  const results = new Map<string, ChangedObject>()
  for (const [container, ofContainer] of Map.groupBy(planned, (target) => target.container)) {
    const after = await actInContainer(writer, action, container, ofContainer)
    for (const [position, { object }] of ofContainer.entries())
      results.set(object.id, { containerId: container.id, object: after[position] as StoredObject })
  }
  return targets.flatMap(({ object }) => results.get(object.id) ?? [])
}

export interface ChangedObject {
  containerId: string
  object: StoredObject
}

function refuseDuplicates(items: readonly ObjectItem[], forItem: ForItem): void {
  const named = new Set<string>()
  for (const [position, { objectId }] of items.entries()) {
    forItem(position, () => {
      if (named.has(objectId)) throw invalid('The object is in the list twice.')
      named.add(objectId)
    })
  }
}

/** Applies one action to many objects and shows them afterwards; of deleted ones nothing is shown. */
export async function actOnObjects<Shown>(
  writer: ContentWriter,
  action: ObjectAction,
  items: readonly ObjectItem[],
  show: (changed: ChangedObject) => Shown,
  forItem: ForItem = (_position, work) => work(),
): Promise<Shown[]> {
  refuseDuplicates(items, forItem)
  const ids = items.map(({ objectId }) => objectId)
  const sizes = await measureObjects(writer.group, ids)
  if (items.length > 1) writer.spend({ bytes: sumOf(sizes) })
  const shown: Shown[] = []
  const deleted = action === 'delete' ? ids : []
  for (const { first, batch } of inBatches(items, ({ objectId }) => sizes.get(objectId) ?? 0)) {
    const changed = await actOnBatch(writer, action, { items: batch, first }, forItem, deleted)
    shown.push(...changed.map(show))
  }
  return shown
}
