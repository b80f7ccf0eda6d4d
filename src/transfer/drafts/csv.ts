import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline } from 'node:stream'
import { CsvError, type Info, parse } from 'csv-parse'
import { invalid } from '../../core/errors.ts'
import type { Draft } from './draft.ts'
import { extractPublishing } from './publishing.ts'

/** Bounds the memory for an unclosed quote. */
const maxRowBytes = 2 * 1024 * 1024
const openingBytes = 64 * 1024
const byteOrderMark = Buffer.from('\uFEFF')
const delimiters = [',', ';', '\t']

export interface Row {
  /** The line at which the row begins, from 1. */
  line: number
  /** As latin1, one byte per character: only a whole cell can be checked for UTF-8. */
  cells: string[]
}

const quoteInCell = 'a quote is inside a cell; put the whole cell in quotes, and write that quote twice'
const reasons: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE: quoteInCell,
  INVALID_OPENING_QUOTE: quoteInCell,
  CSV_QUOTE_NOT_CLOSED: 'a quote is opened and never closed',
  CSV_MAX_RECORD_SIZE: `a row is longer than ${maxRowBytes / 1024 / 1024} MB; is a quote never closed?`,
}

/** The candidate most frequent in the header, outside of quotes. */
function detectDelimiter(opening: string): string {
  const [header = ''] = /[^\r\n]+/.exec(opening.replace(/"[^"]*"?/g, 'x')) ?? []
  const count = (delimiter: string): number => header.split(delimiter).length
  return delimiters.toSorted((a, b) => count(b) - count(a))[0] ?? ','
}

async function readOpening(file: string): Promise<Buffer> {
  await using handle = await open(file)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(openingBytes), 0, openingBytes, 0)
  return buffer.subarray(0, bytesRead)
}

const countLineEnds = (text: string): number => text.match(/\r\n|\r|\n/g)?.length ?? 0

async function* parseRows(file: string, delimiter: string | undefined): AsyncGenerator<Row> {
  const opening = await readOpening(file)
  const start = opening.indexOf(byteOrderMark) === 0 ? byteOrderMark.length : 0
  const parser = parse({
    delimiter: Buffer.from(delimiter ?? detectDelimiter(opening.toString('latin1', start))),
    encoding: 'latin1',
    info: true,
    max_record_size: maxRowBytes,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
  })
  // The pipeline forwards errors of the file to the parser, and closes the file when the consumer stops.
  pipeline(createReadStream(file, { start }), parser, () => {})
  // Counted here, since the parser counts a \r\n inside quotes as two lines.
  let nextLine = 1
  let emptyLines = 0
  for await (const { record: cells, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
    const line = nextLine + info.empty_lines - emptyLines
    yield { line, cells }
    emptyLines = info.empty_lines
    nextLine = cells.reduce((sum, cell) => sum + countLineEnds(cell), line + 1)
  }
}

/** Streams the rows of a CSV file, header included. Empty lines are skipped. */
export async function* readRows(file: string, delimiter: string | undefined): AsyncGenerator<Row> {
  try {
    yield* parseRows(file, delimiter)
  } catch (error) {
    if (error instanceof CsvError) {
      throw invalid(`${file} cannot be read near line ${error.lines}: ${reasons[error.code] ?? error.message}.`)
    }
    if (error instanceof Error && 'syscall' in error) throw invalid(`${file} cannot be read: ${error.message}.`)
    throw error
  }
}

export interface CsvOptions {
  /** One character; detected in the header by default. */
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
  const { rest, publishing, problems } = extractPublishing(fields, ['publishDate'])
  return {
    source: `${basename(file)} line ${row.line}`,
    value: rest,
    ...publishing,
    problems: [...cellProblems(names, cells, row.line), ...problems],
    listSeparator,
  }
}

/** Streams the rows below the header as drafts. Blank rows, as spreadsheets leave them, are skipped. */
export async function* readCsv(file: string, { delimiter }: CsvOptions = {}): AsyncGenerator<Draft> {
  if (delimiter !== undefined && !/^[^"\r\n]$/u.test(delimiter)) {
    throw invalid(`The delimiter must be one character, not a quote or line end: ${JSON.stringify(delimiter)}.`)
  }
  let names: string[] | undefined
  for await (const row of readRows(file, delimiter)) {
    if (names === undefined) names = parseHeader(file, row)
    else if (row.cells.some((cell) => cell.trim() !== '')) yield describeRow(file, names, row)
  }
  if (names === undefined) throw invalid(`${file} is empty: its first row must name the columns.`)
}
