import { compile, type DomNode, type FormatCallback } from 'html-to-text'
import { normalise } from '../content/texts.ts'
import { countTags, maxTags } from './tags.ts'

const lineLength = 78
const maxColumns = 8
const maxColumnWidth = 44
const columnGap = '   '
/** Sanitised markup is nested less deeply. */
const maxDepth = 150

interface Cell {
  text: string
  colspan: number
}

interface PrintedCell {
  lines: string[]
  colspan: number
}

const longestLine = (lines: readonly string[]): number => lines.reduce((max, { length }) => Math.max(max, length), 0)

function columnWidths(rows: readonly PrintedCell[][]): number[] {
  const widths: number[] = []
  for (const row of rows) {
    let column = 0
    for (const { lines, colspan } of row) {
      const width = colspan === 1 ? longestLine(lines) : 0
      for (let each = column; each < column + colspan; each += 1) widths[each] = Math.max(widths[each] ?? 0, width)
      column += colspan
    }
  }
  return widths
}

/** The last column has the amounts, and is aligned right as in the markup. */
function printRow(row: readonly PrintedCell[], widths: readonly number[]): string {
  let column = 0
  const columns = row.map(({ lines, colspan }) => {
    const span = widths.slice(column, column + colspan)
    column += colspan
    const width = span.reduce((sum, each) => sum + each + columnGap.length, -columnGap.length)
    const isLast = column >= widths.length && row.length > 1
    return { lines, pad: (text: string) => (isLast ? text.padStart(width) : text.padEnd(width)) }
  })
  const height = row.reduce((max, { lines }) => Math.max(max, lines.length), 0)
  const lines = Array.from({ length: height }, (_, index) =>
    columns
      .map(({ lines, pad }) => pad(lines[index] ?? ''))
      .join(columnGap)
      .trimEnd(),
  )
  return lines.join('\n')
}

function printTable(cells: readonly Cell[][]): string {
  const rows = cells
    .filter((row) => row.some(({ text }) => text !== ''))
    .map((row) => row.map(({ text, colspan }) => ({ lines: text.split('\n'), colspan })))
  const widths = columnWidths(rows)
  const width = widths.reduce((sum, each) => sum + each + columnGap.length, -columnGap.length)
  if (widths.length <= maxColumns && width <= lineLength) return rows.map((row) => printRow(row, widths)).join('\n')
  return rows.flatMap((row) => row.flatMap(({ lines }) => lines)).join('\n')
}

const elementsIn = ({ children }: DomNode): DomNode[] => children.filter(({ type }) => type === 'tag')

const rowsIn = (table: DomNode): DomNode[] =>
  elementsIn(table).flatMap((part) => (part.name === 'tr' ? [part] : rowsIn(part)))

const cellsIn = (row: DomNode): DomNode[] => elementsIn(row).filter(({ name }) => name === 'td' || name === 'th')

function spanOf({ attribs }: DomNode): number {
  const span = Number(attribs?.colspan)
  return Number.isInteger(span) && span > 0 ? Math.min(span, maxColumns) : 1
}

const holdsTable = (node: DomNode): boolean =>
  elementsIn(node).some((child) => child.name === 'table' || holdsTable(child))

/** Tables with several columns, such as order lines, are printed as tables. Others are layout only. */
const formatTable: FormatCallback = (table, walk, builder) => {
  const rows = rowsIn(table)
  if (holdsTable(table) || !rows.some((row) => cellsIn(row).length > 1)) {
    builder.openBlock({ leadingLineBreaks: 2 })
    walk(table.children, builder)
    builder.closeBlock({ trailingLineBreaks: 2 })
    return
  }
  builder.openTable()
  for (const row of rows) {
    builder.openTableRow()
    for (const cell of cellsIn(row)) {
      builder.openTableCell({ maxColumnWidth })
      walk(cell.children, builder)
      builder.closeTableCell({ colspan: spanOf(cell), rowspan: 1 })
    }
    builder.closeTableRow()
  }
  builder.closeTable({ tableToString: printTable, leadingLineBreaks: 2, trailingLineBreaks: 2 })
}

const formatPicture: FormatCallback = ({ attribs }, _walk, builder) => builder.addInline(attribs?.alt ?? '')

const isInsideQuote = ({ parent }: DomNode): boolean =>
  parent ? parent.name === 'blockquote' || isInsideQuote(parent) : false

/** One mark before each line, also in nested quotes. */
const formatQuote: FormatCallback = (quote, walk, builder) => {
  const prefix = isInsideQuote(quote) ? '' : '> '
  builder.openBlock({ leadingLineBreaks: 2, reservedLineLength: prefix.length })
  walk(quote.children, builder)
  builder.closeBlock({ trailingLineBreaks: 2, blockTransform: (text) => text.replace(/^/gm, prefix) })
}

const block = { leadingLineBreaks: 1, trailingLineBreaks: 1 }
const heading = { uppercase: false, leadingLineBreaks: 2, trailingLineBreaks: 2 }

const convert = compile({
  wordwrap: lineLength,
  limits: { maxDepth, ellipsis: '…' },
  formatters: { orderTable: formatTable, pictureText: formatPicture, quote: formatQuote },
  selectors: [
    { selector: 'table', format: 'orderTable' },
    { selector: 'blockquote', format: 'quote' },
    { selector: 'img', format: 'pictureText' },
    { selector: 'a', options: { linkBrackets: ['(', ')'], hideLinkHrefIfSameAsText: true } },
    { selector: 'ul', options: { itemPrefix: '- ' } },
    { selector: 'hr', options: { length: 20 } },
    ...['tr', 'td', 'th', 'li', 'dt', 'dd'].map((selector) => ({ selector, format: 'block', options: block })),
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: heading })),
  ],
})

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' }

/** For stored messages with more markup than is accepted today: text, with a line break after each block. */
const stripTags = (html: string): string =>
  html
    .replace(/<(?:br|hr|\/(?:p|div|li|tr|table|blockquote|pre|d[dt]|h[1-6]))\b[^<>]*>/g, '\n')
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => entities[name] ?? ' ')
    .replace(/[ \t]{2,}/g, ' ')

/** Sanitising adds an end tag to each tag, so up to twice the accepted number is normal. */
const hasTooManyTags = (html: string): boolean => countTags(html, 2 * maxTags) > 2 * maxTags

/** Converts sanitised markup. */
export const toPlainText = (html: string): string =>
  (hasTooManyTags(html) ? stripTags(html) : convert(html))
    .replace(/(?<![ \t])[ \t]+$/gm, '') // matched from the start of a run only: otherwise quadratic
    .trim()

function wrapLine(line: string): string {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    if (current !== '' && current.length + 1 + word.length > lineLength) {
      lines.push(current)
      current = word
    } else current = current === '' ? word : `${current} ${word}`
  }
  return [...lines, current].join('\n')
}

/** Keeps line breaks and wraps long lines. */
export const wrapText = (text: string): string =>
  text
    .split(/\r\n|\r|\n/)
    .map(wrapLine)
    .join('\n')
    .trim()

/** A normal form for comparing texts word by word. */
export const wordsOf = (text: string): string => normalise(text, 'NFKC').replace(/\s+/gu, ' ').trim()
