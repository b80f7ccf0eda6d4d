import { mediaKeysIn, mediaUsesAnywhere } from '../content/media-uses.ts'
import { listContainers } from '../store/content/containers.ts'
import { listSites } from '../store/content/sites.ts'
import { listCopiedMediaKeys } from '../store/content/working-copies.ts'
import type { GroupStore } from '../store/store.ts'
import { iterateExportRows } from '../store/transfer/export.ts'

/** The keys of files that a group's content refers to. */
export interface MediaReferences {
  /** By current content, published or not, and by working copies. */
  current: Set<string>
  /** By former versions, which can be restored. */
  historic: Set<string>
}

/** Scans all content, in values of any shape because a schema may have changed. */
export async function findMediaReferences(
  group: GroupStore,
  onRead: (count: number) => void = () => {},
): Promise<MediaReferences> {
  const current = new Set<string>()
  const historic = new Set<string>()
  let read = 0
  for (const { id, schema } of await listContainers(group)) {
    for await (const row of iterateExportRows(group, id)) {
      const [keys, value] = row.kind === 'object' ? [current, row.object.value] : [historic, row.version.value]
      for (const { key } of mediaUsesAnywhere(value)) keys.add(key)
      for (const key of mediaKeysIn(schema, value)) keys.add(key)
      read += 1
      onRead(read)
    }
  }
  for (const { settings } of await listSites(group)) for (const { key } of mediaUsesAnywhere(settings)) current.add(key)
  for (const key of await listCopiedMediaKeys(group)) current.add(key)
  return { current, historic }
}
