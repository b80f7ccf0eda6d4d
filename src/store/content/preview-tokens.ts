import type { Selectable } from 'kysely'
import { AppError, invalid, notFound } from '../../core/errors.ts'
import { makeId } from '../../core/ids.ts'
import { hashSecret, isPreviewToken, makePreviewToken } from '../../security/tokens.ts'
import type { SitePreviewRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import type { ContentWriter } from './changes.ts'
import { findObject } from './objects.ts'

const secondMs = 1000
export const previewLifeSeconds = { least: 60, most: 30 * 24 * 3600, usual: 24 * 3600 }

export interface PreviewToken {
  id: string
  /** Null for a preview of the whole site. */
  objectId: string | null
  createdMs: number
  expiresMs: number
  maxUses: number | null
  uses: number
  revokedMs: number | null
}

/** The token itself is returned once and never stored. */
export async function createPreviewToken(
  writer: ContentWriter,
  input: { objectId: string | null; lifeSeconds?: number | undefined; maxUses?: number | undefined },
): Promise<PreviewToken & { token: string }> {
  const { objectId, lifeSeconds = previewLifeSeconds.usual, maxUses = null } = input
  const { db, group, nowMs } = writer
  const { least, most } = previewLifeSeconds
  if (!Number.isInteger(lifeSeconds) || lifeSeconds < least || lifeSeconds > most) {
    throw invalid(`A preview lives ${least} seconds (1 minute) to ${most} seconds (30 days).`)
  }
  if (maxUses !== null && (!Number.isInteger(maxUses) || maxUses < 1 || maxUses > 1_000_000)) {
    throw invalid('The maximum number of uses is a whole number from 1 to 1000000.')
  }
  if (objectId !== null && !(await findObject(group, objectId)))
    throw notFound('There is no such object in this group.')
  const token = makePreviewToken()
  const row = {
    id: makeId(),
    group_id: group.groupId,
    secret_hash: hashSecret(token),
    created_ms: nowMs,
    expires_ms: nowMs + lifeSeconds * secondMs,
    max_uses: maxUses,
    revoked_ms: null,
  }
  if (objectId === null) await db.insertInto('site_previews').values(row).execute()
  else
    await db
      .insertInto('preview_tokens')
      .values({ ...row, object_id: objectId })
      .execute()
  writer.record({ type: 'preview.created', subjectId: row.id, note: noteOf(objectId) })
  return { ...toPreviewToken({ ...row, object_id: objectId, uses: 0 }), token }
}

const noteOf = (objectId: string | null): string => `of ${objectId ?? 'the whole site'}`

function toPreviewToken(row: Selectable<SitePreviewRow> & { object_id?: string | null }): PreviewToken {
  return {
    id: row.id,
    objectId: row.object_id ?? null,
    createdMs: row.created_ms,
    expiresMs: row.expires_ms,
    maxUses: row.max_uses,
    uses: row.uses,
    revokedMs: row.revoked_ms,
  }
}

/** All links of a group or of one object, including those that have ended; the latest last. */
export async function listPreviewTokens(
  { groupId, database }: GroupStore,
  { objectId, id }: { objectId?: string | undefined; id?: string } = {},
): Promise<PreviewToken[]> {
  const rows = await database.read
    .selectFrom('preview_tokens')
    .selectAll()
    .where((eb) =>
      eb.and({
        group_id: groupId,
        ...(objectId !== undefined && { object_id: objectId }),
        ...(id !== undefined && { id }),
      }),
    )
    .orderBy('id')
    .execute()
  const previews = objectId === undefined ? await selectSitePreviews({ groupId, database }, id) : []
  return [...rows, ...previews].map(toPreviewToken).sort((one, other) => (one.id < other.id ? -1 : 1))
}

const selectSitePreviews = ({ groupId, database }: GroupStore, id: string | undefined) =>
  database.read
    .selectFrom('site_previews')
    .selectAll()
    .where((eb) => eb.and({ group_id: groupId, ...(id !== undefined && { id }) }))
    .execute()

const tableOf = ({ objectId }: Pick<PreviewToken, 'objectId'>) =>
  objectId === null ? ('site_previews' as const) : ('preview_tokens' as const)

/** Takes effect at once. Revoking twice keeps the first date. */
export async function revokePreviewToken(writer: ContentWriter, id: string): Promise<PreviewToken> {
  const { db, group, nowMs } = writer
  const [token] = await listPreviewTokens(group, { id })
  if (!token) throw notFound('There is no such preview link in this group.')
  if (token.revokedMs !== null) return token
  await db
    .updateTable(tableOf(token))
    .set({ revoked_ms: nowMs })
    .where('group_id', '=', group.groupId)
    .where('id', '=', id)
    .execute()
  writer.record({ type: 'preview.revoked', subjectId: id, note: noteOf(token.objectId) })
  return { ...token, revokedMs: nowMs }
}

/** Counts a limited use. Condition and count are one statement, so that two callers cannot share the last use. */
async function takeUse(
  { groupId, database }: GroupStore,
  table: 'preview_tokens' | 'site_previews',
  id: string,
): Promise<boolean> {
  const result = await database.write((db) =>
    db
      .updateTable(table)
      .set((eb) => ({ uses: eb('uses', '+', 1) }))
      .where('group_id', '=', groupId)
      .where('id', '=', id)
      .whereRef('uses', '<', 'max_uses')
      .executeTakeFirst(),
  )
  return result.numUpdatedRows > 0n
}

type FoundToken = Pick<Selectable<SitePreviewRow>, 'id' | 'expires_ms' | 'max_uses' | 'revoked_ms'>

const unknownToken = () => notFound('There is no such preview: the token is unknown, revoked or used up.')

async function useToken(
  group: GroupStore,
  table: 'preview_tokens' | 'site_previews',
  row: FoundToken | undefined,
  nowMs: number,
): Promise<void> {
  if (!row || row.revoked_ms !== null) throw unknownToken()
  if (row.expires_ms <= nowMs)
    throw new AppError('PreviewExpired', 'This preview has expired. Share a new preview link.')
  if (row.max_uses !== null && !(await takeUse(group, table, row.id))) throw unknownToken()
}

const tokenColumns = ['id', 'expires_ms', 'max_uses', 'revoked_ms'] as const

/** The id of a token's object. The same error for unknown, revoked, used-up and other groups' tokens. */
export async function usePreviewToken(group: GroupStore, token: string, nowMs: number): Promise<string> {
  if (!isPreviewToken(token)) throw unknownToken()
  const row = await group.database.read
    .selectFrom('preview_tokens')
    .select([...tokenColumns, 'object_id'])
    .where('group_id', '=', group.groupId)
    .where('secret_hash', '=', hashSecret(token))
    .executeTakeFirst()
  await useToken(group, 'preview_tokens', row, nowMs)
  if (!row) throw unknownToken()
  return row.object_id
}

/** Throws unless the token is one of a preview of the whole site. */
export async function useSitePreview(group: GroupStore, token: string, nowMs: number): Promise<void> {
  if (!isPreviewToken(token)) throw unknownToken()
  const row = await group.database.read
    .selectFrom('site_previews')
    .select(tokenColumns)
    .where('group_id', '=', group.groupId)
    .where('secret_hash', '=', hashSecret(token))
    .executeTakeFirst()
  await useToken(group, 'site_previews', row, nowMs)
}
