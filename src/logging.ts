import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/** A cause without the values a database driver attaches to it. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const code = 'code' in error ? error.code : 'errcode' in error ? error.errcode : undefined
  const cause = error.cause === undefined ? undefined : describeError(error.cause)
  return { type: error.name, message: error.message, code, stack: error.stack, cause }
}

/**
 * Logs never see a header, a query string or a body: requests are described by their route (`logRequests` in
 * app.ts), so keys and tokens have no way in. Redaction is the second fence.
 */
export function createLogger({ logLevel }: Pick<Config, 'logLevel'>, destination?: DestinationStream): Logger {
  const options = {
    level: logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError, req: () => undefined, res: () => undefined },
    // The last fence: a library's own message may quote a URL.
    hooks: { streamWrite: (line: string) => line.replace(/slc_(live|preview|admin)_\w+/g, 'slc_$1_[secret]') },
    redact: {
      paths: ['authorization', '*.authorization', 'apiKey', '*.apiKey', 'token', '*.token'],
      censor: '[secret]',
    },
  }
  return destination ? pino(options, destination) : pino(options)
}
