import type { ContentWriter } from '../store/content/changes.ts'
import type { Group } from '../store/control/groups.ts'
import type { Job } from '../store/jobs/jobs.ts'
import type { GroupStore } from '../store/store.ts'

export interface JobContext {
  /** The content of the group that owns the job. */
  group: GroupStore
  owner: Group
  /** Aborts on timeout, when the lease is lost, and when the process stops. */
  signal: AbortSignal
  /**
   * Whether the lease is still valid. After a suspension, another process may have the job already: check right before an
   * effect that cannot be undone.
   */
  isOurs(): boolean
  nowMs: number
  /** Writes the job's effect and completes it in one transaction. Throws, and writes nothing, when the lease is lost. */
  finish(work: (writer: ContentWriter) => Promise<void>): Promise<void>
}

/** Runs one kind of job, at least once: several processes may start a job. Writes by `finish` happen exactly once. */
export interface JobHandler {
  kind: string
  /** The job is done when this returns, with or without `finish`, and is retried when it throws. */
  run(job: Job, context: JobContext): Promise<void>
  /** Delays after the first, second, … failure; one more failure is final. */
  retryDelaysSeconds: readonly number[]
  /** Time limit of one attempt. */
  maxSeconds: number
  /** Concurrent jobs for each worker of the process, 1 by default; more for work that mostly waits. */
  maxPerWorker?: number
  /** Concurrent jobs of one group, so that a slow peer of one group does not delay the others. */
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
