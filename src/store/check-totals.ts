import { sql } from 'kysely'
import { draftPublishMs } from '../content/model.ts'
import { type Authoring, writeContent } from './changes.ts'
import { findContainerById } from './containers.ts'
import { type Database, tableOf } from './database.ts'
import type { GroupStore } from './groups.ts'
import { mediaField } from './media-uses.ts'
import { type Trigger, totalTriggers } from './migrations/content-totals.ts'
import { usageTriggers } from './migrations/content-usage.ts'
import { emailField } from './objects.ts'
import type { ContentTables } from './tables.ts'

/** The name under which a container is counted as a whole. */
const wholeContainer = ''
/** No client filters by these, so they are not counted. */
const uncountedFields = [mediaField, emailField]

/** The fields that a container's objects have or had, asked for one after the other: by the index, however many rows. */
async function fieldsIn({ database }: GroupStore, table: 'object_fields' | 'totals', containerId: string) {
  const fields: string[] = []
  for (let last = wholeContainer; ; ) {
    const { next } = await database.read
      .selectFrom(table)
      .select(({ fn }) => fn.min('field').as('next'))
      .where('container_id', '=', containerId)
      .where('field', '>', last)
      .executeTakeFirstOrThrow()
    if (next === null) return fields
    fields.push(next)
    last = next
  }
}

/** What the totals of one field should be, counted now. */
function countAnew({ database }: GroupStore, containerId: string, field: string) {
  const live = sql`archived = 0 and publish_ms <> ${sql.lit(draftPublishMs)}`
  return field === wholeContainer
    ? sql`select '' as filter_key, count(*) as total from ${tableOf(database, 'objects')}
        where container_id = ${containerId} and ${live} having count(*) > 0`
    : sql`select filter_key, count(*) as total from ${tableOf(database, 'object_fields')}
        where container_id = ${containerId} and field = ${field} and ${live} group by filter_key`
}

/** Whether a field's totals are others than those that are kept; both are of the same moment. */
async function isMiscounted(group: GroupStore, containerId: string, field: string): Promise<boolean> {
  const { database } = group
  const { rows } = await sql`
    select 1 from (
      select filter_key, total from ${tableOf(database, 'totals')} where container_id = ${containerId} and field = ${field}
      union all
      select filter_key, -total from (${countAnew(group, containerId, field)}) as counted
    ) as both_counts group by filter_key having sum(total) <> 0 limit 1`.execute(database.read)
  return rows.length > 0
}

/** The fields of a container whose totals are wrong; the empty one is the container as a whole. A field at a time. */
export async function findMiscountedFields(
  group: GroupStore,
  containerId: string,
  onCounted: (field: string) => void,
): Promise<string[]> {
  const indexed = await fieldsIn(group, 'object_fields', containerId)
  const kept = await fieldsIn(group, 'totals', containerId)
  const fields = new Set([wholeContainer, ...indexed, ...kept]).difference(new Set(uncountedFields))
  const miscounted: string[] = []
  for (const field of fields) {
    if (await isMiscounted(group, containerId, field)) miscounted.push(field)
    onCounted(field)
  }
  return miscounted
}

/** Counts one field of a container anew, where it still differs, in one transaction. Answers whether it did. */
export function recountField(
  outside: GroupStore,
  containerId: string,
  field: string,
  authoring: Authoring,
): Promise<boolean> {
  return writeContent(outside, authoring, async (writer) => {
    const { db, group } = writer
    const container = await findContainerById(group, containerId)
    if (!container || !(await isMiscounted(group, containerId, field))) return false
    await db.deleteFrom('totals').where('container_id', '=', containerId).where('field', '=', field).execute()
    await sql`insert into ${tableOf(group.database, 'totals')} (container_id, field, filter_key, total)
      select ${containerId}, ${field}, filter_key, total from (${countAnew(group, containerId, field)}) as counted
    `.execute(db)
    const { id, kind, version } = container
    const note = field === wholeContainer ? 'objects counted anew' : `objects counted anew by ${field}`
    writer.record({ type: `${kind}.updated`, subjectId: id, version, note })
    writer.touch()
    return true
  })
}

/** Without these nothing is counted any more. */
export async function findMissingTriggers({ read, schemaName }: Database<ContentTables>): Promise<Trigger[]> {
  const query =
    schemaName === undefined
      ? sql<{ name: string }>`select name from sqlite_master where type = 'trigger'`
      : sql<{
          name: string
        }>`select trigger_name as name from information_schema.triggers where trigger_schema = ${schemaName}`
  const present = new Set((await query.execute(read)).rows.map(({ name }) => name))
  return [...totalTriggers(schemaName), ...usageTriggers(schemaName)].filter(({ name }) => !present.has(name))
}

export async function makeTriggers({ write }: Database<ContentTables>, triggers: readonly Trigger[]): Promise<void> {
  await write(async (db) => {
    for (const statement of triggers.flatMap(({ statements }) => statements)) await sql.raw(statement).execute(db)
  })
}
