/** SQLite: busy, locked, read-only, input/output error, full, cannot open. */
const sqliteCodes = new Set([5, 6, 8, 10, 13, 14])
/**
 * PostgreSQL: connection lost, out of resources, stopped by an operator or a time-out, lock not available, a prepared statement
 * that a pooler has lost (from then on none is used).
 */
const postgresCode = /^(08|53|57|25006|55P03|40001|40P01|26000|42P05)/
const systemCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
])
const clientMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout)/

/** Whether a failure is the database being away for a while, and not a fault in what we asked of it. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('errcode' in error && sqliteCodes.has(Number(error.errcode) & 0xff)) return true
  if ('code' in error && typeof error.code === 'string') {
    if (systemCodes.has(error.code) || (/^[0-9A-Z]{5}$/.test(error.code) && postgresCode.test(error.code))) return true
  }
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway)
  return clientMessages.test(error.message)
}
