import { sql } from 'kysely'
import { addressKey } from '../../content/email.ts'
import type { MessageContent, MessageKind, MessageState } from '../../content/mail.ts'
import { dayMs } from '../../core/clock.ts'
import { makeId } from '../../core/ids.ts'
import type { ContentWriter } from '../content/changes.ts'
import type { Database } from '../engine/database.ts'
import { insertJob } from '../jobs/jobs.ts'
import type { ContentTables } from '../schema/tables.ts'
import { databaseNamesInUse, type GroupStore, type Store } from '../store.ts'

/** An e-mail in the outbox. */
export interface Message {
  id: string
  groupId: string
  kind: MessageKind
  state: MessageState
  recipient: string
  replyTo: string | null
  subject: string
  content: MessageContent
  /** The Message-ID header, without the angle brackets. */
  messageId: string
  /** The job that delivers it, which is deleted some time after it has ended. */
  jobId: string
  /** Started deliveries; 0 after the job is deleted. */
  attempts: number
  /** When delivery is tried next; null after the last attempt. */
  dueMs: number | null
  /** Whether it is being delivered now. */
  isUnderWay: boolean
  /** Why the latest attempt failed. */
  problem: string | null
  createdMs: number
  endedMs: number | null
}

/** A message in a list, without its content, which can be long. */
export type MessageHead = Omit<Message, 'content'>

export type NewMessage = Pick<Message, 'kind' | 'recipient' | 'replyTo' | 'subject' | 'content'> & {
  /** The From address, whose domain the Message-ID gets. */
  sender: string
}

export const deliverKind = 'mail.deliver'

/** The payload of the job that delivers a message. */
export interface DeliverWork {
  mailId: string
}

const deliverJob = (mailId: string) => ({ kind: deliverKind, payload: { mailId } satisfies DeliverWork })

/** Retention after the end, limited because messages contain what visitors wrote. */
const keptMs = { sent: 30 * dayMs, failed: 90 * dayMs, cancelled: 90 * dayMs }
const rowsPerDelete = 500

/** Adds a message to the outbox, with the job that delivers it, in the writer's transaction. */
export async function insertMessage(writer: ContentWriter, message: NewMessage): Promise<string> {
  const { kind, recipient, replyTo, subject, content, sender } = message
  const id = makeId()
  await writer.db
    .insertInto('messages')
    .values({
      id,
      group_id: writer.group.groupId,
      kind,
      state: 'waiting',
      recipient,
      reply_to: replyTo,
      subject,
      content: JSON.stringify(content),
      message_id: `${id}${sender.slice(sender.lastIndexOf('@'))}`,
      job_id: await insertJob(writer, deliverJob(id)),
      problem: null,
      created_ms: writer.nowMs,
      ended_ms: null,
    })
    .execute()
  return id
}

const headColumns = [
  'messages.id', 'messages.group_id', 'messages.kind', 'messages.state', 'messages.recipient', 'messages.reply_to',
  'messages.subject', 'messages.message_id', 'messages.job_id', 'messages.problem', 'messages.created_ms',
  'messages.ended_ms', 'jobs.attempts', 'jobs.due_ms', 'jobs.state as job_state', 'jobs.problem as job_problem',
] as const // biome-ignore format: four lines read better

const selectHeads = ({ read }: Pick<Database<ContentTables>, 'read'>) =>
  read.selectFrom('messages').leftJoin('jobs', 'jobs.id', 'messages.job_id').select(headColumns)

type SelectedHead = Awaited<ReturnType<ReturnType<typeof selectHeads>['executeTakeFirstOrThrow']>>

function toHead(row: SelectedHead): MessageHead {
  return {
    id: row.id,
    groupId: row.group_id,
    kind: row.kind as MessageKind, // only our own values are stored, here and in `state`
    state: row.state as MessageState,
    recipient: row.recipient,
    replyTo: row.reply_to,
    subject: row.subject,
    messageId: row.message_id,
    jobId: row.job_id,
    attempts: row.attempts ?? 0,
    dueMs: row.state === 'waiting' ? row.due_ms : null,
    isUnderWay: row.job_state === 'running',
    problem: row.problem ?? (row.state === 'waiting' ? row.job_problem : null),
    createdMs: row.created_ms,
    endedMs: row.ended_ms,
  }
}

export async function findMessage({ groupId, database }: GroupStore, id: string): Promise<Message | undefined> {
  const row = await selectHeads(database)
    .select('messages.content')
    .where('messages.group_id', '=', groupId)
    .where('messages.id', '=', id)
    .executeTakeFirst()
  return row && { ...toHead(row), content: JSON.parse(row.content) }
}

interface MessageQuery {
  state?: MessageState | undefined
  kind?: MessageKind | undefined
  recipient?: string | undefined
  limit: number
  skip: number
}

const isTo = (recipient: string | undefined) =>
  recipient === undefined ? sql<boolean>`1 = 1` : sql<boolean>`lower(messages.recipient) = ${addressKey(recipient)}`

/** Newest first. */
export async function listMessages(
  { groupId, database }: GroupStore,
  { state, kind, recipient, limit, skip }: MessageQuery,
): Promise<{ messages: MessageHead[]; totalCount: number }> {
  const wanted = {
    'messages.group_id': groupId,
    ...(state !== undefined && { 'messages.state': state }),
    ...(kind !== undefined && { 'messages.kind': kind }),
  }
  const { total } = await database.read
    .selectFrom('messages')
    .where((eb) => eb.and(wanted))
    .where(isTo(recipient))
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  const rows = await selectHeads(database)
    .where((eb) => eb.and(wanted))
    .where(isTo(recipient))
    .orderBy('messages.id', 'desc')
    .limit(limit)
    .offset(skip)
    .execute()
  return { messages: rows.map(toHead), totalCount: Number(total) }
}

/** Of all groups, newest first, for the local mailbox. */
export async function listLatestMessages(store: Store, limit: number): Promise<MessageHead[]> {
  const found: MessageHead[] = []
  for (const name of await databaseNamesInUse(store.control)) {
    const rows = await selectHeads(await store.content(name))
      .orderBy('messages.id', 'desc')
      .limit(limit)
      .execute()
    found.push(...rows.map(toHead))
  }
  return found.sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit)
}

type Ending = Exclude<MessageState, 'waiting'>

/** False if the message is gone or has already ended. */
export async function endMessage(
  { db, group, nowMs }: ContentWriter,
  id: string,
  state: Ending,
  problem: string | null = null,
): Promise<boolean> {
  const from: MessageState[] = state === 'cancelled' ? ['waiting', 'failed'] : ['waiting']
  const { numUpdatedRows } = await db
    .updateTable('messages')
    .set({ state, problem, ended_ms: nowMs })
    .where('group_id', '=', group.groupId)
    .where('id', '=', id)
    .where('state', 'in', from)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Delivers a message again by a new job, so that a process still running the former job cannot end the message. */
export async function restartMessage(writer: ContentWriter, id: string): Promise<void> {
  const jobId = await insertJob(writer, deliverJob(id))
  await writer.db
    .updateTable('messages')
    .set({ state: 'waiting', problem: null, ended_ms: null, job_id: jobId })
    .where('group_id', '=', writer.group.groupId)
    .where('id', '=', id)
    .execute()
}

/** A batch of messages whose retention has ended. */
function findOld(database: Database<ContentTables>, state: string, beforeMs: number) {
  return database.read
    .selectFrom('messages')
    .select(['id', 'group_id as groupId'])
    .where('state', '=', state)
    .where('ended_ms', 'is not', null)
    .where('ended_ms', '<', beforeMs)
    .limit(rowsPerDelete)
    .execute()
}

/**
 * Deletes messages whose retention has ended, in batches. Copies elsewhere are removed before the row, so that a failure is
 * retried.
 */
export async function pruneMessages(
  database: Database<ContentTables>,
  nowMs: number,
  removeCopy: (message: Pick<Message, 'id' | 'groupId'>) => Promise<void>,
): Promise<void> {
  for (const [state, keptForMs] of Object.entries(keptMs)) {
    const beforeMs = nowMs - keptForMs
    for (;;) {
      const old = await findOld(database, state, beforeMs)
      if (old.length === 0) break
      for (const message of old) await removeCopy(message)
      const ids = old.map(({ id }) => id)
      await database.write((db) =>
        db
          .deleteFrom('messages')
          .where('id', 'in', ids)
          .where('state', '=', state) // keeps a message that was restarted meanwhile
          .where('ended_ms', '<', beforeMs)
          .execute(),
      )
    }
  }
}

export interface MessageCount {
  state: string
  count: number
}

/** Counts the e-mails of all groups by state. */
export async function countMessages({ read, readLong }: Database<ContentTables>): Promise<MessageCount[]> {
  const { sql, parameters } = read
    .selectFrom('messages')
    .select(['state', ({ fn }) => fn.countAll<number>().as('count')])
    .groupBy('state')
    .compile()
  return readLong(sql, parameters)
}
