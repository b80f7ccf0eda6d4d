import { createReadStream } from 'node:fs'
import { bucketNamePattern } from '../../content/media-keys.ts'
import { conflict, invalid } from '../../core/errors.ts'
import { deriveMissing } from '../../media/derive-missing.ts'
import type { MediaStorage } from '../../media/storage.ts'
import { type Author, type Authoring, writeContent } from '../../store/content/changes.ts'
import { deleteGroupContent, reopenGroupContent } from '../../store/content/purge.ts'
import {
  createGroup,
  defaultBucket,
  defaultDatabase,
  findGroup,
  type Group,
  listGroups,
} from '../../store/control/groups.ts'
import { findKeysInUse } from '../../store/media/files.ts'
import { databaseNamePattern, type GroupStore, openGroup, type Store } from '../../store/store.ts'
import type { Counts, HeadLine } from '../export-format.ts'
import type { OnProgress } from '../progress.ts'
import { addStep, createMerger } from './apply-import.ts'
import { cancelRemovals } from './cancel-removals.ts'
import { type CheckedExport, checkExport } from './check-export.ts'
import { digestOfStored, pathOfMedia } from './media.ts'
import { type ImportPlan, planImport } from './plan-import.ts'
import { readSteps } from './read-steps.ts'
import { changesAnything, changesContent, type Tally } from './tally.ts'

export interface ImportDeps {
  store: Store
  storage: MediaStorage
  nowMs: number
  author: Author
  /** So long an address of a file that was handed out may still be asked for. */
  signedUrlLifetimeMs: number
  onProgress: OnProgress
}

export interface ImportOptions {
  /** The group that exists and may be changed, by id or name. What the export says of itself, anybody can write. */
  into?: string | undefined
  /** Where a new group goes. */
  database?: string | undefined
  bucketName?: string | undefined
  /** The file was changed by hand, and is not to be held to its checksum. */
  isEdited: boolean
  isDryRun: boolean
}

export interface ImportReport extends ImportPlan {
  groupId: string
  name: string
  isNew: boolean
  counts: Counts
  /** Whether it would change a group that exists and that nobody has named. */
  needsInto: boolean
  /** Where name, tier or kept versions differ from the export's: an import leaves them. */
  keptSettings: string[]
}

interface Target {
  group: Group | undefined
  database: string
  bucketName: string
}

function findTarget(groups: readonly Group[], { groupId }: HeadLine, options: ImportOptions): Target {
  const group = groups.find(({ id }) => id === groupId)
  const { database = group?.database ?? defaultDatabase, bucketName = group?.bucketName ?? defaultBucket } = options
  if (!databaseNamePattern.test(database) || database === 'control')
    throw invalid('--database takes a lower-case letter, then up to 39 lower-case letters, digits or _; not "control".')
  if (!bucketNamePattern.test(bucketName))
    throw invalid('--bucket-name takes 3 to 63 lower-case letters, digits, - or .')
  if (group && (group.database !== database || group.bucketName !== bucketName))
    throw invalid(
      `The group "${group.name}" exists already, in the database "${group.database}" and the bucket "${group.bucketName}". Leave --database and --bucket-name out.`,
    )
  if (group && group.deletingMs !== null) throw conflict('This group is being deleted. Delete it again to finish.')
  return { group, database, bucketName }
}

function settingsThatDiffer(group: Group | undefined, head: HeadLine): string[] {
  if (!group) return []
  return (['name', 'tier', 'versionsKept'] as const).filter((setting) => group[setting] !== head[setting])
}

/**
 * Copies the files of an export that are missing here, each atomically. A file that the library uses stays as it is:
 * its URLs promise that it never changes.
 */
async function copyMedia(
  checked: CheckedExport,
  { storage, bucketName, content }: { storage: MediaStorage; bucketName: string; content: GroupStore },
  onProgress: OnProgress,
): Promise<void> {
  const { folder, head, counts } = checked
  if (counts.media === 0) return
  let done = 0
  for await (const step of readSteps(checked)) {
    if (step.kind !== 'media') continue
    const { key, sha256 } = step.media
    const stored = await digestOfStored(storage, bucketName, key)
    const isKept = stored !== undefined && (await findKeysInUse(content, [key])).has(key)
    if (stored !== sha256 && !isKept)
      await storage.write(bucketName, key, createReadStream(pathOfMedia(folder, head.groupId, key)))
    done += 1
    onProgress({ stage: 'Copying files', done, total: counts.media })
  }
}

/** Everything in one transaction: readers of the group see it before or after, never between. */
async function changeGroup(
  { onProgress, signedUrlLifetimeMs }: ImportDeps,
  checked: CheckedExport,
  content: GroupStore,
  authoring: Authoring,
): Promise<void> {
  await writeContent(content, authoring, async (writer) => {
    const merge = createMerger(signedUrlLifetimeMs)
    let done = 0
    for await (const step of readSteps(checked)) {
      onProgress({ stage: 'Writing', done, total: checked.counts.objects })
      await merge(writer, step)
      if (step.kind === 'objects') done += step.objects.length
    }
  })
}

/**
 * In many short transactions, because nobody can see a group that does not exist: it comes to be, as a whole, with its
 * row at the end. What an interrupted import has left is gone on with, or removed where it is of another export.
 */
async function makeGroup(
  { store, onProgress }: ImportDeps,
  { checked, content, plan, target }: { checked: CheckedExport; content: GroupStore; plan: ImportPlan; target: Target },
  authoring: Authoring,
): Promise<void> {
  const { groupId: id, name, tier, versionsKept } = checked.head
  if (Object.values(plan.onlyHere).some((count) => count > 0))
    await deleteGroupContent(content, authoring.nowMs, (done) =>
      onProgress({ stage: 'Removing what is left of another import', done, total: 0 }),
    )
  await reopenGroupContent(content, authoring.nowMs)
  let done = 0
  for await (const step of readSteps(checked)) {
    onProgress({ stage: 'Writing', done, total: checked.counts.objects })
    if (step.kind === 'containerEnd' || step.kind === 'media') continue // nothing to write
    await writeContent(content, authoring, (writer) => addStep(writer, step))
    if (step.kind === 'objects') done += step.objects.length
  }
  // A concurrent import of the same export may have been faster.
  if ((await listGroups(store)).some((group) => group.id === id)) return
  const { database, bucketName } = target
  await createGroup(store, { id, name, tier, versionsKept, database, bucketName }, authoring)
}

async function checkInto(store: Store, into: string | undefined, { groupId }: HeadLine): Promise<void> {
  if (into === undefined) return
  const named = await findGroup(store, into)
  if (named.id !== groupId)
    throw invalid(
      `The export is that of the group ${groupId}, and not of "${named.name}" (${named.id}). Nothing was changed.`,
    )
}

function intoIsMissing(group: Group, tally: Tally): Error {
  const all = Object.values(tally)
  const sum = (part: 'added' | 'changed') => all.reduce((count, counts) => count + counts[part], 0)
  return conflict(
    `The export says that it is of the group "${group.name}" (${group.id}), which exists here: ${sum('added')} things would be added and ${sum('changed')} changed. Nothing was changed. Look at it with --dry-run, then say that you mean this group with --into ${group.id}.`,
  )
}

/**
 * Imports the export in a folder. All of it is checked before the first write; files come first, then the content. An
 * interruption at any moment leaves what delivery shows as it was, or as it will be; running it again completes it.
 */
export async function importGroup(deps: ImportDeps, folder: string, options: ImportOptions): Promise<ImportReport> {
  const { store, storage, nowMs, author, onProgress } = deps
  const { isEdited, isDryRun, into } = options
  const checked = await checkExport(folder, { isEdited, onProgress })
  const { head, counts } = checked
  await checkInto(store, into, head)
  const groups = await listGroups(store)
  const target = findTarget(groups, head, options)
  const { group, database, bucketName } = target
  // To open a database is to make it.
  const mayOpen = !isDryRun || groups.some((one) => one.database === database)
  const content = mayOpen ? await openGroup(store, { database, groupID: head.groupId }) : undefined
  const plan = await planImport(checked, { isNew: !group, content, bucketName }, storage, onProgress)
  const needsInto = group !== undefined && into === undefined && changesAnything(plan.tally)
  if (group && needsInto && !isDryRun) throw intoIsMissing(group, plan.tally)
  if (content && !isDryRun) {
    const versionsKept = group?.versionsKept ?? head.versionsKept
    const authoring: Authoring = { author, verb: 'import.group', nowMs, versionsKept, allowsMissingMedia: true }
    if (group) await cancelRemovals(checked, content, authoring)
    await copyMedia(checked, { storage, bucketName, content }, onProgress)
    if (!group) await makeGroup(deps, { checked, content, plan, target }, authoring)
    else if (changesContent(plan.tally)) await changeGroup(deps, checked, content, authoring)
    // After the group is there: work of a group that is not is thrown away.
    await deriveMissing(content, authoring, { retryFailed: false })
  }
  const keptSettings = settingsThatDiffer(group, head)
  const { groupId } = head
  return { groupId, name: group?.name ?? head.name, isNew: !group, counts, needsInto, keptSettings, ...plan }
}
