import { conflict } from '../../core/errors.ts'
import { type RemovePayload, removeKind } from '../../media/job-kinds.ts'
import { type Authoring, writeContent } from '../../store/content/changes.ts'
import { cancelJob, findJob, findPendingJobs } from '../../store/jobs/jobs.ts'
import { keysOfFile } from '../../store/media/files.ts'
import type { GroupStore } from '../../store/store.ts'
import type { CheckedExport } from './check-export.ts'
import { readSteps } from './read-steps.ts'

/**
 * Cancels pending jobs that would remove files of the export from the bucket. Must run before the files are copied, or they
 * would be removed afterwards.
 */
export async function cancelRemovals(checked: CheckedExport, content: GroupStore, authoring: Authoring): Promise<void> {
  const removals = new Map<string, string>()
  for (const { id, payload } of await findPendingJobs(content, removeKind))
    for (const key of (payload as RemovePayload).keys) removals.set(key, id)
  if (removals.size === 0) return
  const jobIds = new Set<string>()
  for await (const step of readSteps(checked)) {
    if (step.kind !== 'library') continue
    for (const key of step.items.flatMap(({ media }) => keysOfFile(media.file))) {
      const id = removals.get(key)
      if (id !== undefined) jobIds.add(id)
    }
  }
  await writeContent(content, authoring, async (writer) => {
    for (const id of jobIds) {
      if (await cancelJob(writer, id)) writer.record({ type: 'job.cancelled', subjectId: id, note: removeKind })
      else if ((await findJob(writer.group, id))?.state === 'running')
        throw conflict('A file of this export is just being removed. Nothing was imported; run the command again.')
    }
  })
}
