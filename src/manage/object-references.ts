import type { Static } from 'typebox'
import { splitIntoSlices, yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import { referencesIn } from '../content/references.ts'
import { Type } from '../core/type.ts'
import { listContainers } from '../store/content/containers.ts'
import { findObjects, measureObjects } from '../store/content/objects.ts'
import { findReferrers } from '../store/content/references.ts'
import type { GroupStore } from '../store/store.ts'
import { ownId } from './shapes.ts'

const maxPathsShown = 20

export const referrerShape = Type.Object({
  _id: ownId,
  collectionId: ownId,
  paths: Type.Array(Type.String({ examples: ['sections.2.author'] }), {
    description: `Where it refers to the object, the first ${maxPathsShown}.`,
  }),
})

/** The paths in the values of these objects that refer to a target. */
async function findPaths(group: GroupStore, ids: readonly string[], target: string): Promise<Map<string, string[]>> {
  const schemas = new Map((await listContainers(group)).map(({ id, schema }) => [id, schema]))
  const sizes = await measureObjects(group, ids)
  const found = new Map<string, string[]>()
  for (const { items, characters } of splitIntoSlices(ids, (id) => sizes.get(id) ?? 0)) {
    await yieldForHeavyWork(characters)
    for (const { containerId, object } of await findObjects(group, items)) {
      const uses = referencesIn(schemas.get(containerId) ?? new Map(), object.value)
      const paths = uses.filter(({ id }) => id === target).map(({ path }) => path)
      found.set(object.id, paths.slice(0, maxPathsShown))
    }
  }
  return found
}

export async function listReferrers(
  group: GroupStore,
  target: string,
  page: { limit: number; skip: number },
): Promise<{ items: Static<typeof referrerShape>[]; totalCount: number }> {
  const { referrers, totalCount } = await findReferrers(group, target, page)
  const paths = await findPaths(
    group,
    referrers.map(({ id }) => id),
    target,
  )
  const items = referrers.map(({ id, containerId }) => ({
    _id: id,
    collectionId: containerId,
    paths: paths.get(id) ?? [],
  }))
  return { items, totalCount }
}
