import type { ContentWriter } from '../store/content/changes.ts'
import type { Group } from '../store/control/groups.ts'
import type { Job } from '../store/jobs/jobs.ts'
import type { GroupStore } from '../store/store.ts'

/** What a handler gets. */
export interface JobContext {
  /** The content of the group whose job it is. */
  group: GroupStore
  /** That group itself: its bucket, its tier. */
  owner: Group
  /** Aborts when the job takes too long, is no longer ours, or the process is about to stop. */
  signal: AbortSignal
  /**
   * Whether the lease is still valid. A process that was paused may act before it notices that
   * another one has the job: check right before an effect that cannot be undone.
   */
  isOurs(): boolean
  nowMs: number
  /**
   * Writes the effect of the job and marks it as done, in one transaction: so it happens once. Throws, and writes
   * nothing, when another process has taken the job over.
   */
  finish(work: (writer: ContentWriter) => Promise<void>): Promise<void>
}

/** How one kind of job is done. It may be begun several times, by several processes: what it writes, it writes by `finish`. */
export interface JobHandler {
  kind: string
  /** A job whose handler returns is done, with or without `finish`; one that throws is tried again. */
  run(job: Job, context: JobContext): Promise<void>
  /** From `retry-backoff.ts`: the delays after the first, second, … failure; one more failure is final. */
  retryAfterSeconds: readonly number[]
  /** Time limit of one attempt. */
  limitSeconds: number
  /** Concurrent jobs for each worker of the process, 1 by default. More for work that mostly waits for others. */
  atOnce?: number
  /** Concurrent jobs of one group, so that its slow peer does not hold up the other groups. */
  maxPerGroup?: number
  /** Writes the effects of a final failure, in the transaction that records it. */
  giveUp?(job: Job, problem: string, writer: ContentWriter): Promise<unknown>
}

/** Thrown by a handler when a retry cannot help. */
export class PermanentFailure extends Error {
  override readonly name = 'PermanentFailure'
  /** Written in the transaction that records the failure. */
  readonly effect: ((writer: ContentWriter) => Promise<unknown>) | undefined

  constructor(message: string, effect?: (writer: ContentWriter) => Promise<unknown>) {
    super(message)
    this.effect = effect
  }
}
