import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { FoundDatabases } from '../store/checks/databases.ts'
import type { Author } from '../store/content/changes.ts'
import type { Group } from '../store/control/groups.ts'
import type { GroupStore, Store } from '../store/store.ts'

/** A problem for the operator. Sentences are plain ASCII, for any terminal or e-mail. */
export interface Finding {
  /** `wrong` makes the command fail, `attention` does not. */
  level: 'attention' | 'wrong'
  /** The problem, in a sentence. */
  what: string
  /** Some affected items. */
  examples?: string[]
  advice: string
  /** Line by line. */
  commands?: string[]
}

type Advised = Omit<Finding, 'level'>

export const attention = (finding: Advised): Finding[] => [{ level: 'attention', ...finding }]
export const wrong = (finding: Advised): Finding[] => [{ level: 'wrong', ...finding }]

/** Changes nothing unless `ctx.repairAs` is set. */
export interface Check {
  name: string
  run(ctx: DoctorContext): Promise<Finding[]>
}

/** The machine as the doctor sees it. */
export interface Machine {
  nodeVersion: string
  /** The user that the doctor runs as; undefined on systems without user ids. */
  uid: number | undefined
  diskSpace(path: string): Promise<{ freeBytes: number; totalBytes: number }>
  /** Whether pictures can be scaled here. */
  canDerive(): Promise<boolean>
}

export interface CheckedGroup {
  group: Group
  content: GroupStore
}

/** Databases are opened on first use, because they may be unavailable. */
export interface DoctorContext {
  config: Config
  clock: Clock
  machine: Machine
  /** Rejects with the cause when the databases cannot be reached. */
  reach(): Promise<FoundDatabases>
  /** Like `reach`, but rejects with `NotChecked`. */
  databases(): Promise<FoundDatabases>
  /** The databases at this version's schema. Rejects with `NotChecked` when the control database is not among them. */
  store(): Promise<Store>
  /** The groups whose content is to be checked. */
  groups(): Promise<CheckedGroup[]>
  /** The author of repairs; undefined unless repairing was requested. */
  repairAs: Author | undefined
  progress(text: string): void
}

/** Why a check could not run. The cause is the finding of another check. */
export class NotChecked extends Error {
  override readonly name = 'NotChecked'
}
