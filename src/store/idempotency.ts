import { hash } from 'node:crypto'
import type { Transaction } from 'kysely'
import { AppError } from '../errors.ts'
import type { ContentWriter } from './changes.ts'
import type { Database } from './database.ts'
import type { GroupStore } from './groups.ts'
import type { ContentTables } from './tables.ts'

const lifeMs = 24 * 3_600_000
const rowsPerDelete = 500

/** What a caller asks for under an `Idempotency-Key`. Of key and body only hashes are stored. */
export interface Asked {
  endpoint: string
  key: string
  /** What was understood of the request: the same again is the same request. Parsed JSON. */
  body: unknown
}

/** What was begun under a key, and what came of it. */
export interface Claim<Request, Answer> {
  /** Whether nobody has begun it before. */
  isNew: boolean
  /** What whoever goes on with it must do exactly as it stands here. */
  request: Request
  /** Undefined as long as nobody has one. */
  answer: Answer | undefined
}

/** One text for one value, in whichever order its keys were sent. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )
}

const placeOf = ({ groupId }: GroupStore, { endpoint, key }: Asked) => ({
  group_id: groupId,
  endpoint,
  key_hash: hash('sha256', key),
})

const bodyHash = ({ body }: Asked): string => hash('sha256', canonical(body))

/** What was begun under the key in the last 24 hours. Refuses a key that stands for another request. */
export async function findClaim<Request, Answer>(
  group: GroupStore,
  asked: Asked,
  nowMs: number,
): Promise<Claim<Request, Answer> | undefined> {
  const row = await group.database.read
    .selectFrom('idempotency_keys')
    .select(['body_hash', 'request', 'answer'])
    .where((eb) => eb.and(placeOf(group, asked)))
    .where('expires_ms', '>', nowMs)
    .executeTakeFirst()
  if (!row) return undefined
  if (row.body_hash !== bodyHash(asked)) {
    const message = 'This Idempotency-Key was used for another request. Use a new key for each request.'
    throw new AppError('IdempotencyMismatch', message)
  }
  const { request, answer } = row
  return { isNew: false, request: JSON.parse(request), answer: answer === null ? undefined : JSON.parse(answer) }
}

/** Notes what is about to be done; where somebody was faster, what they are about to do. */
export async function claimKey<Request, Answer>(
  { db, group, nowMs }: ContentWriter,
  asked: Asked,
  request: Request,
): Promise<Claim<Request, Answer>> {
  const found = await findClaim<Request, Answer>(group, asked, nowMs)
  if (found) return found
  const anew = {
    body_hash: bodyHash(asked),
    request: JSON.stringify(request),
    answer: null,
    expires_ms: nowMs + lifeMs,
  }
  await db
    .insertInto('idempotency_keys')
    .values({ ...placeOf(group, asked), ...anew })
    .onConflict((conflict) => conflict.columns(['group_id', 'endpoint', 'key_hash']).doUpdateSet(anew)) // an expired one
    .execute()
  return { isNew: true, request, answer: undefined }
}

const openClaim = (group: GroupStore, asked: Asked, request: unknown) => ({
  ...placeOf(group, asked),
  request: JSON.stringify(request),
})

/** Keeps the answer for who asks again, and no longer what was asked for. False where the claim is no longer there. */
export async function settleClaim<Request>(
  { db, group }: ContentWriter,
  asked: Asked,
  { request, answer }: { request: Request; answer: unknown },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('idempotency_keys')
    .set({ answer: JSON.stringify(answer), request: JSON.stringify(null) })
    .where((eb) => eb.and(openClaim(group, asked, request)))
    .where('answer', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Nothing was done, and nothing will be: the key is free for another try. */
export async function releaseClaim<Request>(
  { db, group }: ContentWriter,
  asked: Asked,
  request: Request,
): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where((eb) => eb.and(openClaim(group, asked, request)))
    .where('answer', 'is', null)
    .execute()
}

/** Deletes what has expired, a part at a time, so that nobody waits long. */
export async function pruneIdempotencyKeys(database: Database<ContentTables>, nowMs: number): Promise<void> {
  while (await database.write((db) => deleteSome(db, nowMs)));
}

async function deleteSome(db: Transaction<ContentTables>, nowMs: number): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('idempotency_keys')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('group_id', 'endpoint', 'key_hash'),
        'in',
        selectFrom('idempotency_keys')
          .select(['group_id', 'endpoint', 'key_hash'])
          .where('expires_ms', '<=', nowMs)
          .limit(rowsPerDelete)
          .$asTuple('group_id', 'endpoint', 'key_hash'),
      ),
    )
    .executeTakeFirst()
  return numDeletedRows === BigInt(rowsPerDelete)
}

/**
 * Does something once under a key, where one is given, and answers the same ever after. The work and its answer are
 * written in the transaction of the writer: both or neither.
 */
export async function answerOnce<Answer>(
  writer: ContentWriter,
  { key, ...request }: Omit<Asked, 'key'> & { key: string | undefined },
  work: () => Promise<Answer>,
): Promise<Answer> {
  if (key === undefined) return work()
  const asked = { key, ...request }
  const claim = await claimKey<null, Answer>(writer, asked, null)
  if (claim.answer !== undefined) return claim.answer
  const answer = await work()
  await settleClaim(writer, asked, { request: null, answer })
  return answer
}
