import { sql } from 'kysely'
import { answerTooLong } from '../content/answer-limit.ts'
import { addressKey } from '../content/email.ts'
import { filterKeyOfText } from '../content/index-keys.ts'
import type { ReviewState, StoredObject } from '../content/model.ts'
import { inPieces, takePiece } from '../heavy-work.ts'
import type { GroupStore } from './groups.ts'
import { emailField, type FoundObject, findObject, findObjects } from './objects.ts'

/** What an object costs besides its bytes: a piece is no more than some hundreds of them. */
const leastCost = 1000

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

/** How many there are, and which stand on a page with how many bytes, newest first; reads no value. */
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

/** In pieces: each is read and parsed by itself, and others have their turn in between. */
export async function* eachPiece(
  group: GroupStore,
  sizes: readonly { id: string; bytes: number }[],
): AsyncGenerator<FoundObject> {
  for (const { items: piece, characters } of inPieces(sizes, ({ bytes }) => bytes + leastCost)) {
    await takePiece(characters)
    const found = await findObjects(
      group,
      piece.map(({ id }) => id),
    )
    const byId = new Map(found.map((one) => [one.object.id, one]))
    for (const { id } of piece) {
      const one = byId.get(id) // undefined where it has been deleted since
      if (one) yield one
    }
  }
}

/** What visitors sent in, newest first. */
export async function listSubmissions(
  group: GroupStore,
  query: SubmissionQuery,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<{ submissions: FoundObject[]; totalCount: number }> {
  const { sizes, totalCount } = await measureSubmissions(group, query)
  if (sumBytes(sizes) > maxBytes) throw answerTooLong(maxBytes)
  return { submissions: await Array.fromAsync(eachPiece(group, sizes)), totalCount }
}

/** The first in a collection who has this address, however it is written and whatever became of them. */
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
