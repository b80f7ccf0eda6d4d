import { mediaUsesAnywhere, mediaUsesIn } from '../../content/media-uses.ts'
import type { Container, StoredObject, StoredSite } from '../../content/model.ts'
import { conflict } from '../../core/errors.ts'
import { changeObjects, type PlannedChange } from '../../store/content/change-objects.ts'
import type { ContentWriter } from '../../store/content/changes.ts'
import { findContainerById, updateContainer } from '../../store/content/containers.ts'
import { findObjects, iterateObjects } from '../../store/content/objects.ts'
import { findSite, updateSite } from '../../store/content/sites.ts'
import { refuseDuplicates } from '../../store/content/unique.ts'
import type { ExportedObject } from '../../store/transfer/export.ts'
import {
  type ImportedContainer,
  insertImportedContainer,
  insertImportedObjects,
  insertImportedSite,
  insertImportedVersions,
} from '../../store/transfer/import.ts'
import { importWorkingCopy } from '../../store/transfer/working-copies.ts'
import { hasSameSchema, underSchema } from '../schemas.ts'
import { addItems, mergeItems } from './library.ts'
import { addOrders, mergeOrders } from './orders.ts'
import type { ImportStep, ObjectsStep } from './step.ts'

const objectsPerChange = 250

export type ApplyStep = (writer: ContentWriter, step: ImportStep) => Promise<void>

async function findByIds(
  writer: ContentWriter,
  objects: readonly ExportedObject[],
): Promise<Map<string, StoredObject>> {
  const ids = objects.map(({ id }) => id)
  return new Map((await findObjects(writer.group, ids)).map(({ object }) => [object.id, object]))
}

/** Working copies in the export replace those here; others stay. */
async function importCopies(
  writer: ContentWriter,
  container: Container,
  objects: readonly ExportedObject[],
): Promise<void> {
  for (const { id, workingCopy } of objects) {
    if (!workingCopy) continue
    const uses = mediaUsesIn(container.schema, workingCopy.value)
    await importWorkingCopy(writer, { id, containerId: container.id }, workingCopy, uses)
  }
}

async function importSiteCopy(
  writer: ContentWriter,
  { site: { id }, workingCopy }: Extract<ImportStep, { kind: 'site' }>,
): Promise<void> {
  if (workingCopy)
    await importWorkingCopy(writer, { id, containerId: null }, workingCopy, mediaUsesAnywhere(workingCopy.value))
}

/**
 * Adds what is missing, and changes nothing: for a new group, whose content is either missing or equal to the export after
 * an interruption.
 */
export const addStep: ApplyStep = async (writer, step) => {
  if (step.kind === 'site') {
    if (await findSite(writer.group, step.site.id)) return
    await insertImportedSite(writer, step.site)
    await importSiteCopy(writer, step)
  } else if (step.kind === 'container') {
    if (!(await findContainerById(writer.group, step.container.id)))
      await insertImportedContainer(writer, step.container)
  } else if (step.kind === 'objects') {
    const here = await findByIds(writer, step.objects)
    const fresh = step.objects.filter(({ id }) => !here.has(id))
    await insertImportedObjects(writer, step.container, fresh)
    await importCopies(writer, step.container, fresh)
    await insertImportedVersions(writer, step.versions)
  } else if (step.kind === 'library') {
    await addItems(writer, step.items)
  } else if (step.kind === 'orders') {
    await addOrders(writer, step.orders)
  }
}

interface MergedContainer {
  before: Container
  after: Container
  /** The ids of imported objects, if the schema changes. */
  imported: Set<string> | undefined
}

/**
 * Changes existing content to that of the export. The former content becomes a version; content missing in the export
 * stays. Replaced files are kept until their signed URLs have expired.
 */
export function createMerger(signedUrlLifetimeMs: number): ApplyStep {
  let container: MergedContainer | undefined
  /** The latest object if it is new: the next step may have more of its former versions. */
  let lastAdded: string | undefined

  async function mergeSite(writer: ContentWriter, site: StoredSite): Promise<void> {
    const here = await findSite(writer.group, site.id)
    if (!here) return insertImportedSite(writer, site)
    const { name, domainName, settings, privateSettings } = site
    await updateSite(writer, here, { name, domainName, settings, privateSettings })
  }

  async function mergeContainer(writer: ContentWriter, wanted: ImportedContainer): Promise<MergedContainer> {
    const here = await findContainerById(writer.group, wanted.id)
    if (!here) {
      await insertImportedContainer(writer, wanted)
      return { before: wanted, after: wanted, imported: undefined }
    }
    const { name, schema, settings } = wanted
    const after = await updateContainer(writer, here, { name, schema, settings })
    if (hasSameSchema(here, after)) return { before: after, after, imported: undefined }
    return { before: here, after, imported: new Set() }
  }

  async function mergeObjects(
    writer: ContentWriter,
    { objects, versions }: ObjectsStep,
    { before, after, imported }: MergedContainer,
  ): Promise<void> {
    const here = await findByIds(writer, objects)
    const planned = objects.flatMap(({ id, value, publishMs, archived, archiveMs, review }): PlannedChange[] => {
      const found = here.get(id)
      const wanted = { value, publishMs, archived, archiveMs, ...(review !== null && { review }) }
      return found ? [{ before: found, wanted }] : []
    })
    await changeObjects(writer, after, planned, 'imported', before)
    for (const { id } of objects) imported?.add(id)
    const fresh = objects.filter(({ id }) => !here.has(id))
    await insertImportedObjects(writer, after, fresh)
    await importCopies(writer, after, objects)
    const added = new Set([lastAdded, ...fresh.map(({ id }) => id)])
    await insertImportedVersions(
      writer,
      versions.filter(({ objectId }) => added.has(objectId)),
    )
    const last = objects.at(-1)
    if (last) lastAdded = here.has(last.id) ? undefined : last.id
  }

  async function mergeOthers(writer: ContentWriter, { before, after, imported }: MergedContainer): Promise<void> {
    if (!imported) return
    let planned: PlannedChange[] = []
    const change = async (): Promise<void> => {
      await changeObjects(writer, after, planned, 'schema changed', before)
      planned = []
    }
    for await (const object of iterateObjects(writer.group, after.id)) {
      if (imported.has(object.id)) continue
      const { value, harm } = underSchema(before, after, object)
      if (harm !== undefined) throw conflict(`${harm}. Nothing was changed.`) // added since the plan
      planned.push({ before: object, wanted: { value } })
      if (planned.length === objectsPerChange) await change()
    }
    await change()
  }

  return async (writer, step) => {
    if (step.kind === 'site') {
      await mergeSite(writer, step.site)
      await importSiteCopy(writer, step)
    } else if (step.kind === 'container') container = await mergeContainer(writer, step.container)
    else if (step.kind === 'objects' && container) await mergeObjects(writer, step, container)
    else if (step.kind === 'containerEnd' && container) {
      await mergeOthers(writer, container)
      await refuseDuplicates(writer, container.after)
    } else if (step.kind === 'library') await mergeItems(writer, step.items, signedUrlLifetimeMs)
    else if (step.kind === 'orders') await mergeOrders(writer, step.orders)
  }
}
