/** Also after white space, and as the full-width characters that some spreadsheets treat alike. */
const formulaStart = /^\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/
const plainNumber = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i

/** A leading apostrophe keeps a spreadsheet from running untrusted text as a formula. */
const guardCell = (cell: string): string => (formulaStart.test(cell) && !plainNumber.test(cell) ? `'${cell}` : cell)

const quoteCell = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** One line of CSV (RFC 4180) with its line ending, safe to open in a spreadsheet. */
export const toCsvLine = (cells: readonly string[]): string =>
  `${cells.map((cell) => quoteCell(guardCell(cell))).join(',')}\r\n`
