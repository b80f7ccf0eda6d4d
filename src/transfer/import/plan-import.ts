import type { MediaStorage } from '../../media/storage.ts'
import { orderRow } from '../../store/commerce/orders.ts'
import type { GroupStore } from '../../store/store.ts'
import {
  type ContentCounts,
  containerRow,
  countContent,
  countSameRows,
  findIdsOfOthers,
  type ImportedTable,
  objectRow,
  siteRow,
} from '../../store/transfer/import.ts'
import type { OnProgress } from '../progress.ts'
import type { CheckedExport } from './check-export.ts'
import { countSameItems } from './library.ts'
import { digestOfStored } from './media.ts'
import { createChangePlanner } from './plan-changes.ts'
import { createProblemList, type ProblemList } from './problem-list.ts'
import { readSteps } from './read-steps.ts'
import type { ImportStep } from './step.ts'
import { emptyTally, type Tally, type TallyCounts } from './tally.ts'

export interface ImportTarget {
  isNew: boolean
  /** Undefined only if the database does not exist yet. */
  content: GroupStore | undefined
  bucketName: string
}

export interface ImportPlan {
  tally: Tally
  /** What is missing in the export. In an existing group it stays. */
  onlyHere: ContentCounts
}

type LocatedIds = [table: ImportedTable, located: { id: string; location: string }[]]

function idsIn(step: ImportStep): LocatedIds[] {
  if (step.kind === 'site') return [['sites', [{ id: step.site.id, location: step.location }]]]
  if (step.kind === 'container') return [['containers', [{ id: step.container.id, location: step.location }]]]
  if (step.kind === 'objects') return [['objects', step.objects]]
  if (step.kind === 'orders') return [['orders', step.orders]]
  if (step.kind !== 'library') return []
  return [
    ['media', step.items.map(({ media, location }) => ({ id: media.id, location }))],
    ['media_files', step.items.map(({ media, location }) => ({ id: media.file.id, location }))],
  ]
}

async function refuseIdsOfOthers(group: GroupStore, step: ImportStep, problems: ProblemList): Promise<void> {
  for (const [table, located] of idsIn(step)) {
    const ids = located.map(({ id }) => id)
    const taken = new Set(await findIdsOfOthers(group, table, ids))
    for (const { id, location } of located) {
      if (!taken.has(id)) continue
      const advice = 'import into another one with --database'
      problems.add(location, `the id ${id} is that of another group in this database; ${advice}`)
    }
  }
}

/** A new group can only contain leftovers of an interrupted import. */
function createLeftoverPlanner(group: GroupStore | undefined, tally: Tally) {
  const add = (counts: TallyCounts, all: number, equal: number): void => {
    counts.equal += equal
    counts.added += all - equal
  }
  const count = async (counts: TallyCounts, table: ImportedTable, rows: { id: string }[]): Promise<void> =>
    add(counts, rows.length, group ? await countSameRows(group, table, rows) : 0)
  return async (step: ImportStep): Promise<void> => {
    const groupId = group?.groupId ?? ''
    if (step.kind === 'site') await count(tally.sites, 'sites', [siteRow(groupId, step.site)])
    else if (step.kind === 'container')
      await count(tally[`${step.container.kind}s`], 'containers', [containerRow(groupId, step.container)])
    else if (step.kind === 'objects')
      await count(
        tally.objects,
        'objects',
        step.objects.map((object) => objectRow(groupId, step.container, object)),
      )
    else if (step.kind === 'library')
      add(tally.libraryItems, step.items.length, group ? await countSameItems(group, step.items) : 0)
    else if (step.kind === 'orders')
      await count(
        tally.orders,
        'orders',
        step.orders.map((order) => orderRow(groupId, order)),
      )
  }
}

const isHere = ({ changed, equal }: TallyCounts): number => changed + equal

async function countOnlyHere(group: GroupStore | undefined, tally: Tally): Promise<ContentCounts> {
  if (!group) return { sites: 0, containers: 0, objects: 0, libraryItems: 0, orders: 0 }
  const all = await countContent(group)
  return {
    sites: all.sites - isHere(tally.sites),
    containers: all.containers - isHere(tally.collections) - isHere(tally.integrations),
    objects: all.objects - isHere(tally.objects),
    libraryItems: all.libraryItems - isHere(tally.libraryItems),
    orders: all.orders - isHere(tally.orders),
  }
}

/** Compares an export with the existing content, and throws if it cannot be imported. Read-only. */
export async function planImport(
  checked: CheckedExport,
  { isNew, content, bucketName }: ImportTarget,
  storage: MediaStorage,
  onProgress: OnProgress,
): Promise<ImportPlan> {
  const tally = emptyTally()
  const problems = createProblemList()
  const planStep =
    isNew || !content ? createLeftoverPlanner(content, tally) : createChangePlanner(content, tally, problems)
  const { objects: total } = checked.counts
  for await (const step of readSteps(checked)) {
    if (content) await refuseIdsOfOthers(content, step, problems)
    await planStep(step)
    if (step.kind === 'media') {
      const here = await digestOfStored(storage, bucketName, step.media.key)
      tally.media[here === undefined ? 'added' : here === step.media.sha256 ? 'equal' : 'changed'] += 1
    }
    const { added, changed, equal } = tally.objects
    onProgress({ stage: 'Comparing', done: added + changed + equal, total })
  }
  problems.refuse(`The export in ${checked.folder} cannot be imported here.`)
  return { tally, onlyHere: await countOnlyHere(content, tally) }
}
