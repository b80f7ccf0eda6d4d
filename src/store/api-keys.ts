import { invalid, notFound } from '../errors.ts'
import { makeId } from '../ids.ts'
import { displayPrefix, hashSecret, makeApiKey } from '../secrets.ts'
import type { Tier } from '../tiers.ts'
import type { Tenant } from './groups.ts'
import type { Store } from './open.ts'
import type { ApiKeyRow } from './tables.ts'

export interface ApiKey {
  id: string
  groupId: string
  label: string
  prefix: string
  createdMs: number
  revokedMs: number | null
}

function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    groupId: row.group_id,
    label: row.label,
    prefix: row.prefix,
    createdMs: row.created_ms,
    revokedMs: row.revoked_ms,
  }
}

/** The key itself is in this answer and nowhere else, ever again. */
export async function createApiKey(
  store: Store,
  groupId: string,
  label: string,
  nowMs: number,
): Promise<ApiKey & { key: string }> {
  const key = makeApiKey()
  const row: ApiKeyRow = {
    id: makeId(),
    group_id: groupId,
    label,
    prefix: displayPrefix(key),
    secret_hash: hashSecret(key),
    created_ms: nowMs,
    revoked_ms: null,
  }
  await store.control.write((db) => db.insertInto('api_keys').values(row).execute())
  return { ...toApiKey(row), key }
}

export async function listApiKeys(store: Store, groupId: string): Promise<ApiKey[]> {
  const rows = await store.control.read
    .selectFrom('api_keys')
    .selectAll()
    .where('group_id', '=', groupId)
    .orderBy('id')
    .execute()
  return rows.map(toApiKey)
}

/** By its id, by the beginning that lists show, or by the key itself, which is never repeated in a message. */
export async function revokeApiKey(store: Store, groupId: string, which: string, nowMs: number): Promise<ApiKey> {
  const rows = await store.control.read
    .selectFrom('api_keys')
    .selectAll()
    .where('group_id', '=', groupId)
    .where((eb) => eb.or([eb('id', '=', which), eb('prefix', '=', which), eb('secret_hash', '=', hashSecret(which))]))
    .execute()
  const [row] = rows
  if (!row) throw notFound('The group has no such key. "npx sluice key list" shows its keys.')
  if (rows.length > 1) throw invalid(`Several keys begin so; use the id: ${rows.map(({ id }) => id).join(', ')}.`)
  await store.control.write((db) =>
    db
      .updateTable('api_keys')
      .set({ revoked_ms: nowMs })
      .where('id', '=', row.id)
      .where('revoked_ms', 'is', null) // revoking twice keeps the first date
      .execute(),
  )
  return { ...toApiKey(row), revokedMs: row.revoked_ms ?? nowMs }
}

/** The group that a key opens, and whether it may come in. */
export interface KeyHolder extends Tenant {
  frozen: boolean
}

export async function findTenantOfKey(store: Store, secretHash: string): Promise<KeyHolder | undefined> {
  const row = await store.control.read
    .selectFrom('api_keys')
    .innerJoin('groups', 'groups.id', 'api_keys.group_id')
    .select(['groups.id', 'groups.tier', 'groups.frozen', 'groups.database_name', 'groups.bucket_name'])
    .where('api_keys.secret_hash', '=', secretHash)
    .where('api_keys.revoked_ms', 'is', null)
    .executeTakeFirst()
  return (
    row && {
      database: row.database_name,
      bucketName: row.bucket_name,
      groupID: row.id,
      tier: row.tier as Tier, // checked when it was written
      frozen: row.frozen !== 0,
    }
  )
}
