import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Author } from '../store/changes.ts'
import type { FoundDatabases } from '../store/check-open.ts'
import type { Group, GroupStore } from '../store/groups.ts'
import type { Store } from '../store/open.ts'

/** One thing that an operator should know. Sentences are plain ASCII: they may end up in any terminal or mail. */
export interface Finding {
  /** `wrong` makes the command fail, `attention` does not. */
  level: 'attention' | 'wrong'
  /** What is the matter, in a sentence. */
  what: string
  /** Some of what it is about, by name. */
  examples?: string[]
  /** What to do about it. */
  advice: string
  /** What to type for it, line by line. */
  commands?: string[]
}

/** Looks at one thing. It finds, and changes nothing unless `ctx.repairAs` allows it. */
export interface Check {
  name: string
  run(ctx: DoctorContext): Promise<Finding[]>
}

/** The machine as the doctor sees it. */
export interface Machine {
  nodeVersion: string
  /** The user that the doctor runs as; undefined where the system knows no user ids. */
  uid: number | undefined
  diskSpace(path: string): Promise<{ freeBytes: number; totalBytes: number }>
  /** Whether smaller pictures can be made here. */
  canDerive(): Promise<boolean>
}

export interface CheckedGroup {
  group: Group
  content: GroupStore
}

/** What checks work with. What comes from the databases is asked for, because they may be away. */
export interface DoctorContext {
  config: Config
  clock: Clock
  machine: Machine
  /** The databases as they are. Rejects with the cause when they cannot be reached at all. */
  reach(): Promise<FoundDatabases>
  /** The same for checks that have nothing to say then: rejects with `NotChecked`. */
  databases(): Promise<FoundDatabases>
  /** All databases that this version can work with. Rejects with `NotChecked` when there is no such control database. */
  store(): Promise<Store>
  /** The groups whose content is to be checked. */
  groups(): Promise<CheckedGroup[]>
  /** Who repairs, where repairing was asked for. */
  repairAs: Author | undefined
  /** Tells somebody who waits how far it is. */
  progress(text: string): void
}

/** Says why a check could not look. What is in the way is the finding of another check. */
export class NotChecked extends Error {
  override readonly name = 'NotChecked'
}
