import { inChunks } from '../core/in-chunks.ts'
import { type Authoring, writeContent } from '../store/content/changes.ts'
import { findPendingJobs, insertJob } from '../store/jobs/jobs.ts'
import { iterateMediaFiles, type MediaFile } from '../store/media/files.ts'
import type { GroupStore } from '../store/store.ts'
import { type DerivePayload, derivableTypes, deriveJob, deriveKind } from './job-kinds.ts'

const jobsPerWrite = 100

/** Pictures without derivatives and without a pending job to make them. */
export async function* iterateUnderivedPictures(group: GroupStore): AsyncGenerator<MediaFile> {
  // Before the files: a job that is added meanwhile belongs to a newer file.
  const pending = await findPendingJobs(group, deriveKind)
  const hasJob = new Set(pending.map(({ payload }) => (payload as DerivePayload).fileId))
  for await (const file of iterateMediaFiles(group))
    if (derivableTypes.has(file.contentType) && file.color === null && !hasJob.has(file.id)) yield file
}

/** Enqueues jobs for them, in batches, and returns their number. Pictures that failed only with `retryFailed`. */
export async function deriveMissing(
  group: GroupStore,
  authoring: Authoring,
  { retryFailed }: { retryFailed: boolean },
): Promise<number> {
  let enqueued = 0
  for await (const files of inChunks(iterateUnderivedPictures(group), jobsPerWrite)) {
    const wanted = files.filter(({ problem }) => retryFailed || problem === null)
    if (wanted.length === 0) continue
    const note = `${wanted.length} pictures queued for derivatives`
    await writeContent(group, authoring, async (writer) => {
      for (const file of wanted) await insertJob(writer, deriveJob(file))
      writer.record({ type: 'media.updated', subjectId: group.groupId, note })
    })
    enqueued += wanted.length
  }
  return enqueued
}
