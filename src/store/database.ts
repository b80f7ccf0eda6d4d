import { CompiledQuery, type Kysely, type LogConfig, type RawBuilder, sql, type Transaction } from 'kysely'
import type { Turns } from './turns.ts'

/** Sees every statement after it ran: for slow-query logs, and for tests that look at query plans. */
export type QueryListener = (query: { sql: string; parameters: readonly unknown[]; durationMs: number }) => void

export function logTo(listener: QueryListener | undefined): LogConfig {
  if (!listener) return []
  return ({ query, queryDurationMillis }) =>
    listener({ sql: query.sql, parameters: query.parameters, durationMs: queryDurationMillis })
}

/** Hears of every revision that this process gives to a group's content, as soon as it is committed. */
export type RevisionListener = (groupId: string, revision: number) => void

/** Hears of which groups, keys, users and tokens this process has changed, as soon as it is committed. */
export type AccessListener = (subjects: readonly string[]) => void

export interface Listeners {
  onQuery?: QueryListener | undefined
  onRevision?: RevisionListener | undefined
  onAccess?: AccessListener | undefined
}

export type Engine = 'sqlite' | 'postgres'

/** One database of either engine. Reading and writing are apart: writes happen in a transaction or not at all. */
export interface Database<Tables> {
  engine: Engine
  /** PostgreSQL only: the schema that holds the tables. */
  schemaName: string | undefined
  read: Kysely<Tables>
  /**
   * For a statement that may look at many rows, such as a count: with SQLite it runs in another thread, with PostgreSQL on
   * a connection that others do not need, and stops nobody, at the price of a detour of about 0.1 ms. Its text is the
   * engine's own (`?` or `$1`). Ended after 5 seconds with `tooMuchToRead`. Those who say for whom they read take turns.
   */
  readAside<Row>(text: string, parameters: readonly unknown[], whose?: string): Promise<Row[]>
  /** Takes a turn for many reads aside, which then do not say for whom. One group has one long read at a time. */
  inLongTurn: Turns
  /** For a statement that is run all the time: it goes the shortest way, and a row is the list of its columns' values. */
  readValues(text: string, parameters: readonly (string | number)[]): Promise<unknown[][]>
  /** All reads of one piece of work see the same moment, whatever others write meanwhile. They are made aside, and in turn. */
  snapshot<Result>(work: (read: Kysely<Tables>) => Promise<Result>, whose?: string): Promise<Result>
  /** Those who say whose data they write take turns (see `turns.ts`). */
  write<Result>(work: (transaction: Transaction<Tables>) => Promise<Result>, whose?: string): Promise<Result>
  /** Tells who keeps answers in this process that a group's content is at a new revision, which it was just given here. */
  onRevision: RevisionListener
  /** Tells who remembers who may come in that this has changed. */
  onAccess: AccessListener
  close(): Promise<void>
}

/** Runs statements as they are written. */
export const readBy =
  <Tables>(read: Kysely<Tables>): Database<Tables>['readAside'] =>
  async <Row>(text: string, parameters: readonly unknown[]) =>
    (await read.executeQuery(CompiledQuery.raw(text, [...parameters]) as CompiledQuery<Row>)).rows

/** A database as a transaction of it sees it. */
export function seenBy<Tables>(read: Kysely<Tables>, database: Database<Tables>): Database<Tables> {
  const readAside = readBy(read)
  const readValues: Database<Tables>['readValues'] = async (text, parameters) =>
    (await readAside<object>(text, parameters)).map(Object.values)
  return { ...database, read, readAside, readValues, inLongTurn: (_, work) => work() }
}

/** A table's name for hand-written SQL, in its database's schema. */
export function tableOf<Tables>({ schemaName }: Database<Tables>, name: keyof Tables & string): RawBuilder<unknown> {
  return schemaName === undefined ? sql.id(name) : sql.id(schemaName, name)
}
