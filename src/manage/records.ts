import { maxLimit } from '../content/list-query.ts'
import { toIso } from '../content/moments.ts'
import { limitParameter } from '../http/parameters.ts'
import { type AuditEntry, listControlAudit, listGroupAudit } from '../store/audit.ts'
import { contentChangeTypes } from '../store/changes.ts'
import { listEvents } from '../store/events.ts'
import { Type } from '../type.ts'
import { id, listOf, orNull } from './shapes.ts'
import { defineGroupVerb, defineServiceVerb } from './verb.ts'

const entryShape = Type.Object({
  at: Type.String(),
  what: Type.String({ description: 'The verb, such as object.publish.' }),
  type: Type.String({ description: 'What became of it, such as content.updated.' }),
  subjectId: Type.String(),
  version: orNull(Type.Integer()),
  actorId: orNull(Type.String()),
  actor: Type.String(),
  from: Type.String({ description: 'The address the request came from.' }),
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
  subjectId: Type.Optional(id('Only what was done to this object, site, collection, account, order, key or user.')),
  actorId: Type.Optional(id('Only what this user did.')),
  limit: limitParameter,
  skip: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 10_000, default: 0, description: 'How many to leave out first.' }),
  ),
}
const columns = ['at', 'actor', 'what', 'type', 'subjectId', 'note', 'from']

const eventShape = Type.Object({
  seq: Type.Integer({ description: 'Numbers of a group’s events grow by one; send the last as `since`.' }),
  type: Type.Enum([...contentChangeTypes]),
  at: Type.String(),
  subjectId: Type.String({ description: 'The object, collection, site, file, account, order, job or preview link.' }),
  containerId: orNull(Type.String()),
  version: orNull(Type.Integer()),
  actor: Type.String({ description: '`schedule` where only time has passed.' }),
  note: Type.String(),
})

export const recordVerbs = [
  defineGroupVerb({
    name: 'audit list',
    summary: 'Show who did what in a group, when and from where, newest first',
    needs: 'owner',
    route: 'GET /manage/groups/:groupId/audit',
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
    summary: 'Show what was done to groups, keys and people, newest first',
    needs: 'administrator',
    route: 'GET /manage/audit',
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
      'Every change appends to it in its own transaction, and a scheduled object at its moment. Read on from the last `seq` that you have.',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/events',
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
      lastSeq: Type.Integer({ description: 'The newest number there is.' }),
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
