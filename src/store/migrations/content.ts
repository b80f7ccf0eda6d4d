import { sql } from 'kysely'
import { textType } from '../column-types.ts'
import type { Migration } from '../migrate.ts'

export const contentMigrations: readonly Migration[] = [
  {
    name: 'sites, containers, objects and their index',
    async up(db, engine) {
      const text = textType(engine)
      await db.schema
        .createTable('sites')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('group_id', text, (column) => column.notNull())
        .addColumn('name', text, (column) => column.notNull())
        .addColumn('domain_name', text, (column) => column.notNull())
        .addColumn('settings', text, (column) => column.notNull())
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('updated_ms', 'bigint', (column) => column.notNull())
        .execute()
      await db.schema.createIndex('sites_of_group').on('sites').columns(['group_id', 'id']).execute()

      await db.schema
        .createTable('containers')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('group_id', text, (column) => column.notNull())
        .addColumn('kind', text, (column) => column.notNull())
        .addColumn('name', text, (column) => column.notNull())
        .addColumn('schema', text, (column) => column.notNull())
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('updated_ms', 'bigint', (column) => column.notNull())
        .execute()
      await db.schema
        .createIndex('containers_by_name')
        .unique()
        .on('containers')
        .columns(['group_id', 'kind', 'name'])
        .execute()

      await db.schema
        .createTable('objects')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('group_id', text, (column) => column.notNull())
        .addColumn('container_id', text, (column) => column.notNull().references('containers.id'))
        .addColumn('external_id', text)
        .addColumn('account_handle', text, (column) => column.notNull())
        .addColumn('publish_ms', 'bigint', (column) => column.notNull())
        .addColumn('archived', 'integer', (column) => column.notNull())
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('updated_ms', 'bigint', (column) => column.notNull())
        .addColumn('value', text, (column) => column.notNull())
        .addColumn('search_text', text, (column) => column.notNull())
        .execute()
      // Totals, and the order by publish date.
      await db.schema
        .createIndex('objects_by_publish')
        .on('objects')
        .columns(['container_id', 'archived', 'publish_ms', 'id'])
        .execute()
      await db.schema
        .createIndex('objects_by_id')
        .on('objects')
        .columns(['container_id', 'id', 'archived', 'publish_ms'])
        .execute()
      await db.schema
        .createIndex('objects_by_created')
        .on('objects')
        .columns(['container_id', 'created_ms', 'id', 'archived', 'publish_ms'])
        .execute()
      await db.schema
        .createIndex('objects_by_updated')
        .on('objects')
        .columns(['container_id', 'updated_ms', 'id', 'archived', 'publish_ms'])
        .execute()
      // A product once for each account; rows of collections have no external id and are not bound by it.
      await db.schema
        .createIndex('objects_by_external_id')
        .unique()
        .on('objects')
        .columns(['container_id', 'account_handle', 'external_id'])
        .execute()

      await db.schema
        .createTable('object_fields')
        .addColumn('object_id', text, (column) => column.notNull().references('objects.id').onDelete('cascade'))
        .addColumn('field', text, (column) => column.notNull())
        .addColumn('filter_key', text, (column) => column.notNull())
        .addColumn('sort_key', text)
        .addColumn('container_id', text, (column) => column.notNull())
        .addColumn('archived', 'integer', (column) => column.notNull())
        .addColumn('publish_ms', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('object_fields_key', ['object_id', 'field', 'filter_key'])
        .$call((table) => (engine === 'sqlite' ? table.modifyEnd(sql`without rowid`) : table))
        .execute()
      await db.schema
        .createIndex('object_fields_by_filter')
        .on('object_fields')
        .columns(['container_id', 'field', 'filter_key', 'archived', 'publish_ms', 'object_id'])
        .execute()
      await db.schema
        .createIndex('object_fields_by_sort')
        .on('object_fields')
        .columns(['container_id', 'field', 'sort_key', 'object_id', 'archived', 'publish_ms'])
        .execute()

      await db.schema
        .createTable('preview_tokens')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('group_id', text, (column) => column.notNull())
        .addColumn('object_id', text, (column) => column.notNull().references('objects.id').onDelete('cascade'))
        .addColumn('secret_hash', text, (column) => column.notNull().unique())
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('expires_ms', 'bigint', (column) => column.notNull())
        .addColumn('max_uses', 'integer')
        .addColumn('uses', 'integer', (column) => column.notNull().defaultTo(0))
        .addColumn('revoked_ms', 'bigint')
        .execute()
      await db.schema
        .createIndex('preview_tokens_of_object')
        .on('preview_tokens')
        .columns(['object_id', 'id'])
        .execute()

      await db.schema
        .createTable('group_revisions')
        .addColumn('group_id', text, (column) => column.primaryKey())
        .addColumn('revision', 'bigint', (column) => column.notNull())
        .execute()
    },
  },
]
