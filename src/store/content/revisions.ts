import type { SqlBuilder } from '../engine/statement.ts'
import type { GroupStore } from '../store.ts'

/** Counts the writes that may have changed a group's answers: everything read at one revision is consistent. */
export async function readRevision({ groupId, database }: GroupStore): Promise<number> {
  const row = await database.read
    .selectFrom('group_revisions')
    .select('revision')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  return row?.revision ?? 0
}

/** The group's revisions, selected together with content, in the same snapshot. */
export interface Revisions {
  revision: number
  /** Incremented when delivered file data changes. */
  media_revision: number
}

export const revisionColumn = ({ table, bind }: SqlBuilder, groupId: string, name: keyof Revisions): string =>
  `coalesce((select ${name} from ${table('group_revisions')} where group_id = ${bind(groupId)}), 0) as ${name}`

export const revisionColumns = (draft: SqlBuilder, groupId: string): string =>
  `${revisionColumn(draft, groupId, 'revision')}, ${revisionColumn(draft, groupId, 'media_revision')}`

/** The time from which answers may change because something is due; null for none. */
export const dueColumn = ({ table, bind }: SqlBuilder, groupId: string): string =>
  `(select due_ms from ${table('group_revisions')} where group_id = ${bind(groupId)}) as due_ms`

/** Thrown by a read when something is due that must be applied first. */
export class ChangesDue extends Error {
  constructor() {
    super('A scheduled change or an archive date is due.')
  }
}

/** Thrown when content was written between two reads that must be consistent. */
export class Superseded extends Error {
  constructor() {
    super('The content was changed while it was read.')
  }
}
