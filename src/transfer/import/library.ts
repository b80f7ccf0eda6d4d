import { hash } from 'node:crypto'
import { fileIdIn, isKeyOfGroup } from '../../content/media-keys.ts'
import { releaseFile } from '../../media/library.ts'
import type { ContentWriter } from '../../store/content/changes.ts'
import {
  findFileByContent,
  findFileById,
  findFileByKey,
  type ImageDetails,
  insertFile,
  keysOfFile,
  type MediaFile,
  saveImageDetails,
} from '../../store/media/files.ts'
import { findMedia, findMediaByKeys, insertMedia, type MediaItem, updateMedia } from '../../store/media/items.ts'
import type { GroupStore } from '../../store/store.ts'
import { formatWithoutLibrary, type HeadLine, type LibraryItemLine } from '../export-format.ts'
import type { ProblemList } from './problem-list.ts'
import type { LibraryStep } from './step.ts'
import type { TallyCounts, Verdict } from './tally.ts'

/** Says what is wrong with each item of the library in the light of those before it. */
export function createLibraryChecker({ groupId, format }: HeadLine) {
  const keys = new Set<string>()
  /** By id, what was said of each file: as a digest, because there may be many. */
  const files = new Map<string, string>()
  const contents = new Set<string>()

  function problemOfFile({ id, sha256, ...facts }: LibraryItemLine['file']): string | undefined {
    const said = hash('sha256', JSON.stringify([sha256, facts]))
    const before = files.get(id)
    if (before === undefined && contents.has(sha256)) return `the file ${id} has the same bytes as one before it`
    files.set(id, said)
    contents.add(sha256)
    return before === undefined || before === said ? undefined : `the file ${id} was another one before`
  }

  return ({ key, file }: LibraryItemLine): string[] => {
    const foreign = [key, ...keysOfFile(file)].filter((each) => !isKeyOfGroup(groupId, each))
    const problems = foreign.map((each) => `the media key ${JSON.stringify(each)} does not belong to this group`)
    if (format === formatWithoutLibrary) problems.push(`an export of the format ${format} has no library`)
    if (keys.has(key)) problems.push(`the media key ${JSON.stringify(key)} appears more than once in the library`)
    keys.add(key)
    const problem = problemOfFile(file)
    return problem === undefined ? problems : [...problems, problem]
  }
}

/** Each item with the one that is here under its key. */
async function compareItems(group: GroupStore, items: LibraryStep['items']) {
  const keys = items.map(({ media }) => media.key)
  const found = new Map((await findMediaByKeys(group, keys)).map((media) => [media.key, media]))
  return items.map(({ media: wanted, location }) => {
    const here = found.get(wanted.key)
    return { location, wanted, here, verdict: judgeItem(here, wanted) }
  })
}

/** How many items are here, and as the export says. */
export async function countSameItems(group: GroupStore, items: LibraryStep['items']): Promise<number> {
  return (await compareItems(group, items)).filter(({ verdict }) => verdict === 'equal').length
}

/** Bytes never change under a key: addresses of it are in caches. */
async function problemOfFile(group: GroupStore, { id, key, sha256 }: MediaFile): Promise<string | undefined> {
  if (await findFileByContent(group, sha256)) return undefined
  const isChosenByHand = fileIdIn(key) === undefined
  const other = (await findFileById(group, id)) ?? (isChosenByHand ? await findFileByKey(group, key) : undefined)
  return other && `the file "${key}" has other bytes here; delete it from the library, or replace it there`
}

async function problemOfItem(
  group: GroupStore,
  here: MediaItem | undefined,
  wanted: MediaItem,
): Promise<string | undefined> {
  if (here && here.type !== wanted.type)
    return `the file "${wanted.key}" is of the type ${here.type} here, which no import changes`
  const other = here ? undefined : await findMedia(group, wanted.id)
  if (other) return `the id ${wanted.id} is that of the file "${other.key}" here`
  return problemOfFile(group, wanted.file)
}

/** Plans what an import would do to the library of a group that exists, and adds what prevents it. */
export async function planItems(
  group: GroupStore,
  { items }: LibraryStep,
  counts: TallyCounts,
  problems: ProblemList,
): Promise<void> {
  for (const { location, wanted, here, verdict } of await compareItems(group, items)) {
    const problem = verdict === 'equal' ? undefined : await problemOfItem(group, here, wanted)
    if (problem !== undefined) problems.add(location, problem)
    counts[verdict] += 1
  }
}

type Items = LibraryStep['items']

/** Undefined where nobody has looked at the whole picture. */
function detailsOf({ width, height, color, placeholder, derivatives }: MediaFile): ImageDetails | undefined {
  if (width === null || height === null || color === null) return undefined
  return { width, height, color, placeholder, derivatives }
}

/** What an export tells of a picture's looks, where it is another thing than what is known here. */
export function changedDetails(here: MediaFile, wanted: MediaFile): ImageDetails | undefined {
  // The same bytes under another key have smaller pictures of their own.
  const described = here.key === wanted.key ? detailsOf(wanted) : undefined
  return JSON.stringify(described) === JSON.stringify(detailsOf(here)) ? undefined : described
}

/** The same bytes are there once, whatever they were called elsewhere. */
async function takeFile(writer: ContentWriter, wanted: MediaFile): Promise<MediaFile> {
  const here = await findFileByContent(writer.group, wanted.sha256)
  if (!here) {
    await insertFile(writer, wanted)
    return wanted
  }
  const news = changedDetails(here, wanted)
  if (news) await saveImageDetails(writer, here, news)
  return here
}

async function findByKeys({ group }: ContentWriter, items: Items): Promise<Map<string, MediaItem>> {
  const keys = items.map(({ media }) => media.key)
  return new Map((await findMediaByKeys(group, keys)).map((media) => [media.key, media]))
}

async function addItem(writer: ContentWriter, media: MediaItem): Promise<void> {
  await insertMedia(writer, { ...media, file: await takeFile(writer, media.file) })
  writer.bumpMediaRevision() // content may have shown it before it was deleted
}

/** Brings in the items that are missing, and changes none. */
export async function addItems(writer: ContentWriter, items: Items): Promise<void> {
  const here = await findByKeys(writer, items)
  for (const { media } of items) if (!here.has(media.key)) await addItem(writer, media)
}

/** Changes the items to those of the export. They are distinguished by their keys, which is what content does. */
export async function mergeItems(writer: ContentWriter, items: Items, signedUrlLifetimeMs: number): Promise<void> {
  const here = await findByKeys(writer, items)
  for (const { media } of items) {
    const before = here.get(media.key)
    if (!before) {
      await addItem(writer, media)
      continue
    }
    const after = await updateMedia(writer, before, { name: media.name, file: await takeFile(writer, media.file) })
    if (after.file.id !== before.file.id)
      await releaseFile(writer, before.file, signedUrlLifetimeMs, { mediaKey: before.key })
  }
}

export function judgeItem(here: MediaItem | undefined, wanted: MediaItem): Verdict {
  if (!here) return 'added'
  const isEqual =
    here.name === wanted.name &&
    here.type === wanted.type &&
    here.file.sha256 === wanted.file.sha256 &&
    changedDetails(here.file, wanted.file) === undefined
  return isEqual ? 'equal' : 'changed'
}
