import { replaceMedia } from '../content/media-values.ts'
import { listContainers } from '../store/containers.ts'
import { eachExportedRow } from '../store/export-rows.ts'
import { listSites } from '../store/sites.ts'
import type { CheckedGroup, DoctorContext } from './check.ts'

/** The keys of files that a group's content speaks of. */
export interface MediaReferences {
  /** What is delivered now, or would be if it were published. */
  shown: Set<string>
  /** What only former versions show, which can be restored. */
  kept: Set<string>
}

function addKeys(keys: Set<string>, value: unknown): void {
  replaceMedia(value, ({ key }) => keys.add(key))
}

export async function findMediaReferences(
  ctx: DoctorContext,
  { group, content }: CheckedGroup,
): Promise<MediaReferences> {
  const shown = new Set<string>()
  const kept = new Set<string>()
  let read = 0
  for (const container of await listContainers(content)) {
    for await (const row of eachExportedRow(content, container.id)) {
      if (row.kind === 'object') addKeys(shown, row.object.value)
      else addKeys(kept, row.version.value)
      read += 1
      if (read % 500 === 0) ctx.progress(`Media files: ${group.name}, ${read} read`)
    }
  }
  for (const { settings } of await listSites(content)) addKeys(shown, settings)
  return { shown, kept }
}
