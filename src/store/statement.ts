import { type Database, readBy } from './database.ts'
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
}

export function beginStatement({ engine, schemaName }: Database<ContentTables>): Draft {
  const parameters: unknown[] = []
  const sign = engine === 'postgres' ? '$' : '?'
  return {
    engine,
    table: (name) => (schemaName === undefined ? name : `"${schemaName}".${name}`),
    bind: (value) => sign + parameters.push(value),
    parameters,
  }
}

/** One that may look at many rows is run where it stops nobody, in turn with others that are long for the same group. */
export function runStatement<Row>(
  { read, readAside }: Database<ContentTables>,
  text: string,
  { parameters }: Draft,
  longFor?: string,
): Promise<Row[]> {
  return longFor === undefined ? readBy(read)(text, parameters) : readAside(text, parameters, longFor)
}

export function isOneOf({ engine, bind }: Draft, column: string, values: readonly string[]): string {
  if (values.length === 1) return `${column} = ${bind(values[0])}`
  if (engine === 'postgres') return `${column} = any(${bind(values)})` // one text for any number of values
  return `${column} in (${values.map(bind).join(', ')})`
}
