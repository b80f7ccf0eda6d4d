import { CompiledQuery, type Kysely, type LogConfig, type RawBuilder, sql, type Transaction } from 'kysely'
import { createSemaphore, type Semaphore } from '../../concurrency/semaphore.ts'
import { AppError } from '../../core/errors.ts'

/** Called after each statement, for slow-query logs and for tests of query plans. */
export type QueryListener = (query: { sql: string; parameters: readonly unknown[]; durationMs: number }) => void

export function queryLog(listener: QueryListener | undefined): LogConfig {
  if (!listener) return []
  return ({ query, queryDurationMillis }) =>
    listener({ sql: query.sql, parameters: query.parameters, durationMs: queryDurationMillis })
}

/** Called with each new revision of a group that this process has committed. */
export type RevisionListener = (groupId: string, revision: number) => void

/** Called with the ids of groups, keys, users and tokens that this process has changed, after the commit. */
export type AccessListener = (subjects: readonly string[]) => void

export interface Listeners {
  onQuery?: QueryListener | undefined
  onRevision?: RevisionListener | undefined
  onAccess?: AccessListener | undefined
}

export type Engine = 'sqlite' | 'postgres'

/** One database of either engine. Writes happen only in a transaction. */
export interface Database<Tables> {
  engine: Engine
  /** PostgreSQL only: the schema that holds the tables. */
  schemaName: string | undefined
  read: Kysely<Tables>
  /**
   * For a statement that may scan many rows, such as a count: with SQLite it runs in a worker thread, with PostgreSQL on a
   * separate pool, which costs about 0.1 ms. Placeholders are the engine's own (`?` or `$1`). Ended after 5 seconds with
   * `readTimedOut`. With `groupId`, one at a time for each group.
   */
  readLong<Row>(text: string, parameters: readonly unknown[], groupId?: string): Promise<Row[]>
  /** Holds the group's permit for long reads during several of them, which then pass no `groupId`. */
  withLongReadPermit: Semaphore['run']
  /** For hot statements: bypasses Kysely; each row is an array of its columns' values. */
  readRowArrays(text: string, parameters: readonly (string | number)[]): Promise<unknown[][]>
  /** All reads of `work` see one snapshot of the database. Runs where long reads run, one at a time for each group. */
  snapshot<Result>(work: (read: Kysely<Tables>) => Promise<Result>, groupId?: string): Promise<Result>
  /** With `groupId`, writers of a group wait for each other; groups take turns. */
  write<Result>(work: (transaction: Transaction<Tables>) => Promise<Result>, groupId?: string): Promise<Result>
  /** Invalidates this process's cached answers of a group. */
  onRevision: RevisionListener
  /** Content databases only: applies the group's scheduled changes and archive dates that are due. */
  settleDue(groupId: string, nowMs: number): Promise<void>
  /** Invalidates this process's cached authorizations. */
  onAccess: AccessListener
  close(): Promise<void>
}

/** Runs raw SQL. */
export const rawReader =
  <Tables>(read: Kysely<Tables>): Database<Tables>['readLong'] =>
  async <Row>(text: string, parameters: readonly unknown[]) =>
    (await read.executeQuery(CompiledQuery.raw(text, [...parameters]) as CompiledQuery<Row>)).rows

/** A database as seen inside one of its transactions. */
export function insideTransaction<Tables>(read: Kysely<Tables>, database: Database<Tables>): Database<Tables> {
  const readLong = rawReader(read)
  const readRowArrays: Database<Tables>['readRowArrays'] = async (text, parameters) =>
    (await readLong<object>(text, parameters)).map(Object.values)
  return { ...database, read, readLong, readRowArrays, withLongReadPermit: (_, work) => work() }
}

/** A table's name for hand-written SQL, in its database's schema. */
export function qualifiedTable<Tables>(
  { schemaName }: Database<Tables>,
  name: keyof Tables & string,
): RawBuilder<unknown> {
  return schemaName === undefined ? sql.id(name) : sql.id(schemaName, name)
}

/** A trade-off between reusable prepared statements and few round trips. */
const rowsPerInsert = 100

export function* inBatches<Row>(rows: readonly Row[], size = rowsPerInsert): Generator<Row[]> {
  for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size)
}

/**
 * Deletes matching rows in short transactions, so that writers wait briefly and an interruption loses nothing.
 * With `groupId`, each one waits for the other writers of the group.
 */
export async function deleteInBatches<Tables>(
  database: Database<Tables>,
  table: keyof Tables & string,
  condition: RawBuilder<unknown>,
  { rowsPerDelete = 500, groupId }: { rowsPerDelete?: number; groupId?: string } = {},
): Promise<void> {
  const rowId = sql.raw(database.engine === 'sqlite' ? 'rowid' : 'ctid')
  const name = qualifiedTable(database, table)
  const statement = sql`delete from ${name} where ${rowId} in (select ${rowId} from ${name} where ${condition} limit ${sql.lit(rowsPerDelete)})`
  for (;;) {
    const { numAffectedRows } = await database.write((db) => statement.execute(db), groupId)
    if (numAffectedRows !== BigInt(rowsPerDelete)) return
  }
}

/** Long reads of one group that may wait; further ones are refused at once. */
const maxWaitingPerKey = 50
const maxWaitMs = 10_000

/** For a cancelled read. Not retryable: it would take as long again. */
export const readTimedOut = (): AppError =>
  new AppError(
    'Unavailable',
    'There is too much to look through to answer this in time. Narrow it down with filters, or try again later.',
    { retryAfterSeconds: 10 },
  )

/** One long read at a time for each group, so no group delays another. */
export const createLongReadSemaphore = (): Semaphore =>
  createSemaphore({
    maxPerKey: 1,
    maxWaitingPerKey,
    maxWaitMs,
    busyMessage: 'Too many long searches of this group are being answered. Try again in a moment.',
  })
