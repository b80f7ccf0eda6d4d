import { mergeParts } from '../content/merge.ts'
import { type Container, draftPublishMs, type StoredObject, unsetPublishMs } from '../content/model.ts'
import { parseDateTime } from '../content/moments.ts'
import { checkObjectValue } from '../content/validate.ts'
import { invalid, notFound } from '../errors.ts'
import { changeObjects, deleteObjects, type ObjectChange } from '../store/change-objects.ts'
import type { ContentWriter } from '../store/changes.ts'
import { findContainerById } from '../store/containers.ts'
import { findObject, findObjects, insertObjects, measureObjects } from '../store/objects.ts'
import { createWriteBudget, requestLimits } from '../store/write-limits.ts'
import { isMirrored } from './containers.ts'
import { showObject } from './content-shapes.ts'
import { refuseStale } from './stale.ts'

/** What can be done to an object that exists, one way for a single call and for many at once. */
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
  draft?: boolean | undefined
}

type GivenState = Pick<ObjectItem, 'publishDate' | 'draft' | 'archived'>

/** A publish date as it is written: a moment, or null for "always". A draft has none that comes. */
function publishMsOf({ publishDate, draft }: GivenState, nowMs: number, before?: StoredObject): number | undefined {
  if (draft && publishDate !== undefined) throw invalid('Give publishDate or draft, not both.')
  if (draft) return draftPublishMs
  if (publishDate === null) return unsetPublishMs
  if (publishDate === undefined) {
    const isNoDraftAnyMore = draft === false && before?.publishMs === draftPublishMs
    return isNoDraftAnyMore ? nowMs : undefined
  }
  const ms = parseDateTime(publishDate)
  if (ms === undefined || ms === draftPublishMs)
    throw invalid('publishDate must be a moment such as 2026-03-01T09:30:00Z, or null.')
  return ms
}

/** What an input says of an object's state. */
export function stateOf(
  given: GivenState,
  nowMs: number,
  before?: StoredObject,
): Pick<ObjectChange, 'publishMs' | 'archived'> {
  const publishMs = publishMsOf(given, nowMs, before)
  return {
    ...(publishMs !== undefined && { publishMs }),
    ...(given.archived !== undefined && { archived: given.archived }),
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

/** A date that has come stays. Without one, what was just published would be the last of the newest. */
function publishedMs({ publishMs }: StoredObject, nowMs: number): number {
  return publishMs === unsetPublishMs || publishMs > nowMs ? nowMs : publishMs
}

/** One item and what it is about, as the transaction sees it. */
interface Target {
  item: ObjectItem
  container: Container
  object: StoredObject
}

type Change = Exclude<ObjectAction, 'delete' | 'duplicate'>

/** What an action makes of an object. */
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

/** As versions and the record say it. */
const words: Record<Change, string> = {
  update: 'updated',
  patch: 'updated',
  publish: 'published',
  schedule: 'scheduled',
  unpublish: 'unpublished',
  archive: 'archived',
  restore: 'restored',
}

const noSuchObject = (): Error => notFound('There is no such object in this group.')

/** An object that people write, with its collection or integration type, as the transaction sees them. */
export async function takeObject(group: ContentWriter['group'], objectId: string) {
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

/** Looks at one of many items; what it throws is told with the item's place. */
export type LookAtItem = (position: number, look: () => void) => void

/** So many are in memory at once, and as few statements are needed as for one. */
const itemsPerStep = 100
const bytesPerStep = 2 * 1024 ** 2

function* inSteps<Item>(items: readonly Item[], bytesOf: (item: Item) => number) {
  for (let first = 0, next = 0; first < items.length; first = next) {
    for (let bytes = 0; next < items.length && next - first < itemsPerStep && bytes < bytesPerStep; next += 1)
      bytes += bytesOf(items[next] as Item)
    yield { first, step: items.slice(first, next) }
  }
}

const sumOf = (sizes: ReadonlyMap<string, number>): number => sizes.values().reduce((sum, bytes) => sum + bytes, 0)

/** Reads objects, few at a time, and no more in all than one request may work on. */
export async function* readInSteps(group: ContentWriter['group'], ids: readonly string[]) {
  const sizes = await measureObjects(group, ids)
  if (ids.length > 1) createWriteBudget(requestLimits)({ bytes: sumOf(sizes) })
  for (const { step } of inSteps(ids, (id) => sizes.get(id) ?? 0)) yield await findObjects(group, step)
}

/** The objects of some items, from the position of the first on. */
async function takeTargets(
  { group, nowMs }: ContentWriter,
  items: readonly ObjectItem[],
  first: number,
  lookAt: LookAtItem,
): Promise<Target[]> {
  const ids = items.map(({ objectId }) => objectId)
  const found = new Map((await findObjects(group, ids)).map((one) => [one.object.id, one]))
  const containers = new Map<string, Container | undefined>()
  for (const { containerId } of found.values())
    if (!containers.has(containerId)) containers.set(containerId, await findContainerById(group, containerId))
  const targets: Target[] = []
  for (const [position, item] of items.entries()) {
    lookAt(first + position, () => {
      const one = found.get(item.objectId)
      const container = one && containers.get(one.containerId)
      if (!one || !container || isMirrored(container)) throw noSuchObject()
      checkObjectVersion(container.id, one.object, item, nowMs)
      targets.push({ item, container, object: one.object })
    })
  }
  return targets
}

/** What becomes of objects of one container, in their order. */
async function actInContainer(
  writer: ContentWriter,
  action: Exclude<ObjectAction, 'delete'>,
  container: Container,
  targets: readonly (Target & { change: ObjectChange })[],
): Promise<StoredObject[]> {
  if (action !== 'duplicate') {
    const planned = targets.map(({ object, change }) => ({ before: object, wanted: change }))
    return changeObjects(writer, container, planned, words[action])
  }
  // A copy is looked at before it is shown; it shows what the original shows.
  const copies = targets.map(({ object: { value, accountHandle } }) => ({
    value,
    accountHandle,
    publishMs: draftPublishMs,
  }))
  return insertObjects({ ...writer, allowsMissingMedia: true }, container, copies)
}

async function actOnSome(
  writer: ContentWriter,
  action: ObjectAction,
  items: readonly ObjectItem[],
  first: number,
  lookAt: LookAtItem,
): Promise<ActedOn[]> {
  const targets = await takeTargets(writer, items, first, lookAt)
  if (action === 'delete') {
    await deleteObjects(
      writer,
      targets.map(({ container, object }) => ({ containerId: container.id, object })),
    )
    return []
  }
  const planned = targets.map((target, position) => {
    let change: ObjectChange = {}
    lookAt(first + position, () => {
      if (action === 'duplicate') return
      change = changes[action](target, writer.nowMs)
      if (change.value) checkObjectValue(target.container.schema, writer.group.groupId, change.value)
    })
    return { ...target, change }
  })
  const results = new Map<string, ActedOn>()
  for (const [container, ofContainer] of Map.groupBy(planned, (target) => target.container)) {
    const after = await actInContainer(writer, action, container, ofContainer)
    for (const [position, { object }] of ofContainer.entries())
      results.set(object.id, { containerId: container.id, object: after[position] as StoredObject })
  }
  return targets.flatMap(({ object }) => results.get(object.id) ?? [])
}

export interface ActedOn {
  containerId: string
  object: StoredObject
}

function refuseTwice(items: readonly ObjectItem[], lookAt: LookAtItem): void {
  const named = new Set<string>()
  for (const [position, { objectId }] of items.entries()) {
    lookAt(position, () => {
      if (named.has(objectId)) throw invalid('The object was named before.')
      named.add(objectId)
    })
  }
}

/** Does the same to many objects. Shows what they are afterwards, and nothing of deleted ones. */
export async function actOnObjects<Shown>(
  writer: ContentWriter,
  action: ObjectAction,
  items: readonly ObjectItem[],
  show: (acted: ActedOn) => Shown,
  lookAt: LookAtItem = (_position, look) => look(),
): Promise<Shown[]> {
  refuseTwice(items, lookAt)
  const sizes = await measureObjects(
    writer.group,
    items.map(({ objectId }) => objectId),
  )
  if (items.length > 1) writer.spend({ bytes: sumOf(sizes) })
  const shown: Shown[] = []
  for (const { first, step } of inSteps(items, ({ objectId }) => sizes.get(objectId) ?? 0)) {
    const acted = await actOnSome(writer, action, step, first, lookAt)
    shown.push(...acted.map(show))
  }
  return shown
}
