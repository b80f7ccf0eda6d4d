import { runProgram } from './cli/run-program.ts'
import { fail } from './core/envelope.ts'
import { AppError } from './core/errors.ts'
import { describeRefusal, isDatabaseUnavailable } from './store/engine/unavailable.ts'

/** A message for errors that the user can fix. Anything else is a bug, reported with its stack. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : ''
  if (error instanceof AppError && error.details) return `${error.message}\n\n${JSON.stringify(error.details, null, 2)}`
  if (error instanceof AppError) return error.message
  if (code.startsWith('ERR_PARSE_ARGS'))
    return `${error.message.split('. To specify')[0]}. Add --help to see the options.`
  if (code === 'ENOENT') return `${error.message}. Is the path right?`
  if (code === 'EADDRINUSE')
    return `${error.message}. Stop the process that uses it, or set PORT (or MANAGE_PORT, METRICS_PORT) to another port.`
  if (code === 'EACCES' && 'syscall' in error && error.syscall === 'listen')
    return `${error.message}. Ports below 1024 need root or CAP_NET_BIND_SERVICE; set PORT to a higher one.`
  if (code === 'EACCES' || code === 'EROFS') return `${error.message}. Set DATA_DIR to a writable folder.`
  const refusal = describeRefusal(error)
  if (refusal) return `PostgreSQL cannot be used: ${refusal.problem}. ${refusal.advice}`
  if (isDatabaseUnavailable(error))
    return `The database does not answer (${error.message || code}). Is DATABASE_URL right?`
  if ('severity' in error) return `PostgreSQL error: ${error.message}. Check DATABASE_URL and the rights of its role.`
  return error.stack ?? error.message
}

/** A reader such as `head` may close the pipe early. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
}

process.stdout.on('error', endWithReader)
try {
  await runProgram(process.argv.slice(2), process.env, (text) => void process.stdout.write(`${text}\n`))
} catch (error) {
  const isJson = process.argv.includes('--json') && error instanceof AppError
  process.stderr.write(`${isJson ? JSON.stringify(fail(error.code, error.message, error.details)) : explain(error)}\n`)
  process.exit(1)
}
