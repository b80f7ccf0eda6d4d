import type { Selectable } from 'kysely'
import { invalid, notFound } from '../../core/errors.ts'
import { makeId } from '../../core/ids.ts'
import type { Tier } from '../../core/tiers.ts'
import { displayPrefix, hashSecret, makeApiKey } from '../../security/tokens.ts'
import type { Authoring } from '../content/changes.ts'
import type { ApiKeyRow } from '../schema/control-tables.ts'
import type { Store, Tenant } from '../store.ts'
import { writeControl } from './control-changes.ts'

export interface ApiKey {
  id: string
  groupId: string
  label: string
  prefix: string
  createdMs: number
  /** Up to a minute late. */
  lastUsedMs: number | null
  /** Of a rotated key. */
  expiresMs: number | null
  revokedMs: number | null
}

const keyColumns = [
  'id', 'group_id', 'label', 'prefix', 'created_ms', 'last_used_ms', 'expires_ms', 'revoked_ms',
] as const // biome-ignore format: one line reads better

function toApiKey(row: Pick<Selectable<ApiKeyRow>, (typeof keyColumns)[number]>): ApiKey {
  return {
    id: row.id,
    groupId: row.group_id,
    label: row.label,
    prefix: row.prefix,
    createdMs: row.created_ms,
    lastUsedMs: row.last_used_ms,
    expiresMs: row.expires_ms,
    revokedMs: row.revoked_ms,
  }
}

function newKeyRow(groupId: string, label: string, nowMs: number) {
  const key = makeApiKey()
  const row = {
    id: makeId(),
    group_id: groupId,
    label,
    prefix: displayPrefix(key),
    secret_hash: hashSecret(key),
    created_ms: nowMs,
    revoked_ms: null,
    last_used_ms: null,
    expires_ms: null,
  }
  return { key, row }
}

const noteOf = ({ prefix, label }: Pick<ApiKey, 'prefix' | 'label'>): string => `${prefix}… ${label}`

/** The key itself is returned once and never stored. */
export async function createApiKey(
  store: Store,
  groupId: string,
  label: string,
  authoring: Authoring,
): Promise<ApiKey & { key: string }> {
  const { key, row } = newKeyRow(groupId, label, authoring.nowMs)
  await writeControl(store.control, authoring, async (db, record) => {
    await db.insertInto('api_keys').values(row).execute()
    record({ type: 'key.created', groupId, subjectId: row.id, note: noteOf(row) })
  })
  return { ...toApiKey(row), key }
}

export async function listApiKeys(store: Store, groupId: string): Promise<ApiKey[]> {
  const rows = await store.control.read
    .selectFrom('api_keys')
    .select(keyColumns)
    .where('group_id', '=', groupId)
    .orderBy('id')
    .execute()
  return rows.map(toApiKey)
}

/** By its id, by the prefix that lists show, or by the key itself, which no message repeats. */
export async function findApiKey(store: Store, groupId: string, typed: string): Promise<ApiKey> {
  const which = typed.replace(/…$/, '')
  const rows = await store.control.read
    .selectFrom('api_keys')
    .select(keyColumns)
    .where('group_id', '=', groupId)
    .where((eb) => eb.or([eb('id', '=', which), eb('prefix', '=', which), eb('secret_hash', '=', hashSecret(which))]))
    .execute()
  const [row] = rows
  if (!row) throw notFound('The group has no such key.')
  if (rows.length > 1) throw invalid(`Several keys begin so; use the id: ${rows.map(({ id }) => id).join(', ')}.`)
  return toApiKey(row)
}

/** Takes effect at once. Revoking twice keeps the first date. */
export async function revokeApiKey(store: Store, key: ApiKey, authoring: Authoring): Promise<ApiKey> {
  if (key.revokedMs !== null) return key
  const revokedMs = authoring.nowMs
  await writeControl(store.control, authoring, async (db, record) => {
    await db.updateTable('api_keys').set({ revoked_ms: revokedMs }).where('id', '=', key.id).execute()
    record({ type: 'key.revoked', groupId: key.groupId, subjectId: key.id, note: noteOf(key) })
  })
  return { ...key, revokedMs }
}

/** Creates a new key and lets the old one expire at the given time, or earlier if it already expires earlier. */
export async function rotateApiKey(
  store: Store,
  old: ApiKey,
  endsMs: number,
  authoring: Authoring,
): Promise<{ created: ApiKey & { key: string }; replaced: ApiKey }> {
  const { key, row } = newKeyRow(old.groupId, old.label, authoring.nowMs)
  const expiresMs = old.revokedMs === null ? Math.min(old.expiresMs ?? endsMs, endsMs) : old.expiresMs
  await writeControl(store.control, authoring, async (db, record) => {
    await db.insertInto('api_keys').values(row).execute()
    await db.updateTable('api_keys').set({ expires_ms: expiresMs }).where('id', '=', old.id).execute()
    record({ type: 'key.created', groupId: old.groupId, subjectId: row.id, note: noteOf(row) })
    record({ type: 'key.rotated', groupId: old.groupId, subjectId: old.id, note: noteOf(old) })
  })
  return { created: { ...toApiKey(row), key }, replaced: { ...old, expiresMs } }
}

/** The group of a key, and whether it is frozen. */
export interface KeyHolder extends Tenant {
  frozen: boolean
  keyId: string
}

export async function findTenantOfKey(store: Store, secretHash: string, nowMs: number): Promise<KeyHolder | undefined> {
  const row = await store.control.read
    .selectFrom('api_keys')
    .innerJoin('groups', 'groups.id', 'api_keys.group_id')
    .select(['groups.id', 'groups.tier', 'groups.frozen', 'groups.database_name', 'groups.bucket_name'])
    .select('api_keys.id as key_id')
    .where('api_keys.secret_hash', '=', secretHash)
    .where('api_keys.revoked_ms', 'is', null)
    .where((eb) => eb.or([eb('api_keys.expires_ms', 'is', null), eb('api_keys.expires_ms', '>', nowMs)]))
    .executeTakeFirst()
  return (
    row && {
      database: row.database_name,
      bucketName: row.bucket_name,
      groupID: row.id,
      tier: row.tier as Tier, // checked when it was written
      frozen: row.frozen !== 0,
      keyId: row.key_id,
    }
  )
}
