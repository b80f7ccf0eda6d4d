import { type ContentMemory, createContentMemory } from './content-memory.ts'
import { seenBy } from './database.ts'
import type { GroupStore } from './groups.ts'
import type { Draft } from './statement.ts'

/** How often parts that do not fit together are read again before they are read from one snapshot. */
const mostAttempts = 2

/** Counts the writes that may have changed a group's answers: what was read at one revision stays true for it. */
export async function readRevision({ groupId, database }: GroupStore): Promise<number> {
  const row = await database.read
    .selectFrom('group_revisions')
    .select('revision')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  return row?.revision ?? 0
}

/** What a statement tells of the group besides what it reads, as of the same moment. */
export interface Revisions {
  revision: number
  /** Counted up when what is delivered of a file changes. */
  media_revision: number
}

export const revisionColumn = ({ table, bind }: Draft, groupId: string, name: keyof Revisions): string =>
  `coalesce((select ${name} from ${table('group_revisions')} where group_id = ${bind(groupId)}), 0) as ${name}`

/** The columns that tell it. */
export const revisionColumns = (draft: Draft, groupId: string): string =>
  `${revisionColumn(draft, groupId, 'revision')}, ${revisionColumn(draft, groupId, 'media_revision')}`

/** Thrown when somebody has written between two reads that belong together. */
export class Superseded extends Error {
  constructor() {
    super('The content was changed while it was read.')
  }
}

/**
 * Reads what takes several statements as of one revision. `read` throws `Superseded` when its parts do not fit together;
 * then they are read again, and in the end from a snapshot and without a memory, where they always fit.
 */
export async function readAtOneRevision<Result>(
  group: GroupStore,
  memory: ContentMemory,
  read: (group: GroupStore, memory: ContentMemory) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    try {
      return await read(group, memory)
    } catch (error) {
      if (!(error instanceof Superseded)) throw error
    }
  }
  return group.database.snapshot(
    (db) => read({ ...group, database: seenBy(db, group.database) }, createContentMemory()),
    group.groupId,
  )
}
