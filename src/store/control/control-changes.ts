import type { Transaction } from 'kysely'
import { makeId } from '../../core/ids.ts'
import { type Authoring, shortNote } from '../content/changes.ts'
import type { Database } from '../engine/database.ts'
import type { ControlTables } from '../schema/control-tables.ts'

export interface ControlChange {
  type: string
  groupId: string | null
  subjectId: string
  note?: string
}

/** The context of such a change, for functions that several of them share. */
export interface ControlWriter {
  db: Transaction<ControlTables>
  record(change: ControlChange): void
  nowMs: number
}

/** Changes groups, keys and people, and records it in the same transaction. */
export async function writeControl<Result>(
  control: Database<ControlTables>,
  { author, verb, nowMs }: Omit<Authoring, 'versionsKept'>,
  work: (db: Transaction<ControlTables>, record: (change: ControlChange) => void) => Promise<Result>,
): Promise<Result> {
  const subjects = new Set<string>()
  const written = await control.write(async (db) => {
    const changes: ControlChange[] = []
    const result = await work(db, (change) => void changes.push(change))
    for (const { groupId, subjectId } of changes) for (const id of [groupId, subjectId]) if (id) subjects.add(id)
    for (const { type, groupId, subjectId, note = '' } of changes) {
      await db
        .insertInto('changes')
        .values({
          id: makeId(),
          at_ms: nowMs,
          type,
          verb,
          group_id: groupId,
          subject_id: subjectId,
          actor_id: author.id,
          actor_name: author.name,
          address: author.address,
          note: shortNote(note),
        })
        .execute()
    }
    return result
  })
  control.onAccess([...subjects])
  return written
}
