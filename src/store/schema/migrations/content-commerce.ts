import { type CreateTableBuilder, sql } from 'kysely'
import { type Migration, textType } from '../migrate.ts'

/** Adds payment integrations, the mirrored catalogue, and orders. */
export const addCommerce: Migration['up'] = async (db, engine) => {
  const text = textType(engine)

  const columns = {
    text: (names: readonly string[]) => (table: CreateTableBuilder<string, string>) =>
      names.reduce((built, name) => built.addColumn(name, text, (column) => column.notNull()), table),
    count: (names: readonly string[]) => (table: CreateTableBuilder<string, string>) =>
      names.reduce((built, name) => built.addColumn(name, 'bigint', (column) => column.notNull()), table),
  }

  await db.schema
    .createTable('secrets')
    .$call(columns.text(['group_id', 'subject_id', 'field', 'sealed']))
    .$call(columns.count(['created_ms']))
    .addPrimaryKeyConstraint('secrets_key', ['group_id', 'subject_id', 'field'])
    .execute()

  await db.schema
    .createTable('integrations')
    .addColumn('id', text, (column) => column.primaryKey())
    .$call(columns.text(['group_id', 'type', 'account_handle', 'status', 'account_id', 'account_name']))
    .addColumn('sandbox', 'integer', (column) => column.notNull())
    .addColumn('live', 'integer', (column) => column.notNull())
    .addColumn('webhook_id', text)
    .addColumn('catalogue_seq', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('removed_seq', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('walk', text)
    .addColumn('last_sync', text)
    .addColumn('synced_ms', 'bigint')
    .addColumn('last_event_ms', 'bigint')
    .addColumn('version', 'integer', (column) => column.notNull().defaultTo(1))
    .$call(columns.count(['created_ms', 'updated_ms']))
    .execute()
  await db.schema
    .createIndex('integrations_by_account')
    .unique()
    .on('integrations')
    .columns(['group_id', 'type', 'account_handle'])
    .execute()

  await db.schema
    .createTable('catalogue_products')
    .$call(columns.text(['integration_id', 'product_id', 'group_id', 'object_key', 'data']))
    .addColumn('picture_hash', text)
    .$call(columns.count(['seq', 'walk']))
    .addPrimaryKeyConstraint('catalogue_products_key', ['integration_id', 'product_id'])
    .execute()
  await db.schema
    .createIndex('catalogue_products_by_object')
    .on('catalogue_products')
    .columns(['integration_id', 'object_key'])
    .execute()
  await db.schema
    .createIndex('catalogue_products_by_picture')
    .on('catalogue_products')
    .columns(['integration_id', 'picture_hash', 'object_key'])
    .execute()
  await db.schema
    .createTable('catalogue_prices')
    .$call(columns.text(['integration_id', 'price_id', 'group_id', 'product_id', 'data']))
    .$call(columns.count(['seq', 'walk']))
    .addPrimaryKeyConstraint('catalogue_prices_key', ['integration_id', 'price_id'])
    .execute()
  await db.schema
    .createIndex('catalogue_prices_by_product')
    .on('catalogue_prices')
    .columns(['integration_id', 'product_id'])
    .execute()
  // A checkout names prices without their account.
  await db.schema
    .createIndex('catalogue_prices_of_group')
    .on('catalogue_prices')
    .columns(['group_id', 'price_id'])
    .execute()

  await db.schema
    .createTable('catalogue_objects')
    .addColumn('object_id', text, (column) => column.primaryKey().references('objects.id').onDelete('cascade'))
    .$call(columns.text(['group_id', 'integration_id', 'origin']))
    .execute()
  await db.schema
    .createIndex('catalogue_objects_of_integration')
    .on('catalogue_objects')
    .columns(['integration_id', 'object_id'])
    .execute()
  await db.schema
    .createTable('catalogue_pictures')
    .$call(columns.text(['group_id', 'url_hash', 'url']))
    .addColumn('media_id', text)
    .addColumn('problem', text)
    .addPrimaryKeyConstraint('catalogue_pictures_key', ['group_id', 'url_hash'])
    .execute()

  await db.schema
    .createTable('provider_events')
    .$call(columns.text(['integration_id', 'event_id', 'group_id']))
    .$call(columns.count(['received_ms']))
    .addPrimaryKeyConstraint('provider_events_key', ['integration_id', 'event_id'])
    .execute()
  await db.schema.createIndex('provider_events_by_age').on('provider_events').columns(['received_ms']).execute()

  await db.schema
    .createTable('orders')
    .addColumn('id', text, (column) => column.primaryKey())
    .$call(columns.text(['group_id', 'type', 'account_handle', 'session_id', 'status', 'data']))
    .$call(columns.count(['created_ms', 'updated_ms']))
    .execute()
  await db.schema
    .createIndex('orders_by_session')
    .unique()
    .on('orders')
    .columns(['group_id', 'type', 'session_id'])
    .execute()
  await db.schema.createIndex('orders_of_group').on('orders').columns(['group_id', 'created_ms', 'id']).execute()

  await db.schema
    .createTable('idempotency_keys')
    .$call(columns.text(['group_id', 'endpoint', 'key_hash', 'body_hash', 'request']))
    .addColumn('answer', text)
    .$call(columns.count(['expires_ms']))
    .addPrimaryKeyConstraint('idempotency_keys_key', ['group_id', 'endpoint', 'key_hash'])
    .execute()
  await db.schema.createIndex('idempotency_keys_by_end').on('idempotency_keys').columns(['expires_ms']).execute()

  await db.schema
    .createTable('sandbox_objects')
    .$call(columns.text(['integration_id', 'id', 'group_id', 'kind', 'data']))
    .$call(columns.count(['seq', 'updated_ms']))
    .addPrimaryKeyConstraint('sandbox_objects_key', ['integration_id', 'id'])
    .execute()
  await db.schema
    .createIndex('sandbox_objects_by_kind')
    .on('sandbox_objects')
    .columns(['integration_id', 'kind', 'seq'])
    .execute()
  await db.schema.createIndex('sandbox_objects_by_age').on('sandbox_objects').columns(['kind', 'updated_ms']).execute()

  await db.schema.alterTable('jobs').addColumn('topic', text).execute()
  await db.schema
    .createIndex('jobs_by_topic')
    .on('jobs')
    .columns(['group_id', 'kind', 'topic'])
    .where(sql.ref('state'), '=', sql.lit('waiting'))
    .where(sql.ref('topic'), 'is not', null)
    .execute()
}
