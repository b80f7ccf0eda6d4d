import type { RecordedChange } from '../schema/tables.ts'
import type { GroupStore, Store } from '../store.ts'

/** An entry of the audit log: a change of a group's content, or of groups, keys and people. */
export interface AuditEntry {
  /** Only for changes of content. */
  seq: number | null
  atMs: number
  type: string
  verb: string
  subjectId: string
  version: number | null
  actorId: string | null
  actorName: string
  address: string
  note: string
}

export interface AuditQuery {
  subjectId?: string | undefined
  actorId?: string | undefined
  limit: number
  skip: number
}

export interface AuditPage {
  entries: AuditEntry[]
  totalCount: number
}

function conditionsOf(groupId: string | null, { subjectId, actorId }: AuditQuery) {
  return {
    ...(groupId !== null && { group_id: groupId }),
    ...(subjectId !== undefined && { subject_id: subjectId }),
    ...(actorId !== undefined && { actor_id: actorId }),
  }
}

const toEntry = (row: RecordedChange & { seq?: number; version?: number | null }): AuditEntry => ({
  seq: row.seq ?? null,
  atMs: row.at_ms,
  type: row.type,
  verb: row.verb,
  subjectId: row.subject_id,
  version: row.version ?? null,
  actorId: row.actor_id,
  actorName: row.actor_name,
  address: row.address,
  note: row.note,
})

/** Changes of groups, keys and people, newest first; of one group or of all. */
export async function listControlAudit(store: Store, groupId: string | null, query: AuditQuery): Promise<AuditPage> {
  const matching = store.control.read.selectFrom('changes').where((eb) => eb.and(conditionsOf(groupId, query)))
  const { total } = await matching.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const rows = await matching.selectAll().orderBy('id', 'desc').limit(query.limit).offset(query.skip).execute()
  return { entries: rows.map(toEntry), totalCount: Number(total) }
}

async function listContentAudit({ groupId, database }: GroupStore, query: AuditQuery): Promise<AuditPage> {
  const matching = database.read.selectFrom('changes').where((eb) => eb.and(conditionsOf(groupId, query)))
  const { total } = await matching.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const rows = await matching.selectAll().orderBy('seq', 'desc').limit(query.limit).offset(query.skip).execute()
  return { entries: rows.map(toEntry), totalCount: Number(total) }
}

/** All changes of a group, newest first, merged from two databases. */
export async function listGroupAudit(store: Store, group: GroupStore, query: AuditQuery): Promise<AuditPage> {
  const first = { ...query, skip: 0, limit: query.skip + query.limit }
  const [control, content] = [await listControlAudit(store, group.groupId, first), await listContentAudit(group, first)]
  return {
    entries: mergeNewestFirst(control.entries, content.entries).slice(query.skip, query.skip + query.limit),
    totalCount: control.totalCount + content.totalCount,
  }
}

/** Each log keeps its order even if a clock was set back, so that every entry is on exactly one page. */
function mergeNewestFirst(control: readonly AuditEntry[], content: readonly AuditEntry[]): AuditEntry[] {
  const merged: AuditEntry[] = []
  let next = 0
  for (const entry of content) {
    for (let other = control[next]; other && other.atMs > entry.atMs; other = control[next]) {
      merged.push(other)
      next += 1
    }
    merged.push(entry)
  }
  return [...merged, ...control.slice(next)]
}
