import type { ContentWriter } from '../store/changes.ts'
import type { Group, GroupStore } from '../store/groups.ts'
import type { Job } from '../store/jobs.ts'

/** What a handler works with. */
export interface JobContext {
  /** The content of the group whose job it is. */
  group: GroupStore
  /** That group itself: its bucket, its tier. */
  owner: Group
  /** Aborts when the job takes too long, is no longer ours, or the process is about to stop. */
  signal: AbortSignal
  /**
   * Whether the job is ours for sure at this very moment. A process that was paused may act before it is told that the
   * job is somebody else's by now: ask right before what cannot be taken back.
   */
  isOurs(): boolean
  nowMs: number
  /**
   * Writes the effect of the job and marks it as done, in one transaction: so it happens once. Throws, and writes
   * nothing, when somebody else has taken the job over.
   */
  finish(work: (writer: ContentWriter) => Promise<void>): Promise<void>
}

/** How one kind of job is done. It may be begun several times, by several processes: what it writes, it writes by `finish`. */
export interface JobHandler {
  kind: string
  /** A job whose handler returns is done, with or without `finish`; one that throws is tried again. */
  run(job: Job, context: JobContext): Promise<void>
  /** How long to wait after the first, second, … failure. After the last of them a failure is final. */
  retryAfterSeconds: readonly number[]
  /** How long one attempt may take. */
  limitSeconds: number
  /** How many run at once for each worker of the process; 1 where it is not said. For what mostly waits for others. */
  atOnce?: number
  /** How many of them may be of one group, so that what it waits for does not hold up all others. */
  mostPerGroup?: number
  /** What is written together with a failure that is final. */
  giveUp?(job: Job, problem: string, writer: ContentWriter): Promise<unknown>
}

/** Thrown by a handler where trying again cannot help. */
export class PermanentFailure extends Error {
  override readonly name = 'PermanentFailure'
  /** What is written besides. */
  readonly effect: ((writer: ContentWriter) => Promise<unknown>) | undefined

  constructor(message: string, effect?: (writer: ContentWriter) => Promise<unknown>) {
    super(message)
    this.effect = effect
  }
}
