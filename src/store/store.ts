import { join } from 'node:path'
import type { Tier } from '../core/tiers.ts'
import type { Database } from './engine/database.ts'
import type { ControlTables } from './schema/control-tables.ts'
import type { ContentTables } from './schema/tables.ts'

/** All databases of the service: `control` with the groups, and content databases, each with the content of some groups. */
export interface Store {
  control: Database<ControlTables>
  quotas: Quotas | undefined
  /** Opens a content database on its first use, and brings it to the current schema. */
  content(name: string): Promise<Database<ContentTables>>
  /** Whether every database has the current schema. Throws if one does not answer. */
  isReady(): Promise<boolean>
  /** PostgreSQL only: connections by state. */
  poolUse(): PoolUse | undefined
  /** SQLite only: whether a write runs or waits, for which the main thread is needed. */
  isWriting(): boolean
  close(): Promise<void>
}

export interface PoolUse {
  busy: number
  idle: number
  /** Callers that wait for a connection. */
  waiting: number
}

export const databaseNamePattern = /^[a-z][a-z0-9_]{0,39}$/
export const controlName = 'control'

/** A database is a file with SQLite and a schema with PostgreSQL. */
export const sqlitePath = (dataDir: string, name: string): string =>
  name === controlName ? join(dataDir, 'control.sqlite') : join(databasesFolder(dataDir), `${name}.sqlite`)
export const schemaPrefix = 'sluice_'
export const schemaOf = (name: string): string => schemaPrefix + name

/** The content databases in which groups live. */
export async function databaseNamesInUse(control: Database<ControlTables>): Promise<string[]> {
  const rows = await control.read.selectFrom('groups').select('database_name').distinct().execute()
  return rows.map((row) => row.database_name)
}

export const databasesFolder = (dataDir: string): string => join(dataDir, 'databases')

/** Storage limits of a group in bytes, by tier. */
export interface Quotas {
  database: Record<Tier, number>
  media: Record<Tier, number>
}

/** The tenant context of a caller, from the authorizer (spec §5.4). */
export interface Tenant {
  database: string
  bucketName: string
  groupID: string
  tier: Tier
}

/** A group and its content database. Every content function takes both, so that none forgets to filter by group. */
export interface GroupStore {
  groupId: string
  database: Database<ContentTables>
}

export async function openGroup(
  store: Pick<Store, 'content'>,
  tenant: Pick<Tenant, 'database' | 'groupID'>,
): Promise<GroupStore> {
  return { groupId: tenant.groupID, database: await store.content(tenant.database) }
}
