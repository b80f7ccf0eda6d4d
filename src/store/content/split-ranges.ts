import { type ExpressionBuilder, sql, type Transaction } from 'kysely'
import { draftPublishMs } from '../../content/model.ts'
import { maxRangeTotal } from '../schema/migrations/content-ranges.ts'
import type { ContentTables, RangeTotalRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import { lockGroup } from './changes.ts'

/** Buckets split off in one transaction, for which all other writers wait. */
const splitsPerStep = 5

export interface BucketSizes {
  /** A bucket with this total is split; it must be larger than `entries`. */
  maxTotal: number
  /** Index entries in a part that is split off. */
  entries: number
}

const bucketSizes: BucketSizes = { maxTotal: maxRangeTotal, entries: maxRangeTotal / 2 }

type Db = Transaction<ContentTables>
type Bucket = Omit<RangeTotalRow, 'total'>
type Place = Pick<RangeTotalRow, 'lower_key' | 'lower_id'>

const keyOf = ({ container_id, field, lower_key, lower_id }: Bucket): Bucket => ({
  container_id,
  field,
  lower_key,
  lower_id,
})

const isFrom = ({ lower_key, lower_id }: Place) => sql<boolean>`(sort_key, object_id) >= (${lower_key}, ${lower_id})`
const isBefore = ({ lower_key, lower_id }: Place) => sql<boolean>`(sort_key, object_id) < (${lower_key}, ${lower_id})`

/** The entries of a bucket, in all states. */
function entriesOf(db: Db, bucket: Bucket, end: Place | undefined) {
  const { container_id, field } = bucket
  const ofField = (eb: ExpressionBuilder<ContentTables, 'object_fields'>) => eb.and({ container_id, field })
  const entries = db.selectFrom('object_fields').where(ofField).where(isFrom(bucket))
  return end ? entries.where(isBefore(end)) : entries
}

/** In the order of the index, so that PostgreSQL uses it even without statistics. */
async function countLive(db: Db, bucket: Bucket, end: Place | undefined): Promise<number> {
  const entries = entriesOf(db, bucket, end).select('object_id').orderBy('sort_key').orderBy('object_id')
  const { total } = await db
    .selectFrom(entries.where('archived', '=', 0).where('publish_ms', '<>', sql.lit(draftPublishMs)).as('live'))
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return Number(total)
}

async function findEnd(db: Db, { container_id, field, lower_key, lower_id }: Bucket): Promise<Place | undefined> {
  return db
    .selectFrom('range_totals')
    .select(['lower_key', 'lower_id'])
    .where((eb) => eb.and({ container_id, field }))
    .where(sql<boolean>`(lower_key, lower_id) > (${lower_key}, ${lower_id})`)
    .orderBy('lower_key')
    .orderBy('lower_id')
    .limit(1)
    .executeTakeFirst()
}

/** Splits off the first part of a bucket, and returns the rest; undefined if the bucket is small enough. */
async function split(db: Db, bucket: Bucket, { maxTotal, entries }: BucketSizes): Promise<Bucket | undefined> {
  const found = await db
    .selectFrom('range_totals')
    .select('total')
    .where((eb) => eb.and({ ...keyOf(bucket) }))
    .executeTakeFirst()
  if (!found || (found.total !== null && found.total < maxTotal)) return undefined
  const end = await findEnd(db, bucket)
  const place = await entriesOf(db, bucket, end)
    .select(['sort_key', 'object_id'])
    .orderBy('sort_key')
    .orderBy('object_id')
    .offset(entries)
    .limit(1)
    .executeTakeFirst()
  const next = place && { ...bucket, lower_key: place.sort_key ?? '', lower_id: place.object_id }
  const first = await countLive(db, bucket, next ?? end)
  const rest = found.total === null ? null : found.total - first
  // Not an update, so that a part without live objects stays.
  await db
    .deleteFrom('range_totals')
    .where((eb) => eb.and({ ...keyOf(bucket) }))
    .execute()
  await db
    .insertInto('range_totals')
    .values([{ ...bucket, total: first }, ...(next ? [{ ...next, total: rest }] : [])])
    .execute()
  return next
}

export interface SplitOptions extends Partial<BucketSizes> {
  nowMs: number
  signal?: AbortSignal
}

/** Splits a bucket a few times; returns what remains to be split. */
async function takeStep(db: Db, group: GroupStore, bucket: Bucket, options: BucketSizes & SplitOptions) {
  const { closed } = await lockGroup(db, group, options.nowMs)
  const container = await db
    .selectFrom('containers')
    .select('id')
    .where('id', '=', bucket.container_id)
    .where('group_id', '=', group.groupId)
    .executeTakeFirst()
  if (closed !== 0 || !container) return undefined
  let rest: Bucket | undefined = bucket
  for (let splits = 0; rest && splits < splitsPerStep; splits += 1) rest = await split(db, rest, options)
  return rest
}

/** The buckets of a container that are not yet counted, or have outgrown their size. */
function findLargeBuckets({ database }: GroupStore, containerId: string, { maxTotal }: BucketSizes): Promise<Bucket[]> {
  return database.read
    .selectFrom('range_totals')
    .select(['container_id', 'field', 'lower_key', 'lower_id'])
    .where('container_id', '=', containerId)
    .where((eb) => eb.or([eb('total', 'is', null), eb('total', '>=', maxTotal)]))
    .execute()
}

/** Splits the large buckets of a group in short transactions, so that other writers run in between. */
export async function splitRanges(group: GroupStore, given: SplitOptions): Promise<void> {
  const { database, groupId } = group
  const options = { ...bucketSizes, ...given }
  const containers = await database.read
    .selectFrom('containers')
    .select('id')
    .where('group_id', '=', groupId)
    .orderBy('id')
    .execute()
  for (const { id } of containers) {
    for (const bucket of await findLargeBuckets(group, id, options)) {
      let rest: Bucket | undefined = bucket
      while (rest) {
        options.signal?.throwIfAborted()
        const from: Bucket = rest
        rest = await database.write((db) => takeStep(db, group, from, options), groupId)
      }
    }
  }
}
