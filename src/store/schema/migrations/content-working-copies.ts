import { sql } from 'kysely'
import { type Migration, textType } from '../migrate.ts'
import { workingCopyTriggers } from './content-usage.ts'

/**
 * Adds working copies, archive dates and previews of whole sites. Older servers know none of them; what they delete takes its
 * working copy with it.
 */
export const addWorkingCopies: Migration['up'] = async (db, engine, schemaName) => {
  const text = textType(engine)
  await db.schema
    .createTable('working_copies')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('group_id', text, (column) => column.notNull())
    .addColumn('object_id', text, (column) => column.references('objects.id').onDelete('cascade'))
    .addColumn('site_id', text, (column) => column.references('sites.id').onDelete('cascade'))
    .addColumn('container_id', text)
    .addColumn('value', text, (column) => column.notNull())
    .addColumn('base_value', text, (column) => column.notNull())
    .addColumn('base_version', 'integer', (column) => column.notNull())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addColumn('media_keys', text, (column) => column.notNull())
    .addColumn('due_ms', 'bigint')
    .addColumn('versions_kept', 'integer', (column) => column.notNull())
    .addColumn('problem', text)
    .addColumn('saved_ms', 'bigint', (column) => column.notNull())
    .addColumn('saved_by', text, (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('working_copies_of_group')
    .on('working_copies')
    .columns(['group_id', 'container_id', 'id'])
    .execute()
  await db.schema
    .createIndex('working_copies_due')
    .on('working_copies')
    .columns(['group_id', 'due_ms', 'id'])
    .where(sql.ref('due_ms'), 'is not', null)
    .execute()
  // For the foreign keys.
  await db.schema.createIndex('working_copies_by_object').on('working_copies').columns(['object_id']).execute()
  await db.schema.createIndex('working_copies_by_site').on('working_copies').columns(['site_id']).execute()
  for (const statement of workingCopyTriggers(schemaName).flatMap(({ statements }) => statements))
    await sql.raw(statement).execute(db)

  await db.schema.alterTable('objects').addColumn('archive_ms', 'bigint').execute()
  await db.schema
    .createIndex('objects_to_archive')
    .on('objects')
    .columns(['group_id', 'archive_ms', 'id'])
    .where(sql.ref('archived'), '=', sql.lit(0))
    .where(sql.ref('archive_ms'), 'is not', null)
    .execute()
  await db.schema.alterTable('group_revisions').addColumn('due_ms', 'bigint').execute()

  await db.schema
    .createTable('site_previews')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('group_id', text, (column) => column.notNull())
    .addColumn('secret_hash', text, (column) => column.notNull().unique())
    .addColumn('created_ms', 'bigint', (column) => column.notNull())
    .addColumn('expires_ms', 'bigint', (column) => column.notNull())
    .addColumn('max_uses', 'integer')
    .addColumn('uses', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('revoked_ms', 'bigint')
    .execute()
  await db.schema.createIndex('site_previews_of_group').on('site_previews').columns(['group_id', 'id']).execute()
}
