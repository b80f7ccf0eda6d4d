import { maxLimit } from '../content/list-query.ts'
import { toIso } from '../content/moments.ts'
import { Type } from '../core/type.ts'
import { limitParameter } from '../http/query.ts'
import { contentChangeTypes, listEvents } from '../store/content/changes.ts'
import { type AuditEntry, listControlAudit, listGroupAudit } from '../store/control/audit.ts'
import { id, listOf, orNull } from './shapes.ts'
import { defineGroupVerb, defineServiceVerb } from './verb.ts'

const entryShape = Type.Object({
  at: Type.String(),
  what: Type.String({ description: 'The verb, such as object.publish.' }),
  type: Type.String({ description: 'The kind of change, such as content.updated.' }),
  subjectId: Type.String(),
  version: orNull(Type.Integer()),
  actorId: orNull(Type.String()),
  actor: Type.String(),
  from: Type.String({ description: 'The address of the client.' }),
  note: Type.String(),
})

const showEntry = (entry: AuditEntry) => ({
  at: toIso(entry.atMs),
  what: entry.verb,
  type: entry.type,
  subjectId: entry.subjectId,
  version: entry.version,
  actorId: entry.actorId,
  actor: entry.actorName,
  from: entry.address,
  note: entry.note,
})

const query = {
  subjectId: Type.Optional(id('Only changes of this object, site, collection, account, order, key or user.')),
  actorId: Type.Optional(id('Only changes by this user.')),
  limit: limitParameter,
  skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, default: 0, description: 'How many to skip.' })),
}
const columns = ['at', 'actor', 'what', 'type', 'subjectId', 'note', 'from']

const eventShape = Type.Object({
  seq: Type.Integer({
    description: 'The number of the event, which grows by one within a group; send the last one as `since`.',
  }),
  type: Type.Enum([...contentChangeTypes]),
  at: Type.String(),
  subjectId: Type.String({ description: 'The object, collection, site, file, account, order, job or preview link.' }),
  containerId: orNull(Type.String()),
  version: orNull(Type.Integer()),
  actor: Type.String({ description: '`schedule` for a scheduled publication.' }),
  note: Type.String(),
})

export const recordVerbs = [
  defineGroupVerb({
    name: 'audit list',
    summary: 'Show the audit record of a group, newest first',
    input: query,
    answer: listOf(entryShape),
    columns,
    async run({ ctx, input }) {
      const { entries, totalCount } = await listGroupAudit(ctx.store, ctx.content, {
        limit: maxLimit,
        skip: 0,
        ...input,
      })
      return { items: entries.map(showEntry), totalCount }
    },
  }),
  defineServiceVerb({
    name: 'audit list-all',
    summary: 'Show the audit record of groups, keys and users, newest first',
    input: query,
    answer: listOf(entryShape),
    columns,
    async run({ ctx, input }) {
      const { entries, totalCount } = await listControlAudit(ctx.store, null, { limit: maxLimit, skip: 0, ...input })
      return { items: entries.map(showEntry), totalCount }
    },
  }),
  defineGroupVerb({
    name: 'event list',
    summary: 'Read the feed of changes, oldest first',
    description:
      'Every change appends an event in its own transaction; a scheduled object appends one when it becomes visible. Continue from the last `seq` that you have.',
    input: {
      since: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 9_007_199_254_740_991,
          default: 0,
          description: 'Only events after this number.',
        }),
      ),
      limit: limitParameter,
    },
    answer: Type.Object({
      items: Type.Array(eventShape),
      lastSeq: Type.Integer({ description: 'The number of the newest event.' }),
    }),
    columns: ['seq', 'at', 'type', 'subjectId', 'actor', 'note'],
    async run({ ctx, input }) {
      const { since = 0, limit = maxLimit } = input
      const { events, lastSeq } = await listEvents(ctx.content, { since, limit }, ctx.nowMs)
      const items = events.map((event) => ({
        seq: event.seq,
        type: event.type,
        at: toIso(event.at_ms),
        subjectId: event.subject_id,
        containerId: event.container_id,
        version: event.version,
        actor: event.actor_name,
        note: event.note,
      }))
      return { items, lastSeq }
    },
  }),
]
