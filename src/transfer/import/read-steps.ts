import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { conflict } from '../../core/errors.ts'
import type { ImportedContainer } from '../../store/transfer/import.ts'
import {
  type ExportLine,
  formatWithoutLibrary,
  linesFile,
  type ObjectLine,
  type VersionLine,
} from '../export-format.ts'
import {
  containerFromLine,
  copyFromPart,
  mediaFromLine,
  objectFromLine,
  orderFromLine,
  siteFromLine,
  versionFromLine,
} from '../line-models.ts'
import type { CheckedExport } from './check-export.ts'
import { deriveLibrary } from './derive-library.ts'
import { readLines } from './line-reader.ts'
import type { ImportStep, LibraryStep, ObjectsStep, OrdersStep } from './step.ts'

const linesPerStep = 500
const bytesPerStep = 4 * 1024 * 1024

/** The lines of a checked export. Throws after the last one, at the latest, if the file has changed. */
async function* readCheckedLines({ folder, sha256 }: CheckedExport) {
  const digest = createHash('sha256')
  for await (const { number, bytes } of readLines(join(folder, linesFile))) {
    const line = JSON.parse(bytes.toString()) as ExportLine
    if (line.type === 'end') break
    digest.update(bytes).update('\n')
    yield { location: `line ${number}`, line, size: bytes.length }
  }
  if (digest.digest('hex') !== sha256)
    throw conflict(
      `The export in ${folder} was changed while it was read. Nothing was imported; run the command again.`,
    )
}

/** A container whose objects are being read. */
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

function addLine(open: OpenContainer, location: string, line: ObjectLine | VersionLine, size: number): void {
  open.size += size
  if (line.type === 'version') {
    open.step.versions.push(versionFromLine(open.lastObjectId, line))
  } else {
    open.lastObjectId = line.id
    open.step.objects.push({ ...objectFromLine(line), location })
  }
}

/** Items and orders are small: this many never exceed a step. */
const itemsPerStep = 100

function* flushItems(items: LibraryStep['items']): Generator<LibraryStep> {
  if (items.length > 0) yield { kind: 'library', items: items.splice(0) }
}

function* flushOrders(orders: OrdersStep['orders']): Generator<OrdersStep> {
  if (orders.length > 0) yield { kind: 'orders', orders: orders.splice(0) }
}

function* flushStep(open: OpenContainer): Generator<ImportStep> {
  if (countLines(open.step) > 0) yield open.step
  open.step = emptyStep(open.step.container)
  open.size = 0
}

function* closeContainer(open: OpenContainer | undefined, location: string): Generator<ImportStep> {
  if (!open) return
  yield* flushStep(open)
  yield { kind: 'containerEnd', location, container: open.step.container }
}

async function* readWrittenSteps(checked: CheckedExport): AsyncGenerator<ImportStep> {
  let open: OpenContainer | undefined
  const items: LibraryStep['items'] = []
  const orders: OrdersStep['orders'] = []
  for await (const { location, line, size } of readCheckedLines(checked)) {
    if (line.type === 'object' || line.type === 'version') {
      if (!open) continue // impossible in a checked file
      addLine(open, location, line, size)
      if (countLines(open.step) >= linesPerStep || open.size >= bytesPerStep) yield* flushStep(open)
      continue
    }
    yield* closeContainer(open, location)
    open = undefined
    if (line.type === 'libraryItem') items.push({ media: mediaFromLine(line), location })
    if (line.type !== 'libraryItem' || items.length === itemsPerStep) yield* flushItems(items)
    if (line.type === 'order') orders.push({ ...orderFromLine(line), location })
    if (line.type !== 'order' || orders.length === itemsPerStep) yield* flushOrders(orders)
    if (line.type === 'site') {
      const workingCopy = line.workingCopy && copyFromPart(line.workingCopy)
      yield { kind: 'site', location, site: siteFromLine(line), workingCopy }
    }
    if (line.type === 'media') yield { kind: 'media', location, media: line }
    else if (line.type === 'collection' || line.type === 'integration') {
      const container = containerFromLine(line)
      open = { step: emptyStep(container), size: 0, lastObjectId: '' }
      yield { kind: 'container', location, container }
    }
  }
  yield* closeContainer(open, 'the end')
  yield* flushItems(items)
  yield* flushOrders(orders)
}

/** Streams the steps of an export in order. An export without a library gets a derived one. */
export function readSteps(checked: CheckedExport): AsyncGenerator<ImportStep> {
  const steps = readWrittenSteps(checked)
  return checked.head.format === formatWithoutLibrary ? deriveLibrary(checked, steps) : steps
}
