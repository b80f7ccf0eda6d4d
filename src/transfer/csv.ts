import { isUtf8 } from 'node:buffer'
import { basename } from 'node:path'
import { invalid } from '../errors.ts'
import { type Row, readRows } from './csv-rows.ts'
import type { Draft } from './draft.ts'
import { takePublishing } from './publishing.ts'

export interface CsvOptions {
  /** One sign; found in the header when it is not given. */
  delimiter?: string
}

const listSeparator = '|'

function decodeCell(cell: string): string | undefined {
  const bytes = Buffer.from(cell, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : undefined
}

function parseHeader(file: string, { cells }: Row): string[] {
  const names = cells.map((cell) => {
    const name = decodeCell(cell)
    if (name === undefined) throw invalid(`The header of ${file} is not UTF-8 text; save the file as "CSV UTF-8".`)
    return name.trim()
  })
  const unnamed = names.flatMap((name, index) => (name === '' ? [index + 1] : []))
  if (unnamed.length > 0) throw invalid(`The header of ${file} has no name for column ${unnamed.join(', ')}.`)
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) !== index))
  if (repeated.size > 0) throw invalid(`The header of ${file} has more than one ${[...repeated].join(', ')}.`)
  return names
}

function cellProblems(names: readonly string[], cells: readonly (string | undefined)[], line: number): string[] {
  const unreadable = names.filter((_, index) => index < cells.length && cells[index] === undefined)
  const problems = unreadable.map((name) => `line ${line} has a ${name} that is not UTF-8 text`)
  if (cells.length === names.length) return problems
  return [`line ${line} has ${cells.length} cells, and the header has ${names.length}`, ...problems]
}

function describeRow(file: string, names: readonly string[], row: Row): Draft {
  const cells = row.cells.map(decodeCell)
  const fields = Object.fromEntries(names.slice(0, cells.length).map((name, index) => [name, cells[index]]))
  const { rest, publishing, problems } = takePublishing(fields, ['publishDate'])
  return {
    source: `${basename(file)} line ${row.line}`,
    value: rest,
    ...publishing,
    problems: [...cellProblems(names, cells, row.line), ...problems],
    listSeparator,
  }
}

/** All rows below the header of a CSV file, one at a time. Blank rows, as spreadsheets leave them, are no objects. */
export async function* readCsv(file: string, { delimiter }: CsvOptions = {}): AsyncGenerator<Draft> {
  if (delimiter !== undefined && !/^[^"\r\n]$/u.test(delimiter)) {
    throw invalid(`The delimiter must be one sign, and no quote or line end, not ${JSON.stringify(delimiter)}.`)
  }
  let names: string[] | undefined
  for await (const row of readRows(file, delimiter)) {
    if (names === undefined) names = parseHeader(file, row)
    else if (row.cells.some((cell) => cell.trim() !== '')) yield describeRow(file, names, row)
  }
  if (names === undefined) throw invalid(`${file} is empty: its first row must name the columns.`)
}
