import { AppError } from '../errors.ts'
import { openMedia } from '../media/open.ts'
import type { MediaStorage } from '../media/storage.ts'
import type { Check, CheckedGroup, DoctorContext, Finding } from './check.ts'

/** What keeps files and makes their addresses. Says why in an `AppError` where the settings do not allow it. */
function open({ config }: DoctorContext): MediaStorage {
  // With any key: without one it would make a master key, and looking is not to make anything.
  return openMedia({ ...config, mediaSigningKeys: [Buffer.alloc(32)] }, () => 'http://localhost').storage
}

const badSettings = (why: string): Finding => ({
  level: 'wrong',
  what: `The settings of media cannot be used, so the service will not start: ${why}`,
  advice: 'Correct the settings that are named, and look again:',
  commands: ['npx sluice doctor'],
})

/** One page of a listing is enough to know that the bucket is there and lets us in. */
async function tryToList(storage: MediaStorage, { group }: CheckedGroup): Promise<Finding[]> {
  try {
    for await (const _ of storage.list(group.bucketName, group.id)) break
    return []
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [
      {
        level: 'wrong',
        what: `The files of ${group.name} cannot be reached, in the bucket "${group.bucketName}".`,
        advice: error.message,
      },
    ]
  }
}

/** Where files are kept, be it here or in a store elsewhere. */
export const mediaStoreCheck: Check = {
  name: 'Media store',
  async run(ctx) {
    let storage: MediaStorage
    try {
      storage = open(ctx)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return [badSettings(error.message)]
    }
    const groups = await ctx.groups()
    const inBuckets = Map.groupBy(groups, ({ group }) => group.bucketName)
    const findings: Finding[] = []
    for (const [first] of inBuckets.values()) if (first) findings.push(...(await tryToList(storage, first)))
    return findings
  },
}
