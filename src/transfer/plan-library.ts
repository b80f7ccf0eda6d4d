import { fileIdIn } from '../content/media-keys.ts'
import type { GroupStore } from '../store/groups.ts'
import { findMedia, findMediaByKeys, type MediaItem } from '../store/media.ts'
import { findFileByContent, findFileById, findFileByKey, type MediaFile } from '../store/media-files.ts'
import type { LibraryStep } from './import-steps.ts'
import type { ProblemList } from './problem-list.ts'
import { judgeItem, type TallyCounts } from './tally.ts'

/** Each item with the one that is here under its key. */
async function compareItems(group: GroupStore, items: LibraryStep['items']) {
  const keys = items.map(({ media }) => media.key)
  const found = new Map((await findMediaByKeys(group, keys)).map((media) => [media.key, media]))
  return items.map(({ media: wanted, place }) => {
    const here = found.get(wanted.key)
    return { place, wanted, here, verdict: judgeItem(here, wanted) }
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

/** Looks what an import would do to the library of a group that exists, and what stands in its way. */
export async function planItems(
  group: GroupStore,
  { items }: LibraryStep,
  counts: TallyCounts,
  problems: ProblemList,
): Promise<void> {
  for (const { place, wanted, here, verdict } of await compareItems(group, items)) {
    const problem = verdict === 'equal' ? undefined : await problemOfItem(group, here, wanted)
    if (problem !== undefined) problems.add(place, problem)
    counts[verdict] += 1
  }
}
