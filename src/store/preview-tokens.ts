import { AppError, invalid, notFound } from '../errors.ts'
import { makeId } from '../ids.ts'
import { hashSecret, isPreviewToken, makePreviewToken } from '../secrets.ts'
import type { GroupStore } from './groups.ts'
import { findObject } from './objects.ts'

const secondMs = 1000
export const previewLifeSeconds = { least: 60, most: 30 * 24 * 3600, usual: 24 * 3600 }

export interface PreviewToken {
  id: string
  objectId: string
  expiresMs: number
  maxUses: number | null
}

/** The token itself is in this answer and nowhere else, ever again. */
export async function createPreviewToken(
  group: GroupStore,
  input: { objectId: string; lifeSeconds?: number; maxUses?: number },
  nowMs: number,
): Promise<PreviewToken & { token: string }> {
  const { objectId, lifeSeconds = previewLifeSeconds.usual, maxUses = null } = input
  const { least, most } = previewLifeSeconds
  if (!Number.isInteger(lifeSeconds) || lifeSeconds < least || lifeSeconds > most) {
    throw invalid(`A preview lives ${least} seconds (1 minute) to ${most} seconds (30 days).`)
  }
  if (maxUses !== null && (!Number.isInteger(maxUses) || maxUses < 1 || maxUses > 1_000_000)) {
    throw invalid('The maximum number of uses is a whole number from 1 to 1000000.')
  }
  if (!(await findObject(group, objectId))) throw notFound(`There is no object "${objectId}" in this group.`)
  const token = makePreviewToken()
  const created = { id: makeId(), objectId, expiresMs: nowMs + lifeSeconds * secondMs, maxUses }
  await group.database.write((db) =>
    db
      .insertInto('preview_tokens')
      .values({
        id: created.id,
        group_id: group.groupId,
        object_id: objectId,
        secret_hash: hashSecret(token),
        created_ms: nowMs,
        expires_ms: created.expiresMs,
        max_uses: maxUses,
        revoked_ms: null,
      })
      .execute(),
  )
  return { ...created, token }
}

export async function revokePreviewToken({ groupId, database }: GroupStore, id: string, nowMs: number): Promise<void> {
  const result = await database.write((db) =>
    db
      .updateTable('preview_tokens')
      .set((eb) => ({ revoked_ms: eb.fn.coalesce('revoked_ms', eb.val(nowMs)) }))
      .where('group_id', '=', groupId)
      .where('id', '=', id)
      .executeTakeFirst(),
  )
  if (result.numUpdatedRows === 0n) throw notFound(`There is no preview link "${id}" in this group.`)
}

/** Counts a use where uses are limited. The condition and the count are one statement: two callers cannot share the last use. */
async function takeUse({ groupId, database }: GroupStore, id: string): Promise<boolean> {
  const result = await database.write((db) =>
    db
      .updateTable('preview_tokens')
      .set((eb) => ({ uses: eb('uses', '+', 1) }))
      .where('group_id', '=', groupId)
      .where('id', '=', id)
      .whereRef('uses', '<', 'max_uses')
      .executeTakeFirst(),
  )
  return result.numUpdatedRows > 0n
}

/** The id of the one object a token opens. Unknown, revoked, used up and another group's cannot be told apart. */
export async function usePreviewToken(group: GroupStore, token: string, nowMs: number): Promise<string> {
  const unknown = () => notFound('There is no such preview: the token is unknown, revoked or used up.')
  if (!isPreviewToken(token)) throw unknown()
  const row = await group.database.read
    .selectFrom('preview_tokens')
    .select(['id', 'object_id', 'expires_ms', 'max_uses', 'revoked_ms'])
    .where('group_id', '=', group.groupId)
    .where('secret_hash', '=', hashSecret(token))
    .executeTakeFirst()
  if (!row || row.revoked_ms !== null) throw unknown()
  if (row.expires_ms <= nowMs)
    throw new AppError('PreviewExpired', 'This preview has expired. Share a new preview link.')
  if (row.max_uses !== null && !(await takeUse(group, row.id))) throw unknown()
  return row.object_id
}
