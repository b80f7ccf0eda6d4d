import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { FoundDatabases } from '../store/checks/databases.ts'
import type { Author } from '../store/content/changes.ts'
import type { Group } from '../store/control/groups.ts'
import type { GroupStore, Store } from '../store/store.ts'

/** Something that an operator should know. Sentences are plain ASCII, for any terminal or e-mail. */
export interface Finding {
  /** `wrong` makes the command fail, `attention` does not. */
  level: 'attention' | 'wrong'
  /** The problem, in a sentence. */
  what: string
  /** Some of the affected things, by name. */
  examples?: string[]
  /** How to solve it. */
  advice: string
  /** The commands for it, line by line. */
  commands?: string[]
}

/** Examines one thing. Changes nothing unless `ctx.repairAs` is set. */
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

/** What checks work with. Databases are opened on first use, because they may be unavailable. */
export interface DoctorContext {
  config: Config
  clock: Clock
  machine: Machine
  /** The databases as they are. Rejects with the cause when they cannot be reached at all. */
  reach(): Promise<FoundDatabases>
  /** The same for checks that need the databases: rejects with `NotChecked` when they cannot be reached. */
  databases(): Promise<FoundDatabases>
  /** All databases that this version can work with. Rejects with `NotChecked` when there is no such control database. */
  store(): Promise<Store>
  /** The groups whose content is to be checked. */
  groups(): Promise<CheckedGroup[]>
  /** The author of repairs; undefined unless repairing was requested. */
  repairAs: Author | undefined
  /** Reports progress to a person who waits. */
  progress(text: string): void
}

/** Why a check could not run. The cause is the finding of another check. */
export class NotChecked extends Error {
  override readonly name = 'NotChecked'
}
