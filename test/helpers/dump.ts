import assert from 'node:assert/strict'
import type { ControlTables } from '../../src/store/schema/control-tables.ts'
import type { ContentTables } from '../../src/store/schema/tables.ts'
import type { Store } from '../../src/store/store.ts'

const controlTables: Record<keyof ControlTables, true> = {
  migrations: true,
  groups: true,
  api_keys: true,
  users: true,
  memberships: true,
  admin_tokens: true,
  invitations: true,
  changes: true,
  integration_places: true,
}

const contentTables: Record<keyof ContentTables, true> = {
  migrations: true,
  sites: true,
  containers: true,
  objects: true,
  object_fields: true,
  totals: true,
  range_totals: true,
  working_copies: true,
  search_containers: true,
  search_entries: true,
  preview_tokens: true,
  site_previews: true,
  group_revisions: true,
  group_usage: true,
  object_versions: true,
  changes: true,
  media_files: true,
  media: true,
  jobs: true,
  secrets: true,
  integrations: true,
  catalogue_products: true,
  catalogue_prices: true,
  catalogue_objects: true,
  catalogue_pictures: true,
  provider_events: true,
  orders: true,
  idempotency_keys: true,
  sandbox_objects: true,
  messages: true,
  suppressions: true,
  mail_servers: true,
  tallies: true,
  awaited_notices: true,
}

/** When a key was last used is written with a delay. */
const withoutLastUse = (row: object): object => ('last_used_ms' in row ? { ...row, last_used_ms: undefined } : row)

/** Every row of every table, as lines of text, except when a key was last used. */
export async function dumpTables(store: Store, databaseName = 'main'): Promise<string[]> {
  const content = await store.content(databaseName)
  const lines = (where: string, rows: readonly object[]) =>
    rows.map((row) => `${where} ${JSON.stringify(withoutLastUse(row))}`).sort()
  const dumped: string[] = []
  for (const table of Object.keys(controlTables) as (keyof ControlTables)[])
    dumped.push(...lines(`control.${table}`, await store.control.read.selectFrom(table).selectAll().execute()))
  for (const table of Object.keys(contentTables) as (keyof ContentTables)[])
    dumped.push(...lines(`${databaseName}.${table}`, await content.read.selectFrom(table).selectAll().execute()))
  return dumped
}

/** Fails if anything was written during an attempt. */
export async function assertUnchanged(store: Store, work: () => Promise<void>): Promise<void> {
  const before = new Set(await dumpTables(store))
  await work()
  const after = new Set(await dumpTables(store))
  assert.deepEqual([...after.symmetricDifference(before)], [])
}
