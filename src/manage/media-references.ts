import { yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import { mediaKeysInHtml, toMediaReferences } from '../content/html-media.ts'
import { fileIdIn, isKeyOfGroup } from '../content/media-keys.ts'
import { mapFieldTexts, mapTexts } from '../content/media-uses.ts'
import type { Schema } from '../content/schema.ts'
import { type RemovePayload, removeKind } from '../media/job-kinds.ts'
import { findContainerById } from '../store/content/containers.ts'
import { findPendingJobs } from '../store/jobs/jobs.ts'
import { findKeysOfFiles } from '../store/media/items.ts'
import type { GroupStore } from '../store/store.ts'
import { readInBatches } from './object-actions.ts'
import type { GroupContext } from './verb.ts'

interface Item {
  objectId?: string
  objectValue?: Record<string, unknown> | undefined
}

function charactersIn(value: unknown): number {
  let characters = 0
  mapTexts(value, (text) => {
    characters += text.length
    return text
  })
  return characters
}

interface StoredItems {
  /** The keys in their texts: of two items with the same file, the one already shown is preferred. */
  keys: Set<string>
  /** Object id → id of its container. */
  containerIds: Map<string, string>
}

async function readStored(group: GroupStore, items: readonly Item[]): Promise<StoredItems> {
  const ids = items.flatMap(({ objectId }) => objectId ?? [])
  const keys = new Set<string>()
  const containerIds = new Map<string, string>()
  for await (const objects of readInBatches(group, ids)) {
    for (const { object, containerId } of objects) {
      containerIds.set(object.id, containerId)
      mapTexts(object.value, (html) => {
        for (const key of mediaKeysInHtml(html)) keys.add(key)
        return html
      })
    }
  }
  return { keys, containerIds }
}

async function findSchemas(group: GroupStore, containerIds: Iterable<string>): Promise<Map<string, Schema>> {
  const schemas = new Map<string, Schema>()
  for (const id of new Set(containerIds)) {
    const container = await findContainerById(group, id)
    if (container) schemas.set(id, container.schema)
  }
  return schemas
}

/** The key by which content refers to each file, or to its replacement if it was replaced in the meantime. */
async function findKeys(
  group: GroupStore,
  fileIds: readonly string[],
  preferred: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const keys = await findKeysOfFiles(group, fileIds, preferred)
  if (fileIds.every((id) => keys.has(id))) return keys
  for (const { payload } of await findPendingJobs(group, removeKind)) {
    const { keys: [fileKey = ''], mediaKey } = payload as RemovePayload // biome-ignore format: short
    const fileId = fileIdIn(fileKey)
    if (fileId && mediaKey) keys.set(fileId, mediaKey)
  }
  return keys
}

/**
 * Edited texts may contain signed URLs from delivery, which expire, so they are stored as references. A URL leads to a file
 * or a derivative; the reference names the item that has this file.
 */
export async function withMediaReferences<Given extends Item>(
  { group, content, media }: GroupContext,
  items: readonly Given[],
  /** The container of new objects. */
  ofContainer?: string,
): Promise<Given[]> {
  const keyOf = (address: URL): string | undefined => {
    const key = media.signer.keyOf(group.bucketName, address)
    return key && isKeyOfGroup(group.id, key) ? key : undefined
  }
  const fileKeys = new Set<string>()
  for (const { objectValue } of items) {
    await yieldForHeavyWork(charactersIn(objectValue)) // a request may contain 4 MB
    mapTexts(objectValue, (html) =>
      toMediaReferences(html, (address) => {
        const key = keyOf(address)
        if (key) fileKeys.add(key)
        return undefined
      }),
    )
  }
  if (fileKeys.size === 0) return [...items]
  const fileIds = [...fileKeys].flatMap((key) => fileIdIn(key) ?? [])
  const stored = await readStored(content, items)
  const keys = await findKeys(content, fileIds, stored.keys)
  const containerIdOf = ({ objectId }: Item) =>
    objectId === undefined ? ofContainer : stored.containerIds.get(objectId)
  const schemas = await findSchemas(
    content,
    items.flatMap((item) => containerIdOf(item) ?? []),
  )
  const refer = (address: URL): string | undefined => {
    const key = keyOf(address)
    return key && (keys.get(fileIdIn(key) ?? '') ?? key)
  }
  const referring: Given[] = []
  for (const item of items) {
    await yieldForHeavyWork(charactersIn(item.objectValue))
    const schema = schemas.get(containerIdOf(item) ?? '') ?? new Map()
    const objectValue =
      item.objectValue && mapFieldTexts(schema, item.objectValue, (html) => toMediaReferences(html, refer))
    referring.push({ ...item, objectValue } as Given)
  }
  return referring
}
