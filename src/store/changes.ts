import type { Transaction } from 'kysely'
import { draftPublishMs } from '../content/model.ts'
import { type AppError, conflict } from '../errors.ts'
import { seenBy } from './database.ts'
import type { GroupStore } from './groups.ts'
import { inBatches } from './in-batches.ts'
import type { ChangeRow, ContentTables } from './tables.ts'
import { refuseOverQuota } from './usage.ts'
import { createWriteBudget, requestLimits, type Spend, type WriteLimits } from './write-limits.ts'

const maxNoteLength = 500

export const shortNote = (note: string): string => note.slice(0, maxNoteLength)

/** Who makes a change. */
export interface Author {
  /** Of a user of the management API; the command line and the service itself have none. */
  id: string | null
  name: string
  /** Where the request came from. */
  address: string
}

/** The circumstances of a change, which are recorded with it. */
export interface Authoring {
  author: Author
  /** What the person did, such as `object.publish`. */
  verb: string
  nowMs: number
  /** How many former versions of an object to keep. */
  versionsKept: number
  /** An import takes over content as it is, also where a file of it is gone. */
  allowsMissingMedia?: boolean
  /** Of what somebody asks for by a single request. Imports and jobs have none. */
  limits?: WriteLimits
  /** How much the group may have in the database afterwards. What the service owes others, such as orders, has none. */
  quotaBytes?: number | undefined
}

export const contentChangeTypes = [
  'content.created', 'content.updated', 'content.deleted', 'content.published',
  'collection.created', 'collection.updated', 'collection.deleted',
  'integration.created', 'integration.updated', 'integration.deleted',
  'site.created', 'site.updated', 'site.deleted',
  'preview.created', 'preview.revoked',
  'media.created', 'media.updated', 'media.deleted',
  'job.retried', 'job.cancelled',
  'account.connected', 'account.updated', 'account.disconnected', 'account.synced',
  'order.created', 'order.updated',
  'mail.failed', 'mail.retried', 'mail.cancelled', 'mail.tested',
  'mailserver.updated', 'mailserver.removed',
  'suppression.added', 'suppression.removed',
] as const // biome-ignore format: one line for each subject reads better

export type ContentChangeType = (typeof contentChangeTypes)[number]

export interface ContentChange {
  type: ContentChangeType
  subjectId: string
  containerId?: string
  version?: number
  /** What was changed, in a word or by the names of fields; never their values. */
  note?: string
}

/** A group's content while it is being changed. */
export interface ContentWriter extends Authoring {
  db: Transaction<ContentTables>
  /** Up to this moment what fell due was noticed: of what is due before it, nobody else will tell. */
  noticedMs: number
  /** The group as this transaction sees it: every function that reads can be used inside. */
  group: GroupStore
  /** Counts towards the limits of the request what is about to be written. */
  spend: Spend
  record(change: ContentChange): void
  /** Says that an answer of the delivery API may now be another one. */
  touch(): void
  /** Says that what is delivered of a file may now be something else. */
  touchMedia(): void
}

type Numbered = Pick<ChangeRow, 'type' | 'subject_id' | 'container_id' | 'version' | 'note' | 'at_ms' | 'verb'>

/** The circumstances of what a site asks for by an endpoint of the delivery API. */
export const authoringOf = (endpoint: string, nowMs: number, quotaBytes?: number): Authoring => ({
  author: { id: null, name: endpoint, address: '' },
  verb: endpoint,
  nowMs,
  versionsKept: 0,
  limits: requestLimits,
  quotaBytes,
})

export const scheduleAuthor: Author = { id: null, name: 'schedule', address: '' }

export const groupIsBeingDeleted = (): AppError => conflict('This group is being deleted. Delete it again to finish.')

/** The lock under which a group is written: its changes are numbered in the order in which they are committed. */
export async function lockGroup(db: Transaction<ContentTables>, { groupId, database }: GroupStore, nowMs: number) {
  const row = db
    .selectFrom('group_revisions')
    .select(['revision', 'last_seq', 'swept_ms', 'closed', 'media_revision', 'changes_bytes']) // named, so that it can be prepared
    .where('group_id', '=', groupId)
    .$if(database.engine === 'postgres', (query) => query.forUpdate())
  const found = await row.executeTakeFirst()
  if (found) return found
  await db
    .insertInto('group_revisions')
    .values({ group_id: groupId, revision: 0, swept_ms: nowMs })
    .onConflict((conflict) => conflict.column('group_id').doNothing())
    .execute()
  return row.executeTakeFirstOrThrow()
}

/** Clocks of several machines differ a little. One that was far ahead and has been set right is another thing. */
const mostClockSkewMs = 3_600_000

/** Since when to look for what has fallen due. */
function lookSince(sweptMs: number, nowMs: number): number {
  return sweptMs > nowMs + mostClockSkewMs ? nowMs : sweptMs
}

/** What has fallen due since the last look. A draft's date never does. */
export function dueObjects(
  db: Pick<Transaction<ContentTables>, 'selectFrom'>,
  groupId: string,
  sinceMs: number,
  nowMs: number,
) {
  return db
    .selectFrom('objects')
    .select(['id', 'container_id', 'publish_ms', 'version'])
    .where('group_id', '=', groupId)
    .where('archived', '=', 0)
    .where('publish_ms', '>', (eb) => eb.lit(0))
    .where('publish_ms', '>', sinceMs)
    .where('publish_ms', '<=', Math.min(nowMs, draftPublishMs - 1))
    .orderBy('publish_ms')
    .orderBy('id')
}

async function sweepDue(db: Transaction<ContentTables>, groupId: string, sinceMs: number, nowMs: number) {
  const due = await dueObjects(db, groupId, sinceMs, nowMs).execute()
  return due.map(
    (row): Numbered => ({
      type: 'content.published',
      verb: 'schedule',
      at_ms: row.publish_ms,
      subject_id: row.id,
      container_id: row.container_id,
      version: row.version,
      note: '',
    }),
  )
}

/** As `changeBytes` of the migration says it. */
const bytesOfChange = ({ note }: Pick<Numbered, 'note'>): number => 200 + Buffer.byteLength(note)

async function writeRows(
  db: Transaction<ContentTables>,
  groupId: string,
  lastSeq: number,
  rows: readonly (Numbered & { author: Author })[],
): Promise<void> {
  const numbered = rows.map(
    ({ author, ...row }, position): ChangeRow => ({
      ...row,
      group_id: groupId,
      seq: lastSeq + position + 1,
      actor_id: author.id,
      actor_name: author.name,
      address: author.address,
    }),
  )
  for (const batch of inBatches(numbered)) await db.insertInto('changes').values(batch).execute()
}

/**
 * The one way to change a group's content: a transaction in which writers of the group take turns. It also records what
 * was done and what has fallen due meanwhile, and counts up the revision when a delivered answer may have changed.
 */
export async function writeContent<Result>(
  outside: GroupStore,
  authoring: Authoring,
  work: (writer: ContentWriter) => Promise<Result>,
): Promise<Result> {
  const { groupId, database } = outside
  const { author, verb, nowMs, quotaBytes } = authoring
  let newRevision: number | undefined
  const result = await database.write(async (db) => {
    const state = await lockGroup(db, outside, nowMs)
    if (state.closed !== 0) throw groupIsBeingDeleted()
    const since = lookSince(state.swept_ms, nowMs)
    const noticedMs = Math.max(since, nowMs)
    const due = await sweepDue(db, groupId, since, nowMs)
    const changes: Numbered[] = []
    let touched = false
    let mediaTouched = false
    const group: GroupStore = { groupId, database: seenBy(db, database) }
    const result = await work({
      ...authoring,
      noticedMs,
      db,
      group,
      spend: createWriteBudget(authoring.limits),
      record: ({ type, subjectId, containerId = null, version = null, note = '' }) =>
        void changes.push({
          type,
          verb,
          at_ms: nowMs,
          subject_id: subjectId,
          container_id: containerId,
          version,
          note: shortNote(note),
        }),
      touch: () => {
        touched = true
      },
      touchMedia: () => {
        touched = true
        mediaTouched = true
      },
    })
    const rows = [
      ...due.map((change) => ({ ...change, author: scheduleAuthor })),
      ...changes.map((change) => ({ ...change, author })),
    ]
    if (rows.length === 0 && !touched) {
      if (quotaBytes !== undefined) await refuseOverQuota(group, outside, quotaBytes)
      return result
    }
    await writeRows(db, groupId, state.last_seq, rows)
    if (touched) newRevision = state.revision + 1
    await db
      .updateTable('group_revisions')
      .set({
        revision: newRevision ?? state.revision,
        last_seq: state.last_seq + rows.length,
        swept_ms: noticedMs,
        media_revision: state.media_revision + (mediaTouched ? 1 : 0),
        changes_bytes: state.changes_bytes + rows.reduce((sum, row) => sum + bytesOfChange(row), 0),
      })
      .where('group_id', '=', groupId)
      .execute()
    if (quotaBytes !== undefined) await refuseOverQuota(group, outside, quotaBytes)
    return result
  }, groupId)
  if (newRevision !== undefined) database.onRevision(groupId, newRevision)
  return result
}
