import { minuteMs } from './clock.ts'
import { AppError } from './errors.ts'

/** How often a continuing outage is logged. */
const reportEveryMs = minuteMs
/** An outage ends after this long without a failure if a success was noted … */
const settledAfterMs = 10_000
/** … and after this long if none was. */
const forgottenAfterMs = 10 * minuteMs
const checkEveryMs = 5_000
/** Further causes of the same outage are only counted. */
const maxCauses = 5
/** Further outages are counted together. */
const maxOutages = 100
const others = 'something else'

/** Names of shared dependencies in the log. */
export const databasePeer = 'the database'
export const storePeer = 'the media store'

interface Outage {
  causes: Set<string>
  startMs: number
  lastMs: number
  failures: number
  /** Failures since the last line. */
  unreported: number
  reportedMs: number
  /** Whether a success was noted since the last failure. */
  hasWorked: boolean
}

export interface OutageLog {
  /**
   * For failures that repeat while a dependency is down: the first of each cause is logged at once, the others are counted,
   * and the last line states the duration. `what` is the subject of the message, such as "the database".
   */
  noteOutage(what: string, error: unknown, fields?: object): void
  noteSuccess(what: string): void
}

interface Lines {
  error(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** Identifies a cause: by its code, or by its message for our own errors. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && !(error instanceof AppError) ? error.code : undefined
  return String(code ?? error.message)
}

const inSeconds = (ms: number): number => Math.max(1, Math.round(ms / 1000))

export function createOutageLog(lines: Lines, nowMs: () => number = () => performance.now()): OutageLog {
  const outages = new Map<string, Outage>()
  let timer: NodeJS.Timeout | undefined

  function end(what: string, { startMs, lastMs, failures, hasWorked }: Outage): void {
    outages.delete(what)
    const seconds = inSeconds(lastMs - startMs)
    if (failures === 1) return // the first line said it all
    const outcome = hasWorked ? `works again after ${seconds} s` : `has not failed for ${inSeconds(nowMs() - lastMs)} s`
    lines.warn({ failures, seconds }, `${what} ${outcome}`)
  }

  function report(what: string, outage: Outage): void {
    const { unreported: failures, reportedMs } = outage
    lines.warn({ failures, seconds: inSeconds(nowMs() - reportedMs) }, `${what} failed again`)
    outage.unreported = 0
    outage.reportedMs = nowMs()
  }

  function check(): void {
    for (const [what, outage] of [...outages]) {
      const quietMs = nowMs() - outage.lastMs
      if (quietMs >= (outage.hasWorked ? settledAfterMs : forgottenAfterMs)) end(what, outage)
      else if (outage.unreported > 0 && nowMs() - outage.reportedMs >= reportEveryMs) report(what, outage)
    }
    if (outages.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    noteOutage(subject, error, fields = {}) {
      const now = nowMs()
      const what = outages.has(subject) || outages.size < maxOutages ? subject : others
      const known = outages.get(what)
      const outage = known ?? {
        causes: new Set(),
        startMs: now,
        lastMs: now,
        failures: 0,
        unreported: 0,
        reportedMs: now,
        hasWorked: false,
      }
      if (!known) outages.set(what, outage)
      Object.assign(outage, { lastMs: now, failures: outage.failures + 1, hasWorked: false })
      timer ??= setInterval(check, checkEveryMs).unref()
      const cause = causeOf(error)
      if (outage.causes.has(cause) || outage.causes.size >= maxCauses) {
        outage.unreported += 1
        return
      }
      outage.causes.add(cause)
      lines.error({ ...fields, err: error }, `${what} failed`)
    },
    noteSuccess(what) {
      const outage = outages.get(what)
      if (outage) outage.hasWorked = true
    },
  }
}
