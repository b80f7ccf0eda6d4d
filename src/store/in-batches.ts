/** Few enough for a statement that is worth keeping prepared, many enough to make the trip worth it. */
const rowsPerInsert = 100

export function* inBatches<Row>(rows: readonly Row[], size = rowsPerInsert): Generator<Row[]> {
  for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size)
}
