import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { dayMs } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { type Database, deleteInBatches } from '../engine/database.ts'
import type { ContentTables } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import type { ContentWriter } from './changes.ts'

/** A request with an `Idempotency-Key`. Only hashes of key and body are stored. */
export interface IdempotentRequest {
  endpoint: string
  key: string
  /** Parsed JSON; an equal body is the same request. */
  body: unknown
}

/** The work claimed under a key, and its answer. */
export interface IdempotencyClaim<Request, Answer> {
  /** Whether this call claimed the key. */
  isNew: boolean
  /** The claimed work, which a caller that resumes it must do unchanged. */
  request: Request
  /** Undefined while pending. */
  answer: Answer | undefined
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )
}

const keyColumns = ({ groupId }: GroupStore, { endpoint, key }: IdempotentRequest) => ({
  group_id: groupId,
  endpoint,
  key_hash: hash('sha256', key),
})

const bodyHash = ({ body }: IdempotentRequest): string => hash('sha256', canonical(body))

/** The claim of the last 24 hours. Refuses a key that was used for another request. */
export async function findClaim<Request, Answer>(
  group: GroupStore,
  call: IdempotentRequest,
  nowMs: number,
): Promise<IdempotencyClaim<Request, Answer> | undefined> {
  const row = await group.database.read
    .selectFrom('idempotency_keys')
    .select(['body_hash', 'request', 'answer'])
    .where((eb) => eb.and(keyColumns(group, call)))
    .where('expires_ms', '>', nowMs)
    .executeTakeFirst()
  if (!row) return undefined
  if (row.body_hash !== bodyHash(call)) {
    const message = 'This Idempotency-Key was used for another request. Use a new key for each request.'
    throw new AppError('IdempotencyMismatch', message)
  }
  const { request, answer } = row
  return { isNew: false, request: JSON.parse(request), answer: answer === null ? undefined : JSON.parse(answer) }
}

/** Claims a key before the work starts, or returns the claim that exists. */
export async function claimKey<Request, Answer>(
  { db, group, nowMs }: ContentWriter,
  call: IdempotentRequest,
  request: Request,
): Promise<IdempotencyClaim<Request, Answer>> {
  const found = await findClaim<Request, Answer>(group, call, nowMs)
  if (found) return found
  const row = {
    body_hash: bodyHash(call),
    request: JSON.stringify(request),
    answer: null,
    expires_ms: nowMs + dayMs,
  }
  await db
    .insertInto('idempotency_keys')
    .values({ ...keyColumns(group, call), ...row })
    .onConflict((conflict) => conflict.columns(['group_id', 'endpoint', 'key_hash']).doUpdateSet(row)) // an expired one
    .execute()
  return { isNew: true, request, answer: undefined }
}

const pendingClaim = (group: GroupStore, call: IdempotentRequest, request: unknown) => ({
  ...keyColumns(group, call),
  request: JSON.stringify(request),
})

/** Stores the answer for repeated requests and drops the stored work. False when the claim is gone. */
export async function completeClaim<Request>(
  { db, group }: ContentWriter,
  call: IdempotentRequest,
  { request, answer }: { request: Request; answer: unknown },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('idempotency_keys')
    .set({ answer: JSON.stringify(answer), request: JSON.stringify(null) })
    .where((eb) => eb.and(pendingClaim(group, call, request)))
    .where('answer', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Frees the key if nothing was done. */
export async function releaseClaim<Request>(
  { db, group }: ContentWriter,
  call: IdempotentRequest,
  request: Request,
): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where((eb) => eb.and(pendingClaim(group, call, request)))
    .where('answer', 'is', null)
    .execute()
}

/** Deletes expired keys. */
export const pruneIdempotencyKeys = (database: Database<ContentTables>, nowMs: number): Promise<void> =>
  deleteInBatches(database, 'idempotency_keys', sql`expires_ms <= ${nowMs}`)

/**
 * Runs `work` once for each key and repeats its answer, which is stored in the writer's transaction.
 */
export async function runOnce<Answer>(
  writer: ContentWriter,
  { key, ...request }: Omit<IdempotentRequest, 'key'> & { key: string | undefined },
  work: () => Promise<Answer>,
): Promise<Answer> {
  if (key === undefined) return work()
  const call = { key, ...request }
  const claim = await claimKey<null, Answer>(writer, call, null)
  if (claim.answer !== undefined) return claim.answer
  const answer = await work()
  await completeClaim(writer, call, { request: null, answer })
  return answer
}
