import { type Kysely, type LogConfig, type RawBuilder, sql, type Transaction } from 'kysely'

/** Sees every statement after it ran: for slow-query logs, and for tests that look at query plans. */
export type QueryListener = (query: { sql: string; parameters: readonly unknown[]; durationMs: number }) => void

export function logTo(listener: QueryListener | undefined): LogConfig {
  if (!listener) return []
  return ({ query, queryDurationMillis }) =>
    listener({ sql: query.sql, parameters: query.parameters, durationMs: queryDurationMillis })
}

/** Hears of every revision that this process gives to a group's content, as soon as it is committed. */
export type RevisionListener = (groupId: string, revision: number) => void

export interface Listeners {
  onQuery?: QueryListener | undefined
  onRevision?: RevisionListener | undefined
}

export type Engine = 'sqlite' | 'postgres'

/** One database of either engine. Reading and writing are apart: writes happen in a transaction or not at all. */
export interface Database<Tables> {
  engine: Engine
  /** PostgreSQL only: the schema that holds the tables. */
  schemaName: string | undefined
  read: Kysely<Tables>
  /** All reads of one piece of work see the same moment, whatever others write meanwhile. */
  snapshot<Result>(work: (read: Kysely<Tables>) => Promise<Result>): Promise<Result>
  write<Result>(work: (transaction: Transaction<Tables>) => Promise<Result>): Promise<Result>
  /** Tells who keeps answers in this process that a group's content is at a new revision, which it was just given here. */
  onRevision: RevisionListener
  close(): Promise<void>
}

/** A table's name for hand-written SQL, in its database's schema. */
export function tableOf<Tables>({ schemaName }: Database<Tables>, name: keyof Tables & string): RawBuilder<unknown> {
  return schemaName === undefined ? sql.id(name) : sql.id(schemaName, name)
}
