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
  signedUrlLifetimeMs: number
  onProgress: OnProgress
}

export interface ImportOptions {
  /** The existing group that may be changed, by id or name: the export's own statement is not trusted. */
  into?: string | undefined
  /** For a new group. */
  database?: string | undefined
  bucketName?: string | undefined
  /** The file was edited by hand, so its checksum is ignored. */
  isEdited: boolean
  isDryRun: boolean
}

export interface ImportReport extends ImportPlan {
  groupId: string
  name: string
  isNew: boolean
  counts: Counts
  /** Whether it would change an existing group that `into` does not name. */
  needsInto: boolean
  /** Settings of the group that differ from the export's: an import keeps them. */
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
      `The group "${group.name}" already exists, in the database "${group.database}" and the bucket "${group.bucketName}". Omit --database and --bucket-name.`,
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

/** In one transaction: readers of the group see all changes or none. */
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
 * In many short transactions, because a group is invisible until its row is inserted at the end. Leftovers of an interrupted
 * import are continued, or removed if they belong to another export.
 */
async function createWholeGroup(
  { store, onProgress }: ImportDeps,
  { checked, content, plan, target }: { checked: CheckedExport; content: GroupStore; plan: ImportPlan; target: Target },
  authoring: Authoring,
): Promise<void> {
  const { groupId: id, name, tier, versionsKept } = checked.head
  if (Object.values(plan.onlyHere).some((count) => count > 0))
    await deleteGroupContent(content, authoring.nowMs, (done) =>
      onProgress({ stage: 'Removing leftovers of another import', done, total: 0 }),
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
    throw invalid(`The export is of the group ${groupId}, not of "${named.name}" (${named.id}). Nothing was changed.`)
}

function intoIsMissing(group: Group, tally: Tally): Error {
  const all = Object.values(tally)
  const sum = (part: 'added' | 'changed') => all.reduce((count, counts) => count + counts[part], 0)
  return conflict(
    `The export states that it is of the group "${group.name}" (${group.id}), which exists here: ${sum('added')} items would be added and ${sum('changed')} changed. Nothing was changed. Check it with --dry-run, then confirm this group with --into ${group.id}.`,
  )
}

/**
 * Imports the export in a folder. All of it is checked before the first write; files are written first, then the content.
 * After an interruption, delivery shows the state before or after the import; running it again completes it.
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
  // Opening a database creates it.
  const mayOpen = !isDryRun || groups.some((one) => one.database === database)
  const content = mayOpen ? await openGroup(store, { database, groupID: head.groupId }) : undefined
  const plan = await planImport(checked, { isNew: !group, content, bucketName }, storage, onProgress)
  const needsInto = group !== undefined && into === undefined && changesAnything(plan.tally)
  if (group && needsInto && !isDryRun) throw intoIsMissing(group, plan.tally)
  if (content && !isDryRun) {
    const versionsKept = group?.versionsKept ?? head.versionsKept
    const lenient = { allowsMissing: true, checksUniqueLater: true }
    const authoring: Authoring = { author, verb: 'import.group', nowMs, versionsKept, ...lenient }
    if (group) await cancelRemovals(checked, content, authoring)
    await copyMedia(checked, { storage, bucketName, content }, onProgress)
    if (!group) await createWholeGroup(deps, { checked, content, plan, target }, authoring)
    else if (changesContent(plan.tally)) await changeGroup(deps, checked, content, authoring)
    // After the group exists: jobs of a missing group are discarded.
    await deriveMissing(content, authoring, { retryFailed: false })
  }
  const keptSettings = settingsThatDiffer(group, head)
  const { groupId } = head
  return { groupId, name: group?.name ?? head.name, isNew: !group, counts, needsInto, keptSettings, ...plan }
}
