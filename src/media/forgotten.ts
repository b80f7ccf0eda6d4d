import { inChunks } from '../in-chunks.ts'
import { type Authoring, writeContent } from '../store/changes.ts'
import type { GroupStore } from '../store/groups.ts'
import { findPendingJobs, insertJob } from '../store/jobs.ts'
import { eachFile, type MediaFile } from '../store/media-files.ts'
import { type Derivation, derivableTypes, deriveKind } from './kinds.ts'
import { deriveJob } from './library.ts'

const jobsPerWrite = 100

/** Pictures that nobody has looked at as a whole, and nobody is going to. */
export async function* eachForgottenPicture(group: GroupStore): AsyncGenerator<MediaFile> {
  // Before the files: work that is made meanwhile comes with its file.
  const pending = await findPendingJobs(group, deriveKind)
  const isAwaited = new Set(pending.map(({ payload }) => (payload as Derivation).fileId))
  for await (const file of eachFile(group))
    if (derivableTypes.has(file.contentType) && file.color === null && !isAwaited.has(file.id)) yield file
}

/** Puts them to work, some in each transaction, and says how many. Those that were given up on only where wanted. */
export async function deriveForgotten(
  group: GroupStore,
  authoring: Authoring,
  { alsoGivenUp }: { alsoGivenUp: boolean },
): Promise<number> {
  let begun = 0
  for await (const files of inChunks(eachForgottenPicture(group), jobsPerWrite)) {
    const wanted = files.filter(({ problem }) => alsoGivenUp || problem === null)
    if (wanted.length === 0) continue
    const note = `${wanted.length} pictures to be worked on`
    await writeContent(group, authoring, async (writer) => {
      for (const file of wanted) await insertJob(writer, deriveJob(file))
      writer.record({ type: 'media.updated', subjectId: group.groupId, note })
    })
    begun += wanted.length
  }
  return begun
}
