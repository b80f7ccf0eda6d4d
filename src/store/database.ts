import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'

export type Engine = 'sqlite' | 'postgres'

/** One database of either engine. Reading and writing are apart: writes happen in a transaction or not at all. */
export interface Database<Tables> {
  engine: Engine
  /** PostgreSQL only: the schema that holds the tables. */
  schemaName: string | undefined
  read: Kysely<Tables>
  write<Result>(work: (transaction: Transaction<Tables>) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/** A table's name for hand-written SQL, in its database's schema. */
export function tableOf<Tables>({ schemaName }: Database<Tables>, name: keyof Tables & string): RawBuilder<unknown> {
  return schemaName === undefined ? sql.id(name) : sql.id(schemaName, name)
}
