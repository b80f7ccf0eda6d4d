import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from '../config/config.ts'
import { createOutageLog, type OutageLog } from './outage-log.ts'

/** The longest that collected lines are delayed. */
const maxDelayMs = 50
/** Unwritten output, as on a full disk, is buffered up to this size; the rest is dropped. */
const maxUnwrittenBytes = 4 * 2 ** 20

/** Messages of the framework may quote a URL, whose query is private. */
const withoutQueries = (text: string): string => text.replace(/(\/(?:tenant|manage)\/[^\s?"']*)\?[^\s"']*/g, '$1?…')

/** A cause without the values a database driver attaches to it. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const code = 'code' in error ? error.code : 'errcode' in error ? error.errcode : undefined
  const cause = error.cause === undefined ? undefined : describeError(error.cause)
  const errors = error instanceof AggregateError ? error.errors.map(describeError) : undefined
  const { name, message, stack } = error
  return { type: name, message: withoutQueries(message), code, stack: stack && withoutQueries(stack), cause, errors }
}

/** The last line of defence: a library's message may quote a URL. */
export const hideSecrets = (text: string): string =>
  text.replace(/slc_(live|preview|admin|invite)_\w+/g, 'slc_$1_[secret]')

export type ServiceLogger = Logger &
  OutageLog & {
    /**
     * Batches lines that can be delayed, such as access log lines, since writing each by itself is expensive. `takeLines`
     * must return the pending lines; it is called before any other line is written, and after the returned function has
     * announced pending lines: immediately if they are many, else within `maxDelayMs`.
     */
    collectLines(takeLines: () => string): (isMuch: boolean) => void
  }

/** Logged instead of lines whose creation failed. */
function lossLine(error: unknown): string {
  const time = new Date().toISOString()
  return `${hideSecrets(JSON.stringify({ level: 'error', time, err: describeError(error), msg: 'log lines were lost' }))}\n`
}

/** Keeps the order: an immediate line first flushes the delayed ones. Never throws, so that logging cannot fail a request. */
function createLineWriter(destination: DestinationStream) {
  const collectors: (() => string)[] = []
  let timer: NodeJS.Timeout | undefined
  function attempt(write: () => void): void {
    try {
      write()
    } catch {
      // a failure to log cannot be logged
    }
  }
  function take(takeLines: () => string): string {
    try {
      return takeLines()
    } catch (error) {
      return lossLine(error)
    }
  }
  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    for (const takeLines of collectors) {
      const lines = take(takeLines)
      if (lines !== '') attempt(() => destination.write(lines))
    }
  }
  return {
    flush,
    write(line: string): void {
      flush()
      attempt(() => destination.write(line))
    },
    collectLines(takeLines: () => string): (isMuch: boolean) => void {
      collectors.push(takeLines)
      return (isMuch) => {
        if (isMuch) flush()
        else timer ??= setTimeout(flush, maxDelayMs).unref()
      }
    },
  }
}

function openStandardOutput(): ReturnType<typeof createLineWriter> {
  const stream = pino.destination({ dest: 1, sync: true, maxLength: maxUnwrittenBytes })
  stream.on('error', () => {}) // the next line retries
  const lines = createLineWriter(stream)
  process.once('exit', lines.flush)
  return lines
}

/**
 * Headers, query strings and bodies are never logged: requests are described by their route (`http/access-log.ts`), so keys
 * and tokens cannot get in. Redaction is the second line of defence.
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
  const logger = pino(options, lines)
  return Object.assign(logger, createOutageLog(logger), { collectLines: lines.collectLines })
}
