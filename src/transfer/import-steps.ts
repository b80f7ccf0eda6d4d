import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { StoredSite } from '../content/model.ts'
import { conflict } from '../errors.ts'
import type { WholeObject } from '../store/export-rows.ts'
import type { ImportedContainer, ImportedVersion } from '../store/import-rows.ts'
import type { MediaItem } from '../store/media.ts'
import type { Order } from '../store/orders.ts'
import type { CheckedExport } from './check-export.ts'
import {
  type ExportLine,
  formatWithoutLibrary,
  linesFile,
  type MediaLine,
  type ObjectLine,
  type VersionLine,
} from './export-format.ts'
import { containerOf, mediaOf, objectOf, orderOf, siteOf, versionOf } from './line-models.ts'
import { readLines } from './line-reader.ts'
import { makeLibrary } from './make-library.ts'

/** A part of an import that fits in memory. */
export type ImportStep =
  | { kind: 'site'; place: string; site: StoredSite }
  | { kind: 'container'; place: string; container: ImportedContainer }
  | ObjectsStep
  /** All objects of the container have come by. */
  | { kind: 'containerEnd'; place: string; container: ImportedContainer }
  | LibraryStep
  | OrdersStep
  | { kind: 'media'; place: string; media: MediaLine }

export interface ObjectsStep {
  kind: 'objects'
  container: ImportedContainer
  objects: (WholeObject & { place: string })[]
  /** Of these objects, or of the last one of the step before. */
  versions: ImportedVersion[]
}

/** Items of the media library. */
export interface LibraryStep {
  kind: 'library'
  items: { media: MediaItem; place: string }[]
}

export interface OrdersStep {
  kind: 'orders'
  orders: (Order & { place: string })[]
}

const linesPerStep = 500
const bytesPerStep = 4 * 1024 * 1024

/** The lines of an export that was checked, and is found to be another one at the latest when all have been read. */
async function* readCheckedLines({ folder, sha256 }: CheckedExport) {
  const digest = createHash('sha256')
  for await (const { number, bytes } of readLines(join(folder, linesFile))) {
    const line = JSON.parse(bytes.toString()) as ExportLine
    if (line.type === 'end') break
    digest.update(bytes).update('\n')
    yield { place: `line ${number}`, line, size: bytes.length }
  }
  if (digest.digest('hex') !== sha256)
    throw conflict(
      `The export in ${folder} was changed while it was read. Nothing was imported; run the command again.`,
    )
}

/** A container whose objects come by. */
interface OpenContainer {
  step: ObjectsStep
  size: number
  lastObjectId: string
}

const emptyStep = (container: ImportedContainer): ObjectsStep => ({
  kind: 'objects',
  container,
  objects: [],
  versions: [],
})

const countLines = ({ objects, versions }: ObjectsStep): number => objects.length + versions.length

function addLine(open: OpenContainer, place: string, line: ObjectLine | VersionLine, size: number): void {
  open.size += size
  if (line.type === 'version') {
    open.step.versions.push(versionOf(open.lastObjectId, line))
  } else {
    open.lastObjectId = line.id
    open.step.objects.push({ ...objectOf(line), place })
  }
}

/** Items and orders are small: so many are never more than a step may be. */
const itemsPerStep = 100

function* takeItems(items: LibraryStep['items']): Generator<LibraryStep> {
  if (items.length > 0) yield { kind: 'library', items: items.splice(0) }
}

function* takeOrders(orders: OrdersStep['orders']): Generator<OrdersStep> {
  if (orders.length > 0) yield { kind: 'orders', orders: orders.splice(0) }
}

function* takeStep(open: OpenContainer): Generator<ImportStep> {
  if (countLines(open.step) > 0) yield open.step
  open.step = emptyStep(open.step.container)
  open.size = 0
}

function* closeContainer(open: OpenContainer | undefined, place: string): Generator<ImportStep> {
  if (!open) return
  yield* takeStep(open)
  yield { kind: 'containerEnd', place, container: open.step.container }
}

async function* readWrittenSteps(checked: CheckedExport): AsyncGenerator<ImportStep> {
  let open: OpenContainer | undefined
  const items: LibraryStep['items'] = []
  const orders: OrdersStep['orders'] = []
  for await (const { place, line, size } of readCheckedLines(checked)) {
    if (line.type === 'object' || line.type === 'version') {
      if (!open) continue // the check has refused such a file
      addLine(open, place, line, size)
      if (countLines(open.step) >= linesPerStep || open.size >= bytesPerStep) yield* takeStep(open)
      continue
    }
    yield* closeContainer(open, place)
    open = undefined
    if (line.type === 'libraryItem') items.push({ media: mediaOf(line), place })
    if (line.type !== 'libraryItem' || items.length === itemsPerStep) yield* takeItems(items)
    if (line.type === 'order') orders.push({ ...orderOf(line), place })
    if (line.type !== 'order' || orders.length === itemsPerStep) yield* takeOrders(orders)
    if (line.type === 'site') yield { kind: 'site', place, site: siteOf(line) }
    else if (line.type === 'media') yield { kind: 'media', place, media: line }
    else if (line.type === 'collection' || line.type === 'integration') {
      const container = containerOf(line)
      open = { step: emptyStep(container), size: 0, lastObjectId: '' }
      yield { kind: 'container', place, container }
    }
  }
  yield* closeContainer(open, 'the end')
  yield* takeItems(items)
  yield* takeOrders(orders)
}

/** All of an export in parts, in its order. An old one gets the library that it would have today. */
export function readSteps(checked: CheckedExport): AsyncGenerator<ImportStep> {
  const steps = readWrittenSteps(checked)
  return checked.head.format === formatWithoutLibrary ? makeLibrary(checked, steps) : steps
}
