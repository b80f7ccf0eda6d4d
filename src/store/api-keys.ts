import { notFound } from '../errors.ts'
import { makeId } from '../ids.ts'
import { displayPrefix, hashSecret, makeApiKey } from '../secrets.ts'
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

/** By id or by the prefix that lists show. Revoking twice keeps the first date. */
export async function revokeApiKey(store: Store, groupId: string, idOrPrefix: string, nowMs: number): Promise<ApiKey> {
  const keys = (await listApiKeys(store, groupId)).filter((key) => key.id === idOrPrefix || key.prefix === idOrPrefix)
  const [key] = keys
  if (!key || keys.length > 1)
    throw notFound(`No single key "${idOrPrefix}" in this group. "sluice key list" shows them.`)
  await store.control.write((db) =>
    db
      .updateTable('api_keys')
      .set({ revoked_ms: nowMs })
      .where('id', '=', key.id)
      .where('revoked_ms', 'is', null)
      .execute(),
  )
  return { ...key, revokedMs: key.revokedMs ?? nowMs }
}

/** A caller as the authorizer knows it. `revision` counts the writes to the group's content. */
export interface AuthorizedTenant extends Tenant {
  frozen: boolean
  revision: number
}

export async function findTenantOfKey(store: Store, secretHash: string): Promise<AuthorizedTenant | undefined> {
  const row = await store.control.read
    .selectFrom('api_keys')
    .innerJoin('groups', 'groups.id', 'api_keys.group_id')
    .select(['groups.id', 'groups.tier', 'groups.frozen', 'groups.database_name', 'groups.bucket_name'])
    .where('api_keys.secret_hash', '=', secretHash)
    .where('api_keys.revoked_ms', 'is', null)
    .executeTakeFirst()
  if (!row) return undefined
  const content = await store.content(row.database_name)
  const revision = await content.read
    .selectFrom('group_revisions')
    .select('revision')
    .where('group_id', '=', row.id)
    .executeTakeFirst()
  return {
    database: row.database_name,
    bucketName: row.bucket_name,
    groupID: row.id,
    tier: row.tier,
    frozen: row.frozen !== 0,
    revision: revision?.revision ?? 0,
  }
}
