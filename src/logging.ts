import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/** How long a line that can wait is waited for, and how many characters of such lines there may be. */
const longestWaitMs = 50
const mostWaiting = 64 * 1024

/** The framework's own words may quote an address, and its query what somebody looked for. */
const withoutQueries = (text: string): string => text.replace(/(\/(?:tenant|manage)\/[^\s?"']*)\?[^\s"']*/g, '$1?…')

/** A cause without the values a database driver attaches to it. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const code = 'code' in error ? error.code : 'errcode' in error ? error.errcode : undefined
  const cause = error.cause === undefined ? undefined : describeError(error.cause)
  const { name, message, stack } = error
  return { type: name, message: withoutQueries(message), code, stack: stack && withoutQueries(stack), cause }
}

/** The last fence: a library's own message may quote a URL. */
export const hideSecrets = (text: string): string => text.replace(/slc_(live|preview|admin)_\w+/g, 'slc_$1_[secret]')

/** Also takes lines that are ready, such as one for each request, and writes many of them at once: a write is dear. */
export type ServiceLogger = Logger & {
  writeSoon(line: string): void
}

/** All lines in their order: one that cannot wait takes along what waits. */
function createLineWriter(destination: DestinationStream) {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined
  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (waiting === '') return
    const lines = waiting
    waiting = ''
    destination.write(lines)
  }
  return {
    flush,
    write(line: string): void {
      flush()
      destination.write(line)
    },
    writeSoon(line: string): void {
      waiting += line
      if (waiting.length >= mostWaiting) flush()
      else timer ??= setTimeout(flush, longestWaitMs).unref()
    },
  }
}

function openStandardOutput(): ReturnType<typeof createLineWriter> {
  const lines = createLineWriter(pino.destination({ dest: 1, sync: true }))
  process.once('exit', lines.flush) // however it comes to an end
  return lines
}

/**
 * Logs never see a header, a query string or a body: requests are described by their route (`http/access-log.ts`), so keys
 * and tokens have no way in. Redaction is the second fence.
 */
export function createLogger({ logLevel }: Pick<Config, 'logLevel'>, destination?: DestinationStream): ServiceLogger {
  const lines = destination ? createLineWriter(destination) : openStandardOutput()
  const options = {
    level: logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError, req: () => undefined, res: () => undefined },
    hooks: { streamWrite: hideSecrets },
    redact: {
      paths: ['authorization', '*.authorization', 'apiKey', '*.apiKey', 'token', '*.token'],
      censor: '[secret]',
    },
  }
  return Object.assign(pino(options, lines), { writeSoon: lines.writeSoon })
}
