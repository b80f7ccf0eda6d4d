import assert from 'node:assert/strict'
import { compareSortKeys } from '../../src/content/filters.ts'
import { draftPublishMs } from '../../src/content/model.ts'
import type { ObjectFieldRow, RangeTotalRow } from '../../src/store/schema/tables.ts'
import type { GroupStore } from '../../src/store/store.ts'

type Place = [key: string, id: string]

const compare = ([key, id]: Place, [otherKey, otherId]: Place): number =>
  compareSortKeys(key, otherKey) || compareSortKeys(id, otherId)

const isLive = ({ archived, publish_ms, sort_key }: ObjectFieldRow): boolean =>
  archived === 0 && publish_ms !== draftPublishMs && sort_key !== null

/** The buckets of a container, sorted by field and place. */
export async function readBuckets({ database }: GroupStore, containerId: string): Promise<RangeTotalRow[]> {
  const rows = await database.read
    .selectFrom('range_totals')
    .selectAll()
    .where('container_id', '=', containerId)
    .execute()
  const placeOf = ({ lower_key, lower_id }: RangeTotalRow): Place => [lower_key, lower_id]
  return rows.toSorted((one, other) => compareSortKeys(one.field, other.field) || compare(placeOf(one), placeOf(other)))
}

/** Asserts that the totals of a container's buckets equal recounted ones, and that every live object is in a bucket. */
export async function assertRangesAreRight(group: GroupStore, containerId: string): Promise<void> {
  const buckets = Map.groupBy(await readBuckets(group, containerId), ({ field }) => field)
  const entries = await group.database.read
    .selectFrom('object_fields')
    .selectAll()
    .where('container_id', '=', containerId)
    .execute()
  const places = Map.groupBy(entries.filter(isLive), ({ field }) => field)
  for (const field of new Set([...buckets.keys(), ...places.keys()])) {
    const ofField = buckets.get(field) ?? []
    assert.deepEqual([ofField[0]?.lower_key, ofField[0]?.lower_id], ['', ''], `${field} has a first bucket`)
    const recounted = ofField.map(({ lower_key, lower_id, total }, at) => {
      const end = ofField[at + 1]
      const inside = (places.get(field) ?? []).filter(({ sort_key, object_id }) => {
        const place: Place = [sort_key ?? '', object_id]
        return compare(place, [lower_key, lower_id]) >= 0 && (!end || compare(place, [end.lower_key, end.lower_id]) < 0)
      })
      return { field, lower_key, lower_id, total: total === null && at === ofField.length - 1 ? null : inside.length }
    })
    assert.deepEqual(
      ofField.map(({ container_id, ...bucket }) => bucket),
      recounted,
    )
  }
}
