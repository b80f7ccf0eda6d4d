import type { Transaction } from 'kysely'
import type { Migration } from '../migrate.ts'

/** The publish date of objects without one, when this step was written. */
const unsetMs = -8_640_000_000_000_000

interface TablesOfThen {
  objects: {
    id: string
    group_id: string
    archived: number
    publish_ms: number
    created_ms: number
    review: string | null
  }
  object_fields: { object_id: string; publish_ms: number }
  changes: { group_id: string; subject_id: string; type: string; at_ms: number }
  group_revisions: { group_id: string; revision: number }
}

/**
 * Sets the publish date of visible submissions to the time at which they first became visible, as for new ones: from the
 * change log, else the time of creation. Dates set by editors and submissions that never were visible stay unchanged.
 */
export const dateSubmissions: Migration['up'] = async (given) => {
  const db = given as Transaction<TablesOfThen>
  const seen = db
    .selectFrom('objects')
    .where('review', 'is not', null)
    .where('archived', '=', 0)
    .where('publish_ms', '=', unsetMs)
  await db
    .updateTable('group_revisions')
    .set(({ eb }) => ({ revision: eb('revision', '+', 1) }))
    .where('group_id', 'in', seen.select('group_id'))
    .execute()
  await db
    .updateTable('objects')
    .set(({ fn, ref, selectFrom }) => {
      const firstSeen = selectFrom('changes')
        .select((eb) => eb.fn.min('at_ms').as('at_ms'))
        .whereRef('changes.group_id', '=', 'objects.group_id')
        .whereRef('changes.subject_id', '=', 'objects.id')
        .where('changes.type', '=', 'content.published')
      return { publish_ms: fn.coalesce(firstSeen, ref('objects.created_ms')) }
    })
    .where('id', 'in', seen.select('id'))
    .execute()
  const dated = db
    .selectFrom('objects')
    .where('review', 'is not', null)
    .where('archived', '=', 0)
    .where('publish_ms', '<>', unsetMs)
  await db
    .updateTable('object_fields')
    .set({
      publish_ms: (eb) =>
        eb.selectFrom('objects').select('objects.publish_ms').whereRef('objects.id', '=', 'object_fields.object_id'),
    })
    .where('publish_ms', '=', unsetMs)
    .where('object_id', 'in', dated.select('id'))
    .execute()
}
