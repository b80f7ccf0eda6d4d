import type { Container, StoredObject } from '../../content/model.ts'
import { findCollectionByName, findContainerById, findIntegration } from '../../store/content/containers.ts'
import { type FoundObject, findObjects, iterateObjects } from '../../store/content/objects.ts'
import { findSite } from '../../store/content/sites.ts'
import type { GroupStore } from '../../store/store.ts'
import { findByExternalIds, type ImportedContainer } from '../../store/transfer/import.ts'
import { hasSameSchema, underSchema } from '../schemas.ts'
import { planItems } from './library.ts'
import { planOrders } from './orders.ts'
import type { ProblemList } from './problem-list.ts'
import type { ImportStep, ObjectsStep } from './step.ts'
import { judgeContainer, judgeObject, judgeSite, type Tally } from './tally.ts'

/** A collection here that gets another schema: what is only here must come to fit it too. */
interface SchemaChangeHere {
  location: string
  before: Container
  after: ImportedContainer
  /** The ids of all its objects in the export. */
  imported: Set<string>
}

/** What an import never changes of an object: an export that says otherwise is not of the same object. */
function identityProblem(
  { containerId, object: here }: FoundObject,
  container: Container,
  wanted: StoredObject,
): string | undefined {
  const other = (what: string): string => `the object ${wanted.id} has another ${what} here, which no import changes`
  if (containerId !== container.id) return other('collection')
  if (here.createdMs !== wanted.createdMs) return other('createdAt')
  if (here.externalId !== wanted.externalId) return other('externalId')
  if (here.accountHandle !== wanted.accountHandle) return other('accountHandle')
  return (here.review === null) !== (wanted.review === null) ? other('review') : undefined
}

/** Plans, step by step, what an import would do to an existing group, and adds what prevents it. */
export function createChangePlanner(group: GroupStore, tally: Tally, problems: ProblemList) {
  let schemaChange: SchemaChangeHere | undefined

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
        problems.add(object.location, `the product ${object.externalId} is here already, under the id ${id}`)
    }
  }

  async function planObjects(step: ObjectsStep): Promise<void> {
    const ids = step.objects.map(({ id }) => id)
    const found = new Map((await findObjects(group, ids)).map((one) => [one.object.id, one]))
    for (const object of step.objects) {
      const here = found.get(object.id)
      const problem = here && identityProblem(here, step.container, object)
      if (problem !== undefined) problems.add(object.location, problem)
      tally.objects[judgeObject(here?.object, object)] += 1
      schemaChange?.imported.add(object.id)
    }
    await findTakenProducts(step)
  }

  /** The same rules as for a change of schema by hand: nothing is lost, and nothing is left that does not fit. */
  async function planOtherObjects({ location, before, after, imported }: SchemaChangeHere): Promise<void> {
    for await (const object of iterateObjects(group, before.id)) {
      const { harm } = underSchema(before, after, object)
      if (harm !== undefined && !imported.has(object.id)) problems.add(location, harm)
    }
  }

  return async (step: ImportStep): Promise<void> => {
    if (step.kind === 'site') tally.sites[judgeSite(await findSite(group, step.site.id), step.site)] += 1
    else if (step.kind === 'container') await planContainer(step.location, step.container)
    else if (step.kind === 'objects') await planObjects(step)
    else if (step.kind === 'library') await planItems(group, step, tally.libraryItems, problems)
    else if (step.kind === 'orders') await planOrders(group, step, tally.orders, problems)
    else if (step.kind === 'containerEnd' && schemaChange) await planOtherObjects(schemaChange)
  }
}
