import { hash } from 'node:crypto'
import { sql, type Transaction } from 'kysely'
import { addressKey } from '../../../content/email.ts'
import { inBatches } from '../../engine/database.ts'
import { type Migration, textType } from '../migrate.ts'

interface ObjectsOfThen {
  objects: { id: string; container_id: string; archived: number; publish_ms: number; value: string }
  object_fields: {
    object_id: string
    field: string
    filter_key: string
    sort_key: string | null
    container_id: string
    archived: number
    publish_ms: number
  }
}

/** Adds the objects' `email` to the index. */
async function indexAddresses(db: Transaction<ObjectsOfThen>): Promise<void> {
  const objectsPerStep = 200
  for (let after = ''; ; ) {
    const objects = await db
      .selectFrom('objects')
      .select(['id', 'container_id', 'archived', 'publish_ms', 'value'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(objectsPerStep)
      .execute()
    const rows = objects.flatMap(({ id, value, ...row }) => {
      const { email } = JSON.parse(value) as { email?: unknown }
      if (typeof email !== 'string' || email === '') return []
      const key = addressKey(email)
      const filterKey = Buffer.byteLength(key) <= 200 ? `=${key}` : `#${hash('sha256', key)}`
      return [{ ...row, object_id: id, field: '@email', filter_key: filterKey, sort_key: null }]
    })
    for (const batch of inBatches(rows)) await db.insertInto('object_fields').values(batch).execute()
    const last = objects.at(-1)
    if (!last) return
    after = last.id
  }
}

/** Adds the outbox, quotas and pending notices. */
export const addMail: Migration['up'] = async (db, engine) => {
  const text = textType(engine)

  await db.schema
    .createTable('messages')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('group_id', text, (column) => column.notNull())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('state', text, (column) => column.notNull())
    .addColumn('recipient', text, (column) => column.notNull())
    .addColumn('reply_to', text)
    .addColumn('subject', text, (column) => column.notNull())
    .addColumn('content', text, (column) => column.notNull())
    .addColumn('message_id', text, (column) => column.notNull())
    .addColumn('job_id', text, (column) => column.notNull())
    .addColumn('problem', text)
    .addColumn('created_ms', 'bigint', (column) => column.notNull())
    .addColumn('ended_ms', 'bigint')
    .execute()
  await db.schema.createIndex('messages_of_group').on('messages').columns(['group_id', 'id']).execute()
  await db.schema
    .createIndex('messages_of_group_by_recipient')
    .on('messages')
    .columns(['group_id', 'recipient', 'id'])
    .execute()
  await db.schema
    .createIndex('messages_of_group_by_state')
    .on('messages')
    .columns(['group_id', 'state', 'id'])
    .execute()
  await db.schema
    .createIndex('messages_by_end')
    .on('messages')
    .columns(['state', 'ended_ms'])
    .where(sql.ref('ended_ms'), 'is not', null)
    .execute()

  await db.schema
    .createTable('suppressions')
    .addColumn('group_id', text, (column) => column.notNull())
    .addColumn('address', text, (column) => column.notNull())
    .addColumn('reason', text, (column) => column.notNull())
    .addColumn('created_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('suppressions_key', ['group_id', 'address'])
    .execute()

  await db.schema
    .createTable('mail_servers')
    .addColumn('group_id', text, (column) => column.primaryKey())
    .addColumn('from_address', text, (column) => column.notNull())
    .addColumn('host', text, (column) => column.notNull())
    .addColumn('port', 'integer', (column) => column.notNull())
    .addColumn('tls', text, (column) => column.notNull())
    .addColumn('updated_ms', 'bigint', (column) => column.notNull())
    .execute()

  await db.schema
    .createTable('tallies')
    .addColumn('group_id', text, (column) => column.notNull())
    .addColumn('subject', text, (column) => column.notNull())
    .addColumn('start_ms', 'bigint', (column) => column.notNull())
    .addColumn('end_ms', 'bigint', (column) => column.notNull())
    .addColumn('count', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('tallies_key', ['group_id', 'subject', 'start_ms'])
    .execute()
  await db.schema.createIndex('tallies_by_end').on('tallies').columns(['end_ms']).execute()

  await db.schema
    .createTable('awaited_notices')
    .addColumn('group_id', text, (column) => column.notNull())
    .addColumn('site_id', text, (column) => column.notNull())
    .addColumn('object_id', text, (column) => column.notNull().references('objects.id').onDelete('cascade'))
    .addPrimaryKeyConstraint('awaited_notices_key', ['group_id', 'site_id', 'object_id'])
    .execute()
  await db.schema.createIndex('awaited_notices_of_object').on('awaited_notices').columns(['object_id']).execute()

  await indexAddresses(db as Transaction<ObjectsOfThen>)
}
