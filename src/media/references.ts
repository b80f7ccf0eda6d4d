import { mediaKeysIn, mediaUsesAnywhere } from '../content/media-uses.ts'
import { listContainers } from '../store/containers.ts'
import { eachExportedRow } from '../store/export-rows.ts'
import type { GroupStore } from '../store/groups.ts'
import { listSites } from '../store/sites.ts'

/** The keys of files that a group's content speaks of. */
export interface MediaReferences {
  /** What is delivered now, or would be if it were published. */
  shown: Set<string>
  /** What only former versions show, which can be restored. */
  kept: Set<string>
}

/** Goes over everything: values of any shape are looked into, because a schema may have been another one. */
export async function findMediaReferences(
  group: GroupStore,
  onRead: (count: number) => void = () => {},
): Promise<MediaReferences> {
  const shown = new Set<string>()
  const kept = new Set<string>()
  let read = 0
  for (const { id, schema } of await listContainers(group)) {
    for await (const row of eachExportedRow(group, id)) {
      const [keys, value] = row.kind === 'object' ? [shown, row.object.value] : [kept, row.version.value]
      for (const { key } of mediaUsesAnywhere(value)) keys.add(key)
      for (const key of mediaKeysIn(schema, value)) keys.add(key)
      read += 1
      onRead(read)
    }
  }
  for (const { settings } of await listSites(group)) for (const { key } of mediaUsesAnywhere(settings)) shown.add(key)
  return { shown, kept }
}
