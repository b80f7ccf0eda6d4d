import type { Static } from 'typebox'
import { toIso } from '../content/moments.ts'
import { Type } from '../core/type.ts'
import { findWorkingCopyStates, type WorkingCopyState } from '../store/content/working-copies.ts'
import type { GroupStore } from '../store/store.ts'
import { isoOrNull, moment, orNull } from './shapes.ts'

export const copyStateProperties = {
  revision: Type.Integer({ description: 'Changes with every save; send it back as ifRevision.' }),
  baseVersion: Type.Integer({ description: 'The live version that the working copy was begun with.' }),
  publishAt: orNull(moment),
  problem: orNull(Type.String({ description: 'Why it was not published when it was due.' })),
  savedAt: moment,
  savedBy: Type.String(),
}

export const showCopyState = (copy: WorkingCopyState) => ({
  revision: copy.revision,
  baseVersion: copy.baseVersion,
  publishAt: isoOrNull(copy.dueMs),
  problem: copy.problem,
  savedAt: toIso(copy.savedMs),
  savedBy: copy.savedBy,
})

const copyState = Type.Object(copyStateProperties)

/** Of an object in an answer that tells whether it has a working copy. */
export const ofWorkingCopy = {
  workingCopy: orNull(copyState),
}

type Stated<Item> = Item & { workingCopy: Static<typeof copyState> | null }

export async function withWorkingCopies<Item extends { _id: string }>(
  group: GroupStore,
  items: readonly Item[],
): Promise<Stated<Item>[]> {
  const states = await findWorkingCopyStates(group, items.map(({ _id }) => _id)) // biome-ignore format: one line reads better
  const byId = new Map(states.map((copy) => [copy.id, showCopyState(copy)]))
  return items.map((item) => ({ ...item, workingCopy: byId.get(item._id) ?? null }))
}

export async function withWorkingCopy<Item extends { _id: string }>(group: GroupStore, item: Item) {
  const [stated = { ...item, workingCopy: null }] = await withWorkingCopies(group, [item])
  return stated
}
