import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { isKeyOfGroup } from '../content/media-keys.ts'
import { dayMs } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { iterateUnderivedPictures } from '../media/derive-missing.ts'
import { sharpMissing } from '../media/job-handlers.ts'
import { localMediaFolder, openMedia, openStorage } from '../media/open.ts'
import { findMediaReferences } from '../media/references.ts'
import { isStored, type MediaStorage } from '../media/storage.ts'
import { type SweepResult, sweepMedia } from '../media/sweep.ts'
import type { Author } from '../store/content/changes.ts'
import { keysOfFile } from '../store/media/files.ts'
import { iterateMediaItems } from '../store/media/items.ts'
import {
  attention,
  type Check,
  type CheckedGroup,
  type DoctorContext,
  type Finding,
  NotChecked,
  wrong,
} from './check.ts'
import { isFolder, statIfExists } from './files.ts'
import { counted, createTally, inBytes, maxExamples, shellWord, type Tally } from './format.ts'
import { withGroupIds } from './leftovers.ts'

/** Throws an `AppError` when the settings are invalid. */
function open({ config }: DoctorContext): MediaStorage {
  // With any signing key: without one this would create a master key, and the doctor must not create anything.
  return openMedia({ ...config, mediaSigningKeys: [Buffer.alloc(32)] }, () => 'http://localhost').storage
}

const badSettings = (why: string): Finding[] =>
  wrong({
    what: `The settings for media are invalid, so the service will not start: ${why}`,
    advice: 'Correct them, and check again:',
    commands: ['npx sluice doctor'],
  })

/** The first page of a listing shows that the bucket exists and is accessible. */
async function tryToList(storage: MediaStorage, { group }: CheckedGroup): Promise<Finding[]> {
  try {
    for await (const _ of storage.list(group.bucketName, group.id)) break
    return []
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return wrong({
      what: `The files of ${group.name} cannot be reached, in the bucket "${group.bucketName}".`,
      advice: error.message,
    })
  }
}

export const mediaStoreCheck: Check = {
  name: 'Media store',
  async run(ctx) {
    let storage: MediaStorage
    try {
      storage = open(ctx)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return badSettings(error.message)
    }
    const groups = await ctx.groups()
    const inBuckets = Map.groupBy(groups, ({ group }) => group.bucketName)
    const findings: Finding[] = []
    for (const [first] of inBuckets.values()) if (first) findings.push(...(await tryToList(storage, first)))
    return findings
  },
}

const author: Author = { id: null, name: 'doctor', address: '' }

/** Where an operator finds a file. */
function pathOf(config: Config, bucketName: string, key: string): string {
  return config.mediaLocation.kind === 'folder'
    ? join(localMediaFolder(config), bucketName, key)
    : `${bucketName}/${key}`
}

/** The keys of all files that the library has or that content shows. */
async function findExpectedKeys(ctx: DoctorContext, { group, content }: CheckedGroup): Promise<Set<string>> {
  const { current: shown } = await findMediaReferences(content, (read) => {
    if (read % 500 === 0) ctx.progress(`Media files: ${group.name}, ${read} read`)
  })
  const expected = new Set<string>()
  for await (const { key, file } of iterateMediaItems(content)) {
    shown.delete(key)
    for (const each of keysOfFile(file)) expected.add(each)
  }
  for (const key of shown) if (isKeyOfGroup(group.id, key)) expected.add(key)
  return expected
}

async function findMissing(ctx: DoctorContext, storage: MediaStorage, checked: CheckedGroup): Promise<Tally> {
  const { bucketName, id } = checked.group
  const unseen = await findExpectedKeys(ctx, checked)
  for await (const { key } of storage.list(bucketName, id)) unseen.delete(key)
  const missing = createTally()
  // Listing does not follow symbolic links to folders, so each missing file is looked up directly.
  for (const key of unseen)
    if (!(await isStored(storage, bucketName, key))) missing.add(pathOf(ctx.config, bucketName, key))
  return missing
}

function reportMissing({ count, first }: Tally, name: string): Finding[] {
  if (count === 0) return []
  return wrong({
    what: `${counted(count, 'file')} that content of ${name} shows, or its library has, ${count === 1 ? 'is' : 'are'} missing.`,
    examples: first,
    advice:
      'Restore them from your backup of the media, upload the same files again, or remove them from the content that shows them.',
  })
}

function reportUnused(
  { config }: DoctorContext,
  { items, strays, bytes, removed }: SweepResult,
  { group }: CheckedGroup,
): Finding[] {
  const count = items + strays
  if (count === 0) return []
  return attention({
    what: `${counted(count, 'file')} of ${group.name} with ${inBytes(bytes)} ${count === 1 ? 'is' : 'are'} not used by any content, nor by any former version.`,
    examples: removed
      .slice(0, maxExamples)
      .map((file) => `${pathOf(config, group.bucketName, file.key)}, ${inBytes(file.bytes)}`),
    advice: 'They only take up space. To see them, and without --dry-run to remove them:',
    commands: [`npx sluice media sweep ${group.id} --dry-run`],
  })
}

async function checkGroup(ctx: DoctorContext, storage: MediaStorage, checked: CheckedGroup): Promise<Finding[]> {
  const { group, content } = checked
  const missing = await findMissing(ctx, storage, checked)
  const authoring = { author, verb: 'doctor', nowMs: ctx.clock(), versionsKept: group.versionsKept }
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
      // The cause is the finding of another check.
      if (error instanceof AppError) throw new NotChecked('the media store cannot be used')
      throw error
    }
    return findings
  },
}

async function foldersIn(path: string): Promise<string[]> {
  if (!(await isFolder(path))) return []
  const entries = await readdir(path, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name)
}

/** A local bucket contains folders of groups only; an S3 bucket may contain anything else. */
export const mediaFoldersCheck: Check = {
  name: 'Media folders',
  async run(ctx) {
    if (ctx.config.mediaLocation.kind !== 'folder') return []
    const media = localMediaFolder(ctx.config)
    const { result: folders, groupIds } = await withGroupIds(await ctx.store(), async () => {
      const buckets = await foldersIn(media)
      const inBuckets = buckets.map(async (bucket) =>
        (await foldersIn(join(media, bucket))).map((name) => ({ name, path: join(media, bucket, name) })),
      )
      return (await Promise.all(inBuckets)).flat()
    })
    const strays = createTally()
    for (const { name, path } of folders) if (!groupIds.has(name)) strays.add(path)
    if (strays.count === 0) return []
    return attention({
      what: `${strays.count === 1 ? '1 folder of media belongs' : `${strays.count} folders of media belong`} to no group.`,
      examples: strays.first,
      advice: 'An import or a deletion was interrupted, or is running. Nothing serves these files. To see their size:',
      commands: [`du -sh ${strays.first.map(shellWord).join(' ')}`],
    })
  },
}

/** Leaves out damaged pictures, for which a retry would not help. */
async function findUnscaled({ content }: CheckedGroup) {
  const unscaled = createTally()
  for await (const { key, problem } of iterateUnderivedPictures(content))
    if (problem === null || problem === sharpMissing) unscaled.add(key)
  return unscaled
}

const noSharp = attention({
  what: 'sharp cannot be loaded, so pictures are delivered in their original size only.',
  advice: 'Pages load more than they need. Install it in the folder of Sluice, and restart:',
  commands: ['npm ci --include=optional', 'npx sluice doctor'],
})

export const picturesCheck: Check = {
  name: 'Pictures',
  async run(ctx) {
    if (!(await ctx.machine.canDerive())) return noSharp
    const findings: Finding[] = []
    for (const checked of await ctx.groups()) {
      const { name, id } = checked.group
      const { count, first } = await findUnscaled(checked)
      if (count === 0) continue
      findings.push({
        level: 'attention',
        what: `${counted(count, 'picture')} of ${name} ${count === 1 ? 'has' : 'have'} no smaller sizes.`,
        examples: first,
        advice: 'They were uploaded without sharp, or imported. Make the sizes now:',
        commands: [`npx sluice media derive ${id}`],
      })
    }
    return findings
  },
}

/** The folder of uploads and of pictures in progress. */
export const inboxCheck: Check = {
  name: 'Inbox',
  async run({ config, clock }) {
    const inbox = join(config.dataDir, 'inbox')
    if (!(await isFolder(inbox))) return []
    const abandoned = createTally()
    for (const name of await readdir(inbox)) {
      const path = join(inbox, name)
      const found = await statIfExists(path)
      if (found && clock() - found.mtimeMs > dayMs) abandoned.add(path)
    }
    if (abandoned.count === 0) return []
    return attention({
      what: `${inbox} contains ${counted(abandoned.count, 'left-over')} of uploads that never ended.`,
      examples: abandoned.first,
      advice: 'A process was killed during them. The next start removes what is older than a day. To do so now:',
      commands: [`find ${shellWord(inbox)} -mindepth 1 -maxdepth 1 -mtime +0 -exec rm -r {} +`],
    })
  },
}
