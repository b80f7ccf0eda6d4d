import { join } from 'node:path'
import type { Tier } from '../core/tiers.ts'
import type { Database } from './engine/database.ts'
import type { ControlTables } from './schema/control-tables.ts'
import type { ContentTables } from './schema/tables.ts'

/** All databases of the service: `control` knows the groups, each named content database holds the content of some. */
export interface Store {
  control: Database<ControlTables>
  quotas: Quotas | undefined
  /** Opens a content database on its first use, and brings it to the current schema. */
  content(name: string): Promise<Database<ContentTables>>
  /** Whether every database has the schema of this version. Throws when one does not answer. */
  isReady(): Promise<boolean>
  /** PostgreSQL only: what the connections are doing. */
  poolUse(): PoolUse | undefined
  /** SQLite only: whether a write runs or waits, which needs the main thread. */
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

/** How many bytes a group of each tier may take. */
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

/** One group's view of its content database. Every content function takes it, so that none forgets to filter by group. */
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
