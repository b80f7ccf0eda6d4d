import { sql } from 'kysely'
import { splitIntoSlices, yieldForHeavyWork } from '../../concurrency/time-slicing.ts'
import { answerTooLong } from '../../content/answer-limit.ts'
import { addressKey } from '../../content/email.ts'
import { filterKeyOfText } from '../../content/index-keys.ts'
import type { ReviewState, StoredObject } from '../../content/model.ts'
import type { GroupStore } from '../store.ts'
import { emailField, type FoundObject, findObject, findObjects } from './objects.ts'

/** Cost of an object besides its bytes, which limits a piece to a few hundred objects. */
const baseCost = 1000

export const sumBytes = (sizes: readonly { bytes: number }[]): number =>
  sizes.reduce((sum, { bytes }) => sum + bytes, 0)

interface SubmissionFilter {
  collectionId?: string | undefined
  review?: ReviewState | undefined
}

interface SubmissionQuery extends SubmissionFilter {
  limit: number
  skip: number
}

const matchingSubmissions = ({ groupId, database }: GroupStore, { collectionId, review }: SubmissionFilter) =>
  database.read
    .selectFrom('objects')
    .where('review', 'is not', null)
    .where('container_id', 'in', (eb) => eb.selectFrom('containers').select('id').where('group_id', '=', groupId))
    .where((eb) =>
      eb.and({
        group_id: groupId,
        ...(review !== undefined && { review }),
        ...(collectionId !== undefined && { container_id: collectionId }),
      }),
    )

/** The total, and ids and sizes of one page, newest first; reads no value. */
export async function measureSubmissions(
  group: GroupStore,
  query: SubmissionQuery,
): Promise<{ sizes: { id: string; bytes: number }[]; totalCount: number }> {
  const matching = matchingSubmissions(group, query)
  const { total } = await matching.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const sizes = await matching
    .select(['id', sql<number>`octet_length(value)`.as('bytes')])
    .orderBy('id', 'desc')
    .limit(query.limit)
    .offset(query.skip)
    .execute()
  return { sizes, totalCount: Number(total) }
}

/** Reads and parses in pieces, yielding to other work in between. */
export async function* iterateSubmissions(
  group: GroupStore,
  sizes: readonly { id: string; bytes: number }[],
): AsyncGenerator<FoundObject> {
  for (const { items: piece, characters } of splitIntoSlices(sizes, ({ bytes }) => bytes + baseCost)) {
    await yieldForHeavyWork(characters)
    const found = await findObjects(
      group,
      piece.map(({ id }) => id),
    )
    const byId = new Map(found.map((one) => [one.object.id, one]))
    for (const { id } of piece) {
      const one = byId.get(id) // undefined if it was deleted meanwhile
      if (one) yield one
    }
  }
}

/** Submissions of visitors, newest first. */
export async function listSubmissions(
  group: GroupStore,
  query: SubmissionQuery,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<{ submissions: FoundObject[]; totalCount: number }> {
  const { sizes, totalCount } = await measureSubmissions(group, query)
  if (sumBytes(sizes) > maxBytes) throw answerTooLong(maxBytes)
  return { submissions: await Array.fromAsync(iterateSubmissions(group, sizes)), totalCount }
}

/** The first object of a collection with this address, in any spelling and state. */
export async function findByEmail(
  group: GroupStore,
  collectionId: string,
  email: string,
): Promise<StoredObject | undefined> {
  const row = await group.database.read
    .selectFrom('object_fields')
    .select('object_id')
    .where('container_id', '=', collectionId)
    .where('field', '=', emailField)
    .where('filter_key', '=', filterKeyOfText(addressKey(email)))
    .orderBy('object_id')
    .limit(1)
    .executeTakeFirst()
  return row && (await findObject(group, row.object_id))?.object
}
