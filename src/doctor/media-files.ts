import { join } from 'node:path'
import type { Config } from '../config.ts'
import { isKeyOfGroup } from '../content/media-keys.ts'
import { AppError } from '../errors.ts'
import { localMediaFolder, openStorage } from '../media/open.ts'
import { findMediaReferences } from '../media/references.ts'
import { isStored, type MediaStorage } from '../media/storage.ts'
import { type Swept, sweepMedia } from '../media/sweep.ts'
import type { Author } from '../store/changes.ts'
import { eachItem } from '../store/media.ts'
import { keysOfFile } from '../store/media-files.ts'
import { type Check, type CheckedGroup, type DoctorContext, type Finding, NotChecked } from './check.ts'
import { counted, createTally, inBytes, type Tally } from './words.ts'

const mostNamed = 5
const nobody: Author = { id: null, name: 'doctor', address: '' }

/** Where an operator finds a file. */
function placeOf(config: Config, bucketName: string, key: string): string {
  return config.mediaPlace.kind === 'folder' ? join(localMediaFolder(config), bucketName, key) : `${bucketName}/${key}`
}

/** Every file that the library has, and every one that content shows although the library does not have it. */
async function findWanted(ctx: DoctorContext, { group, content }: CheckedGroup): Promise<Set<string>> {
  const { shown } = await findMediaReferences(content, (read) => {
    if (read % 500 === 0) ctx.progress(`Media files: ${group.name}, ${read} read`)
  })
  const wanted = new Set<string>()
  for await (const { key, file } of eachItem(content)) {
    shown.delete(key)
    for (const each of keysOfFile(file)) wanted.add(each)
  }
  for (const key of shown) if (isKeyOfGroup(group.id, key)) wanted.add(key)
  return wanted
}

async function findMissing(ctx: DoctorContext, storage: MediaStorage, checked: CheckedGroup): Promise<Tally> {
  const { bucketName, id } = checked.group
  const unseen = await findWanted(ctx, checked)
  for await (const { key } of storage.list(bucketName, id)) unseen.delete(key)
  const missing = createTally()
  // Asked once more: a link to a folder elsewhere is not walked through above, and serves all the same.
  for (const key of unseen)
    if (!(await isStored(storage, bucketName, key))) missing.add(placeOf(ctx.config, bucketName, key))
  return missing
}

function reportMissing({ count, first }: Tally, name: string): Finding[] {
  if (count === 0) return []
  return [
    {
      level: 'wrong',
      what: `${counted(count, 'file')} that content of ${name} shows, or its library has, ${count === 1 ? 'is' : 'are'} missing.`,
      examples: first,
      advice:
        'Restore them from your backup of the media, upload the same file again, or take them out of the content that shows them.',
    },
  ]
}

function reportUnused(
  { config }: DoctorContext,
  { items, strays, bytes, removed }: Swept,
  { group }: CheckedGroup,
): Finding[] {
  const count = items + strays
  if (count === 0) return []
  return [
    {
      level: 'attention',
      what: `${counted(count, 'file')} of ${group.name} with ${inBytes(bytes)} ${count === 1 ? 'is' : 'are'} shown by nothing, nor by any version that is kept.`,
      examples: removed
        .slice(0, mostNamed)
        .map((file) => `${placeOf(config, group.bucketName, file.key)}, ${inBytes(file.bytes)}`),
      advice: 'They only take room. To see them, and without --dry-run to remove them:',
      commands: [`npx sluice media sweep ${group.id} --dry-run`],
    },
  ]
}

async function checkGroup(ctx: DoctorContext, storage: MediaStorage, checked: CheckedGroup): Promise<Finding[]> {
  const { group, content } = checked
  const missing = await findMissing(ctx, storage, checked)
  const authoring = { author: nobody, verb: 'doctor', nowMs: ctx.clock(), versionsKept: group.versionsKept }
  const library = { group: content, bucketName: group.bucketName, storage, authoring }
  const unused = await sweepMedia(library, { dryRun: true })
  return [...reportMissing(missing, group.name), ...reportUnused(ctx, unused, checked)]
}

export const mediaFilesCheck: Check = {
  name: 'Media files',
  async run(ctx) {
    const groups = await ctx.groups()
    const findings: Finding[] = []
    try {
      const storage = openStorage(ctx.config)
      for (const checked of groups) findings.push(...(await checkGroup(ctx, storage, checked)))
    } catch (error) {
      // What keeps us from looking is the finding of another check.
      if (error instanceof AppError) throw new NotChecked('the media store cannot be used')
      throw error
    }
    return findings
  },
}
