import { certificateFailure } from '../../core/errors.ts'

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

/** PostgreSQL refuses the login, the database does not exist, or a right is missing. */
const refusalCode = /^(28|3D000|42501)/
/** Login errors of `pg` itself. */
const loginMessage = /^SASL: /
const noTlsMessage = 'The server does not support SSL connections'

/** Advice to the operator if PostgreSQL refuses the connection. */
function adviceOn(error: Error): string | undefined {
  const certificate = certificateFailure(error)
  if (certificate === 'CERT_HAS_EXPIRED') return 'Renew the certificate of PostgreSQL.'
  if (certificate === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'Set DATABASE_URL to a host name that the certificate of PostgreSQL is made for.'
  if (certificate !== undefined)
    return 'Name the CA that signed it: DATABASE_URL=postgres://.../sluice?sslmode=verify-full&sslrootcert=/path/ca.pem'
  if (error.message === noTlsMessage)
    return 'Turn TLS on in PostgreSQL (ssl = on), or set sslmode=disable in DATABASE_URL.'
  const code = 'code' in error ? String(error.code) : ''
  if (loginMessage.test(error.message) || (code.length === 5 && refusalCode.test(code)))
    return 'Check user, password and database in DATABASE_URL, and the rights of the role.'
  return undefined
}

/** Why PostgreSQL refuses the connection, and advice; undefined for any other failure. */
export function describeRefusal(error: unknown): { problem: string; advice: string } | undefined {
  if (!(error instanceof Error)) return undefined
  const advice = adviceOn(error)
  // Node appends advice on its own command line options to certificate errors.
  return advice === undefined
    ? undefined
    : { problem: error.message.split('; if the root CA')[0]?.trim() ?? '', advice }
}

/** Whether the database is unreachable or refuses service, as opposed to an error in our statement. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (adviceOn(error) !== undefined) return true
  if ('errcode' in error && sqliteCodes.has(Number(error.errcode) & 0xff)) return true
  if ('code' in error && typeof error.code === 'string') {
    if (systemCodes.has(error.code) || (/^[0-9A-Z]{5}$/.test(error.code) && postgresCode.test(error.code))) return true
  }
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable)
  return clientMessages.test(error.message)
}
