import type { ContentTables } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import { type Database, rawReader } from './database.ts'
import { timeFunction } from './sqlite/file.ts'

/**
 * Builds the text of a hot statement by hand, because compiling it with Kysely would take longer than running it. Input is
 * always bound; the text depends only on the number of values.
 */
export interface SqlBuilder {
  engine: Database<ContentTables>['engine']
  table(name: keyof ContentTables): string
  /** Binds a value and returns its placeholder. */
  bind(value: unknown): string
  parameters: unknown[]
  /** Whether it may scan many rows and needs a timeout. */
  isLong: boolean
}

export function createSqlBuilder({ engine, schemaName }: Database<ContentTables>, isLong = false): SqlBuilder {
  const parameters: unknown[] = []
  const sign = engine === 'postgres' ? '$' : '?'
  return {
    engine,
    table: (name) => (schemaName === undefined ? name : `"${schemaName}".${name}`),
    bind: (value) => sign + parameters.push(value),
    parameters,
    isLong,
  }
}

/**
 * Conditions evaluated for each row of a long statement, the only way to end one in SQLite. PostgreSQL has its own timeout.
 */
export const timeLimitConditions = ({ engine, isLong }: SqlBuilder): string[] =>
  isLong && engine === 'sqlite' ? [`${timeFunction}()`] : []

/** A long statement runs as `readLong` of its group. */
export function runStatement<Row>(
  { groupId, database: { read, readLong } }: GroupStore,
  text: string,
  { parameters, isLong }: SqlBuilder,
): Promise<Row[]> {
  return isLong ? readLong(text, parameters, groupId) : rawReader(read)(text, parameters)
}

/** More values than this are bound as one JSON parameter. */
const maxBoundValues = 50

export function isOneOf({ engine, bind }: SqlBuilder, column: string, values: readonly string[]): string {
  if (values.length === 1) return `${column} = ${bind(values[0])}`
  if (engine === 'postgres') return `${column} = any(${bind(values)})` // one text for any number of values
  if (values.length > maxBoundValues)
    return `${column} in (select value from json_each(${bind(JSON.stringify(values))}))`
  return `${column} in (${values.map(bind).join(', ')})`
}
