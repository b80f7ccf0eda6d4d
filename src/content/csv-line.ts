/** Also behind blanks, and in the wide forms that some spreadsheets read alike. */
const formulaStart = /^\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/
const plainNumber = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i

/** A spreadsheet runs what looks like a formula, whoever wrote it; after an apostrophe it is text. */
function guardCell(cell: string): string {
  return formulaStart.test(cell) && !plainNumber.test(cell) ? `'${cell}` : cell
}

function quoteCell(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** One line of a CSV file as RFC 4180 has it, with its end, safe to open in a spreadsheet. */
export function toCsvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => quoteCell(guardCell(cell))).join(',')}\r\n`
}
