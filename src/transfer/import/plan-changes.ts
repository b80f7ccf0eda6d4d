import type { Container, StoredObject } from '../../content/model.ts'
import { findCollectionByName, findContainerById, findIntegration } from '../../store/content/containers.ts'
import { type FoundObject, findObjects, iterateObjects } from '../../store/content/objects.ts'
import { findSite } from '../../store/content/sites.ts'
import { findWorkingCopies, findWorkingCopy } from '../../store/content/working-copies.ts'
import type { GroupStore } from '../../store/store.ts'
import { findByExternalIds, type ImportedContainer } from '../../store/transfer/import.ts'
import { isSameCopy } from '../../store/transfer/working-copies.ts'
import { hasSameSchema, underSchema } from '../schemas.ts'
import { planItems } from './library.ts'
import { planOrders } from './orders.ts'
import { createUniquePlanner } from './plan-unique.ts'
import type { ProblemList } from './problem-list.ts'
import type { ImportStep, ObjectsStep } from './step.ts'
import { judgeContainer, judgeObject, judgeSite, type Tally } from './tally.ts'

/** An existing collection that gets a new schema, which objects missing in the export must also fit. */
interface SchemaChangeHere {
  location: string
  before: Container
  after: ImportedContainer
  /** The ids of all its objects in the export. */
  imported: Set<string>
}

/** The immutable parts of an object: if the export differs in them, it is not the same object. */
function identityProblem(
  { containerId, object: here }: FoundObject,
  container: Container,
  wanted: StoredObject,
): string | undefined {
  const other = (what: string): string =>
    `the object ${wanted.id} has another ${what} here, which an import cannot change`
  if (containerId !== container.id) return other('collection')
  if (here.createdMs !== wanted.createdMs) return other('createdAt')
  if (here.externalId !== wanted.externalId) return other('externalId')
  if (here.accountHandle !== wanted.accountHandle) return other('accountHandle')
  return (here.review === null) !== (wanted.review === null) ? other('review') : undefined
}

/** Plans, step by step, the import into an existing group, and collects what prevents it. */
export function createChangePlanner(group: GroupStore, tally: Tally, problems: ProblemList) {
  let schemaChange: SchemaChangeHere | undefined
  const unique = createUniquePlanner(group, problems)

  async function planContainer(location: string, container: ImportedContainer): Promise<void> {
    const { id, kind, name } = container
    const here = await findContainerById(group, id)
    const named = await (kind === 'collection' ? findCollectionByName : findIntegration)(group, name)
    if (here && here.kind !== kind)
      problems.add(location, `the id ${id} is that of the ${here.kind} "${here.name}" here`)
    if (named && named.id !== id)
      problems.add(
        location,
        `there is another ${kind} "${name}" here, under the id ${named.id}; rename or delete it first`,
      )
    tally[`${kind}s`][judgeContainer(here, container)] += 1
    const changes = here && !hasSameSchema(here, container)
    schemaChange = changes ? { location, before: here, after: container, imported: new Set() } : undefined
  }

  async function planSite({ site, workingCopy }: Extract<ImportStep, { kind: 'site' }>): Promise<void> {
    const isCopySame = !workingCopy || isSameCopy(await findWorkingCopy(group, site.id), workingCopy)
    tally.sites[judgeSite(await findSite(group, site.id), site, isCopySame)] += 1
  }

  async function findTakenProducts({ container, objects }: ObjectsStep): Promise<void> {
    const externalIds = objects.flatMap(({ externalId }) => externalId ?? [])
    const keyOf = (product: { externalId: string | null; accountHandle: string }): string =>
      JSON.stringify([product.accountHandle, product.externalId])
    const taken = new Map(
      (await findByExternalIds(group, container.id, externalIds)).map((product) => [keyOf(product), product.id]),
    )
    for (const object of objects) {
      const id = taken.get(keyOf(object))
      if (id !== undefined && id !== object.id)
        problems.add(object.location, `the product ${object.externalId} already exists here, under the id ${id}`)
    }
  }

  async function planObjects(step: ObjectsStep): Promise<void> {
    const ids = step.objects.map(({ id }) => id)
    const found = new Map((await findObjects(group, ids)).map((one) => [one.object.id, one]))
    const copies = new Map((await findWorkingCopies(group, ids)).map((copy) => [copy.id, copy]))
    for (const object of step.objects) {
      const here = found.get(object.id)
      const problem = here && identityProblem(here, step.container, object)
      if (problem !== undefined) problems.add(object.location, problem)
      const { workingCopy } = object
      const isCopySame = !workingCopy || isSameCopy(copies.get(object.id), workingCopy)
      tally.objects[judgeObject(here?.object, object, isCopySame)] += 1
      schemaChange?.imported.add(object.id)
    }
    await findTakenProducts(step)
    await unique.plan(step)
  }

  /** As in a schema change by an editor, nothing may be lost, and everything must fit. */
  async function planOtherObjects({ location, before, after, imported }: SchemaChangeHere): Promise<void> {
    for await (const object of iterateObjects(group, before.id)) {
      const { harm } = underSchema(before, after, object)
      if (harm !== undefined && !imported.has(object.id)) problems.add(location, harm)
    }
  }

  return async (step: ImportStep): Promise<void> => {
    if (step.kind === 'site') await planSite(step)
    else if (step.kind === 'container') await planContainer(step.location, step.container)
    else if (step.kind === 'objects') await planObjects(step)
    else if (step.kind === 'library') await planItems(group, step, tally.libraryItems, problems)
    else if (step.kind === 'orders') await planOrders(group, step, tally.orders, problems)
    else if (step.kind === 'containerEnd') {
      unique.end()
      if (schemaChange) await planOtherObjects(schemaChange)
    }
  }
}
