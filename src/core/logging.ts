import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from '../config/config.ts'
import { createOutageLog, type OutageLog } from './outage-log.ts'

/** For how long lines that can wait do. */
const longestWaitMs = 50
/** What cannot be written, such as on a full disk, is kept up to here; what comes on top of it is dropped. */
const maxUnwrittenBytes = 4 * 2 ** 20

/** The framework's own words may quote an address, and its query what somebody looked for. */
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

/** The last fence: a library's own message may quote a URL. */
export const hideSecrets = (text: string): string =>
  text.replace(/slc_(live|preview|admin|invite)_\w+/g, 'slc_$1_[secret]')

export type ServiceLogger = Logger &
  OutageLog & {
    /**
     * For lines that can wait, such as one for each request: to put many of them together and write them at once costs much less
     * than to do so in between. `takeLines` is called for what there is before any other line is written, and soon after
     * one says by the function that comes back that there is something, at once where it is much.
     */
    collectLines(takeLines: () => string): (isMuch: boolean) => void
  }

/** What stands in the log for lines that could not be made. */
function writeLoss(error: unknown): string {
  const time = new Date().toISOString()
  return `${hideSecrets(JSON.stringify({ level: 'error', time, err: describeError(error), msg: 'log lines were lost' }))}\n`
}

/** Lines in their order: one that cannot wait takes along what waits. Never throws: no request and no timer ends by its log. */
function createLineWriter(destination: DestinationStream) {
  const collectors: (() => string)[] = []
  let timer: NodeJS.Timeout | undefined
  function attempt(write: () => void): void {
    try {
      write()
    } catch {
      // there is nowhere left to tell it
    }
  }
  function take(takeLines: () => string): string {
    try {
      return takeLines()
    } catch (error) {
      return writeLoss(error)
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
        else timer ??= setTimeout(flush, longestWaitMs).unref()
      }
    },
  }
}

function openStandardOutput(): ReturnType<typeof createLineWriter> {
  const stream = pino.destination({ dest: 1, sync: true, maxLength: maxUnwrittenBytes })
  stream.on('error', () => {}) // the next line tries again
  const lines = createLineWriter(stream)
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
  const logger = pino(options, lines)
  return Object.assign(logger, createOutageLog(logger), { collectLines: lines.collectLines })
}
