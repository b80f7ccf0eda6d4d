import { sql, type Transaction } from 'kysely'
import { draftPublishMs } from '../../content/model.ts'
import { type Authoring, type ContentWriter, writeContent } from '../content/changes.ts'
import { findContainerById } from '../content/containers.ts'
import { emailField } from '../content/objects.ts'
import { qualifiedTable } from '../engine/database.ts'
import { insertJob } from '../jobs/jobs.ts'
import { mediaField } from '../media/uses.ts'
import { splitRangesKind, splitRangesTopic } from '../schema/migrations/content-ranges.ts'
import { countedEntries } from '../schema/migrations/content-search.ts'
import { changeBytes, countedTables } from '../schema/migrations/content-usage.ts'
import type { ContentTables } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'

/** The field name for the total of a whole container. */
const wholeContainer = ''
/** Clients cannot filter by these, so they are not counted. */
const uncountedFields = [mediaField, emailField]

/** The distinct fields of a container, by a skip scan of the index: fast for any number of rows. */
async function fieldsIn(
  { database }: GroupStore,
  table: 'object_fields' | 'totals' | 'range_totals',
  containerId: string,
) {
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

/** The correct totals of a field. */
function countAnew({ database }: GroupStore, containerId: string, field: string) {
  const live = sql`archived = 0 and publish_ms <> ${sql.lit(draftPublishMs)}`
  return field === wholeContainer
    ? sql`select '' as filter_key, count(*) as total from ${qualifiedTable(database, 'objects')}
        where container_id = ${containerId} and ${live} having count(*) > 0`
    : sql`select filter_key, count(*) as total from ${qualifiedTable(database, 'object_fields')}
        where container_id = ${containerId} and field = ${field} and ${live} group by filter_key`
}

/** Compares stored and correct totals of a field in one statement. */
async function isFieldMiscounted(group: GroupStore, containerId: string, field: string): Promise<boolean> {
  const { database } = group
  const { rows } = await sql`
    select 1 from (
      select filter_key, total from ${qualifiedTable(database, 'totals')} where container_id = ${containerId} and field = ${field}
      union all
      select filter_key, -total from (${countAnew(group, containerId, field)}) as counted
    ) as both_counts group by filter_key having sum(total) <> 0 limit 1`.execute(database.read)
  return rows.length > 0
}

/** Compares the buckets of a field with the objects between their borders, in one statement. */
async function areRangesMiscounted({ database }: GroupStore, containerId: string, field: string): Promise<boolean> {
  const isOfField = sql`container_id = ${containerId} and field = ${field}`
  const { rows } = await sql`
    select 1 from (
      select lower_key, lower_id, total, lead(lower_key) over places as end_key, lead(lower_id) over places as end_id,
        row_number() over places as number
      from ${qualifiedTable(database, 'range_totals')} where ${isOfField}
      window places as (order by lower_key, lower_id)
    ) as bucket
    where (number = 1 and (lower_key <> '' or lower_id <> '')) or (total is null and end_key is not null)
      or total <> (
        select count(*) from ${qualifiedTable(database, 'object_fields')} as f
        where ${isOfField} and archived = 0 and publish_ms <> ${sql.lit(draftPublishMs)}
          and (f.sort_key, f.object_id) >= (bucket.lower_key, bucket.lower_id)
          and (bucket.end_key is null or (f.sort_key, f.object_id) < (bucket.end_key, bucket.end_id))
      )
    limit 1`.execute(database.read)
  return rows.length > 0
}

/** Makes one bucket of a field, to be split and counted by a job. */
async function resetRanges(writer: ContentWriter, containerId: string, field: string): Promise<void> {
  await writer.db
    .deleteFrom('range_totals')
    .where('container_id', '=', containerId)
    .where('field', '=', field)
    .execute()
  const first = { container_id: containerId, field, lower_key: '', lower_id: '', total: null }
  await writer.db.insertInto('range_totals').values(first).execute()
  await insertJob(writer, { kind: splitRangesKind, payload: {}, topic: splitRangesTopic })
}

const isMiscounted = async (...of: Parameters<typeof areRangesMiscounted>): Promise<boolean> =>
  (await isFieldMiscounted(...of)) || (await areRangesMiscounted(...of))

/** The fields of a container with wrong totals; the empty field is the whole container. */
export async function findMiscountedFields(
  group: GroupStore,
  containerId: string,
  onCounted: (field: string) => void,
): Promise<string[]> {
  const indexed = await fieldsIn(group, 'object_fields', containerId)
  const stored = await fieldsIn(group, 'totals', containerId)
  const ofRanges = await fieldsIn(group, 'range_totals', containerId)
  const fields = new Set([wholeContainer, ...indexed, ...stored, ...ofRanges]).difference(new Set(uncountedFields))
  const miscounted: string[] = []
  for (const field of fields) {
    if (await isMiscounted(group, containerId, field)) miscounted.push(field)
    onCounted(field)
  }
  return miscounted
}

/** Corrects the totals of a field if they are still wrong. Returns whether they were. */
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
    if (await areRangesMiscounted(group, containerId, field)) await resetRanges(writer, containerId, field)
    await db.deleteFrom('totals').where('container_id', '=', containerId).where('field', '=', field).execute()
    await sql`insert into ${qualifiedTable(group.database, 'totals')} (container_id, field, filter_key, total)
      select ${containerId}, ${field}, filter_key, total from (${countAnew(group, containerId, field)}) as counted
    `.execute(db)
    const { id, kind, version } = container
    const note = field === wholeContainer ? 'objects recounted' : `objects recounted by ${field}`
    writer.record({ type: `${kind}.updated`, subjectId: id, version, note })
    writer.bumpRevision()
    return true
  })
}

/** The correct values of a group's counters. */
export async function recountUsage({
  groupId,
  database,
}: GroupStore): Promise<Record<'database' | 'media' | 'changes', number>> {
  const counts = { database: 0, media: 0, changes: 0 }
  const ofGroup = sql`where group_id = ${groupId}`
  for (const counted of [...countedTables, countedEntries]) {
    const { rows } = await sql<{ in_database: number | null; in_media: number | null }>`
      select sum(${sql.raw(counted.database(''))}) as in_database, sum(${sql.raw(counted.media('', database.engine))}) as in_media
      from ${qualifiedTable(database, counted.table as keyof ContentTables)} ${ofGroup}`.execute(database.read)
    counts.database += Number(rows[0]?.in_database ?? 0)
    counts.media += Number(rows[0]?.in_media ?? 0)
  }
  const { rows } = await sql<{ bytes: number | null }>`
    select sum(${sql.raw(changeBytes)}) as bytes from ${qualifiedTable(database, 'changes')} ${ofGroup}`.execute(
    database.read,
  )
  counts.changes = Number(rows[0]?.bytes ?? 0)
  return counts
}

async function countsDiffer(group: GroupStore): Promise<boolean> {
  const { groupId, database } = group
  const stored = await database.read
    .selectFrom('group_usage')
    .select(['database_bytes', 'media_bytes'])
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  const revision = await database.read
    .selectFrom('group_revisions')
    .select('changes_bytes')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  const counted = await recountUsage(group)
  return (
    counted.database !== (stored?.database_bytes ?? 0) ||
    counted.media !== (stored?.media_bytes ?? 0) ||
    counted.changes !== (revision?.changes_bytes ?? 0)
  )
}

/** Compares stored and correct counters in one snapshot. */
export const isUsageMiscounted = (group: GroupStore): Promise<boolean> =>
  group.database.snapshot((read) => countsDiffer({ ...group, database: { ...group.database, read } }))

export const repairUsage = (outside: GroupStore, authoring: Authoring): Promise<void> =>
  writeContent(outside, authoring, ({ db, group }) => writeUsage(db, group))

async function writeUsage(db: Transaction<ContentTables>, group: GroupStore): Promise<void> {
  const { groupId } = group
  const counted = await recountUsage(group)
  const usage = { database_bytes: counted.database, media_bytes: counted.media }
  await db
    .insertInto('group_usage')
    .values({ group_id: groupId, ...usage })
    .onConflict((conflict) => conflict.column('group_id').doUpdateSet(usage))
    .execute()
  await db
    .updateTable('group_revisions')
    .set({ changes_bytes: counted.changes })
    .where('group_id', '=', groupId)
    .execute()
}
