import { type Database, readBy } from './database.ts'
import type { GroupStore } from './groups.ts'
import { timeFunction } from './sqlite/file.ts'
import type { ContentTables } from './tables.ts'

/**
 * A statement while its text is put together by hand, for reads that are asked for so often that building and compiling
 * them would take longer than running them. What comes from outside is always bound; the text depends only on how much
 * there is of it.
 */
export interface Draft {
  engine: Database<ContentTables>['engine']
  table(name: keyof ContentTables): string
  /** Binds a value, and gives what stands for it in the text. */
  bind(value: unknown): string
  parameters: unknown[]
  /** Whether it may look at many rows, so that it has to be ended when it takes too long. */
  isLong: boolean
}

export function beginStatement({ engine, schemaName }: Database<ContentTables>, isLong = false): Draft {
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
 * Conditions that a long statement puts to each row that it looks at: SQLite has nothing else to end it by. PostgreSQL has a
 * time-out of its own.
 */
export const inTime = ({ engine, isLong }: Draft): string[] =>
  isLong && engine === 'sqlite' ? [`${timeFunction}()`] : []

/** One that may look at many rows is run where it stops nobody, in turn with others that are long for the same group. */
export function runStatement<Row>(
  { groupId, database: { read, readAside } }: GroupStore,
  text: string,
  { parameters, isLong }: Draft,
): Promise<Row[]> {
  return isLong ? readAside(text, parameters, groupId) : readBy(read)(text, parameters)
}

/** More values than a caller can name are bound as one. */
const maxBoundValues = 50

export function isOneOf({ engine, bind }: Draft, column: string, values: readonly string[]): string {
  if (values.length === 1) return `${column} = ${bind(values[0])}`
  if (engine === 'postgres') return `${column} = any(${bind(values)})` // one text for any number of values
  if (values.length > maxBoundValues)
    return `${column} in (select value from json_each(${bind(JSON.stringify(values))}))`
  return `${column} in (${values.map(bind).join(', ')})`
}
