import { mediaKeysInHtml, toMediaReferences } from '../content/html-media.ts'
import { fileIdIn, isKeyOfGroup } from '../content/media-keys.ts'
import { mapTexts } from '../content/media-values.ts'
import { takePiece } from '../heavy-work.ts'
import { type Removal, removeKind } from '../media/kinds.ts'
import type { GroupStore } from '../store/groups.ts'
import { findPendingJobs } from '../store/jobs.ts'
import { findKeysOfFiles } from '../store/media.ts'
import { readInSteps } from './object-actions.ts'
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

/** What the texts of these objects refer to now. Two items may have the same file: the one that is shown stays. */
async function keysInTexts(group: GroupStore, items: readonly Item[]): Promise<Set<string>> {
  const ids = items.flatMap(({ objectId }) => objectId ?? [])
  const keys = new Set<string>()
  for await (const objects of readInSteps(group, ids)) {
    for (const { object } of objects) {
      mapTexts(object.value, (html) => {
        for (const key of mediaKeysInHtml(html)) keys.add(key)
        return html
      })
    }
  }
  return keys
}

/** By which key content refers to each of these files, or to what has taken its place while it was looked at. */
async function findKeys(
  group: GroupStore,
  fileIds: readonly string[],
  preferred: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const keys = await findKeysOfFiles(group, fileIds, preferred)
  if (fileIds.every((id) => keys.has(id))) return keys
  for (const { payload } of await findPendingJobs(group, removeKind)) {
    const { keys: [fileKey = ''], mediaKey } = payload as Removal // biome-ignore format: short
    const fileId = fileIdIn(fileKey)
    if (fileId && mediaKey) keys.set(fileId, mediaKey)
  }
  return keys
}

/**
 * Who edits a text that was delivered sends back addresses that expire: they are stored as references to what they lead
 * to. An address leads to a file, or to one that was made of it; content refers to the item that has this file.
 */
export async function withReferences<Given extends Item>(
  { group, content, media }: GroupContext,
  items: readonly Given[],
): Promise<Given[]> {
  const keyOf = (address: URL): string | undefined => {
    const key = media.signer.keyOf(group.bucketName, address)
    return key && isKeyOfGroup(group.id, key) ? key : undefined
  }
  const fileKeys = new Set<string>()
  for (const { objectValue } of items) {
    await takePiece(charactersIn(objectValue)) // a call may bring 4 MB of them
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
    await takePiece(charactersIn(item.objectValue))
    const objectValue = mapTexts(item.objectValue, (html) => toMediaReferences(html, refer))
    referring.push({ ...item, objectValue } as Given)
  }
  return referring
}
