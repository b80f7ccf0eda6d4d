import { yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import { mediaKeysInHtml, toMediaReferences } from '../content/html-media.ts'
import { fileIdIn, isKeyOfGroup } from '../content/media-keys.ts'
import { mapTexts } from '../content/media-uses.ts'
import { type RemovePayload, removeKind } from '../media/job-kinds.ts'
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

/** The keys in the stored texts of these objects: of two items with the same file, the one already shown is preferred. */
async function keysInTexts(group: GroupStore, items: readonly Item[]): Promise<Set<string>> {
  const ids = items.flatMap(({ objectId }) => objectId ?? [])
  const keys = new Set<string>()
  for await (const objects of readInBatches(group, ids)) {
    for (const { object } of objects) {
      mapTexts(object.value, (html) => {
        for (const key of mediaKeysInHtml(html)) keys.add(key)
        return html
      })
    }
  }
  return keys
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
  const keys = await findKeys(content, fileIds, await keysInTexts(content, items))
  const refer = (address: URL): string | undefined => {
    const key = keyOf(address)
    return key && (keys.get(fileIdIn(key) ?? '') ?? key)
  }
  const referring: Given[] = []
  for (const item of items) {
    await yieldForHeavyWork(charactersIn(item.objectValue))
    const objectValue = mapTexts(item.objectValue, (html) => toMediaReferences(html, refer))
    referring.push({ ...item, objectValue } as Given)
  }
  return referring
}
