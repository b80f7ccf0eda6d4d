import { textType } from '../column-types.ts'
import type { Migration } from '../migrate.ts'

export const controlMigrations: readonly Migration[] = [
  {
    name: 'groups and api keys',
    async up(db, engine) {
      const text = textType(engine)
      await db.schema
        .createTable('groups')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('name', text, (column) => column.notNull())
        .addColumn('tier', text, (column) => column.notNull())
        .addColumn('frozen', 'integer', (column) => column.notNull())
        .addColumn('database_name', text, (column) => column.notNull())
        .addColumn('bucket_name', text, (column) => column.notNull())
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .execute()
      await db.schema
        .createTable('api_keys')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('group_id', text, (column) => column.notNull().references('groups.id'))
        .addColumn('label', text, (column) => column.notNull())
        .addColumn('prefix', text, (column) => column.notNull())
        .addColumn('secret_hash', text, (column) => column.notNull().unique())
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('revoked_ms', 'bigint')
        .execute()
      await db.schema.createIndex('api_keys_of_group').on('api_keys').columns(['group_id', 'id']).execute()
    },
  },
]
