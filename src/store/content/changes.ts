import type { Transaction } from 'kysely'
import { draftPublishMs } from '../../content/model.ts'
import { maxClockSkewMs } from '../../core/clock.ts'
import { type AppError, conflict, invalid } from '../../core/errors.ts'
import { inBatches, insideTransaction } from '../engine/database.ts'
import type { ChangeRow, ContentTables } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import { isDue, nextDueMs, settlesUntilMs } from './due.ts'
import { refuseOverQuota } from './usage.ts'

const maxNoteLength = 500

export const shortNote = (note: string): string => note.slice(0, maxNoteLength)

/** The author of a change. */
export interface Author {
  /** A user of the management API; null for the command line and the service itself. */
  id: string | null
  name: string
  /** The address of the client. */
  address: string
}

/** The origin of a change, which is recorded with it, and the limits that apply. */
export interface Authoring {
  author: Author
  /** The action, such as `object.publish`. */
  verb: string
  nowMs: number
  /** Number of former versions to keep of each object. */
  versionsKept: number
  /** Whether this write applies what is due; all others wait for it. */
  settlesDue?: boolean
  /** For imports, whose content may refer to missing files and objects. */
  allowsMissing?: boolean
  /** For writes in several steps, which check unique values at their end with `refuseDuplicates`. */
  checksUniqueLater?: boolean
  /** Limits of a single request. Imports and jobs have none. */
  limits?: WriteLimits
  /** The group's database quota. Orders and the like have none, since losing them is worse than exceeding it. */
  quotaBytes?: number | undefined
}

export const contentChangeTypes = [
  'content.created', 'content.updated', 'content.deleted', 'content.published',
  'collection.created', 'collection.updated', 'collection.deleted',
  'integration.created', 'integration.updated', 'integration.deleted',
  'site.created', 'site.updated', 'site.deleted',
  'draft.scheduled', 'draft.unscheduled', 'draft.discarded', 'draft.failed',
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
  /** What was changed, in a word or by names of fields; never their values. */
  note?: string
  /** By default, the time of the write. */
  atMs?: number
}

/** A write transaction on a group's content. */
export interface ContentWriter extends Authoring {
  db: Transaction<ContentTables>
  /** Objects that fell due up to this time have been recorded as published. */
  sweptMs: number
  /** What is due up to this time is to be applied. */
  settlesUntilMs: number
  /** The group inside this transaction, for every function that reads. */
  group: GroupStore
  /** Counts a write against the limits of the request, before it is made. */
  spend: Spend
  record(change: ContentChange): void
  /** Invalidates the group's delivered answers. */
  bumpRevision(): void
  /** Invalidates delivered media as well. */
  bumpMediaRevision(): void
  /** Called when something is scheduled that no publish date covers, or no longer is. */
  changeDue(): void
}

type Numbered = Pick<ChangeRow, 'type' | 'subject_id' | 'container_id' | 'version' | 'note' | 'at_ms' | 'verb'>

/** For writes by an endpoint of the delivery API. */
export const endpointAuthoring = (endpoint: string, nowMs: number, quotaBytes?: number): Authoring => ({
  author: { id: null, name: endpoint, address: '' },
  verb: endpoint,
  nowMs,
  versionsKept: 0,
  limits: requestLimits,
  quotaBytes,
})

export const scheduleAuthor: Author = { id: null, name: 'schedule', address: '' }

export const groupIsBeingDeleted = (): AppError => conflict('This group is being deleted. Delete it again to finish.')

/** The group's write lock: changes are numbered in the order of commits. */
export async function lockGroup(db: Transaction<ContentTables>, { groupId, database }: GroupStore, nowMs: number) {
  const row = db
    .selectFrom('group_revisions')
    .select(['revision', 'last_seq', 'swept_ms', 'closed', 'media_revision', 'changes_bytes', 'due_ms']) // `select *` would not be prepared
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

/** Objects that fell due since the last sweep; never drafts. */
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

/** Must equal `changeBytes` of the migration. */
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
 * The only way to change a group's content: a transaction under the group's lock. It records the changes and the objects
 * that fell due, and counts up the revision when a delivered answer may have changed.
 */
export async function writeContent<Result>(
  outside: GroupStore,
  authoring: Authoring,
  work: (writer: ContentWriter) => Promise<Result>,
): Promise<Result> {
  if (!authoring.settlesDue) {
    const result = await writeUnlessDue(outside, authoring, work)
    if (result !== somethingIsDue) return result
    // If this fails, as on a full disk, the write itself shows why.
    await outside.database.settleDue(outside.groupId, authoring.nowMs).catch(() => {})
  }
  return (await writeUnlessDue(outside, { ...authoring, settlesDue: true }, work)) as Result
}

const somethingIsDue = Symbol('a scheduled change or an archive date is due')

async function writeUnlessDue<Result>(
  outside: GroupStore,
  authoring: Authoring,
  work: (writer: ContentWriter) => Promise<Result>,
): Promise<Result | typeof somethingIsDue> {
  const { groupId, database } = outside
  const { author, verb, nowMs, quotaBytes } = authoring
  let newRevision: number | undefined
  const result = await database.write(async (db) => {
    const state = await lockGroup(db, outside, nowMs)
    if (state.closed !== 0) throw groupIsBeingDeleted()
    if (!authoring.settlesDue && isDue(state.due_ms, nowMs)) return somethingIsDue
    const since = state.swept_ms > nowMs + maxClockSkewMs ? nowMs : state.swept_ms
    const sweptMs = Math.max(since, nowMs)
    const due = await sweepDue(db, groupId, since, nowMs)
    const changes: Numbered[] = []
    let touched = false
    let mediaTouched = false
    let isDueChanged = false
    const group: GroupStore = { groupId, database: insideTransaction(db, database) }
    const settled = settlesUntilMs(state.due_ms, nowMs)
    const result = await work({
      ...authoring,
      sweptMs,
      settlesUntilMs: settled,
      db,
      group,
      spend: createWriteBudget(authoring.limits),
      record: ({ type, subjectId, containerId = null, version = null, note = '', atMs = nowMs }) =>
        void changes.push({
          type,
          verb,
          at_ms: atMs,
          subject_id: subjectId,
          container_id: containerId,
          version,
          note: shortNote(note),
        }),
      bumpRevision: () => {
        touched = true
      },
      bumpMediaRevision: () => {
        touched = true
        mediaTouched = true
      },
      changeDue: () => {
        isDueChanged = true
      },
    })
    const rows = [
      ...due.map((change) => ({ ...change, author: scheduleAuthor })),
      ...changes.map((change) => ({ ...change, author })),
    ]
    if (rows.length === 0 && !touched && !isDueChanged) {
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
        swept_ms: sweptMs,
        due_ms: isDueChanged ? await nextDueMs(db, groupId, settled) : state.due_ms,
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

/**
 * The limits of one request. With SQLite all groups of a database wait for its write, about 0.2 s on an idle machine.
 */
export interface WriteLimits {
  /** Index entries: one for each value that can be filtered or sorted by. */
  indexRows: number
  /** JSON of the objects that are written. */
  bytes: number
}

export const requestLimits: WriteLimits = { indexRows: 10_000, bytes: 16 * 1024 ** 2 }

/** Called before a write; throws when the budget is exceeded. */
export type Spend = (cost: Partial<WriteLimits>) => void

const adviceOf = 'Send fewer objects at a time, or objects with fewer values. Nothing was changed.'

/** Imports and jobs have no limits. */
export function createWriteBudget(limits: WriteLimits | undefined): Spend {
  const spent: WriteLimits = { indexRows: 0, bytes: 0 }
  return ({ indexRows = 0, bytes = 0 }) => {
    spent.indexRows += indexRows
    spent.bytes += bytes
    if (!limits) return
    if (spent.indexRows > limits.indexRows)
      throw invalid(
        `This writes ${spent.indexRows} index entries or more, one for each value that can be filtered or sorted by; a request may write ${limits.indexRows}. ${adviceOf}`,
      )
    if (spent.bytes > limits.bytes)
      throw invalid(
        `This writes objects of ${spent.bytes} bytes together or more; a request may write ${limits.bytes}. ${adviceOf}`,
      )
  }
}

/** The feed after a number, oldest first. Due objects are recorded before, so that the feed is current. */
export async function listEvents(
  group: GroupStore,
  { since, limit }: { since: number; limit: number },
  nowMs: number,
): Promise<{ events: ChangeRow[]; lastSeq: number }> {
  await recordDueObjects(group, nowMs)
  const { read } = group.database
  const events = await read
    .selectFrom('changes')
    .selectAll()
    .where('group_id', '=', group.groupId)
    .where('seq', '>', since)
    .orderBy('seq')
    .limit(limit)
    .execute()
  const state = await read
    .selectFrom('group_revisions')
    .select('last_seq')
    .where('group_id', '=', group.groupId)
    .executeTakeFirst()
  return { events, lastSeq: state?.last_seq ?? 0 }
}

async function recordDueObjects(group: GroupStore, nowMs: number): Promise<void> {
  const { groupId, database } = group
  const state = await database.read
    .selectFrom('group_revisions')
    .select('swept_ms')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  if (!state) return
  const [due] = await dueObjects(database.read, groupId, state.swept_ms, nowMs).limit(1).execute()
  if (due)
    await writeContent(group, { author: scheduleAuthor, verb: 'schedule', nowMs, versionsKept: 0 }, async () => {})
}
