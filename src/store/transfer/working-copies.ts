import type { MediaUse } from '../../content/media-uses.ts'
import type { ContentWriter } from '../content/changes.ts'
import { type CopiedSubject, findWorkingCopy, putWorkingCopy, type WorkingCopy } from '../content/working-copies.ts'

/** A working copy as exported: its revision and the limit of versions are those of the place where it is. */
export type ExportedCopy = Omit<WorkingCopy, 'id' | 'containerId' | 'revision' | 'versionsKept'>

export const toExportedCopy = ({ id: _, containerId: _c, revision: _r, versionsKept: _v, ...copy }: WorkingCopy) => copy

/** Whether a working copy here is equal to an exported one. */
export const isSameCopy = (here: WorkingCopy | undefined, wanted: ExportedCopy): boolean =>
  here !== undefined && JSON.stringify(inOrder(toExportedCopy(here))) === JSON.stringify(inOrder(wanted))

const inOrder = (copy: ExportedCopy): unknown[] => [
  copy.value, copy.baseValue, copy.baseVersion, copy.dueMs, copy.problem, copy.savedMs, copy.savedBy,
] // biome-ignore format: one line reads better

/** Replaces the working copy of an object or a site, unless it is the same. */
export async function importWorkingCopy(
  writer: ContentWriter,
  { id, containerId }: Pick<CopiedSubject, 'id' | 'containerId'>,
  copy: ExportedCopy,
  uses: readonly MediaUse[],
): Promise<void> {
  const here = await findWorkingCopy(writer.group, id)
  if (isSameCopy(here, copy)) return
  const revision = Math.max(copy.savedMs, (here?.revision ?? 0) + 1)
  await putWorkingCopy(writer, { ...copy, id, containerId, revision, versionsKept: writer.versionsKept }, uses)
  if (here?.dueMs != null || copy.dueMs !== null) {
    writer.changeDue()
    writer.bumpRevision() // cached answers end when it is due
  }
}
