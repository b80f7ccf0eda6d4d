import type { Transaction } from 'kysely'
import type { ControlTables } from '../control-tables.ts'
import { type Migration, textType } from '../migrate.ts'

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
  {
    name: 'people, their tokens and the record of changes',
    async up(db, engine) {
      const text = textType(engine)
      await db.schema
        .createTable('users')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('name', text, (column) => column.notNull())
        .addColumn('email', text, (column) => column.unique())
        .addColumn('administrator', 'integer', (column) => column.notNull())
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('disabled_ms', 'bigint')
        .execute()
      await db.schema
        .createTable('memberships')
        .addColumn('group_id', text, (column) => column.notNull().references('groups.id'))
        .addColumn('user_id', text, (column) => column.notNull().references('users.id'))
        .addColumn('role', text, (column) => column.notNull())
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('memberships_key', ['group_id', 'user_id'])
        .execute()
      await db.schema.createIndex('memberships_of_user').on('memberships').columns(['user_id']).execute()
      await db.schema
        .createTable('admin_tokens')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('user_id', text, (column) => column.notNull().references('users.id'))
        .addColumn('label', text, (column) => column.notNull())
        .addColumn('prefix', text, (column) => column.notNull())
        .addColumn('secret_hash', text, (column) => column.notNull().unique())
        .addColumn('group_id', text, (column) => column.references('groups.id'))
        .addColumn('role', text)
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('expires_ms', 'bigint')
        .addColumn('revoked_ms', 'bigint')
        .addColumn('last_used_ms', 'bigint')
        .execute()
      await db.schema.createIndex('admin_tokens_of_user').on('admin_tokens').columns(['user_id', 'id']).execute()

      await db.schema.alterTable('api_keys').addColumn('expires_ms', 'bigint').execute()
      await db.schema.alterTable('api_keys').addColumn('last_used_ms', 'bigint').execute()
      await db.schema
        .alterTable('groups')
        .addColumn('versions_kept', 'integer', (column) => column.notNull().defaultTo(50))
        .execute()
      await db.schema.alterTable('groups').addColumn('deleting_ms', 'bigint').execute()

      await db.schema
        .createTable('changes')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('at_ms', 'bigint', (column) => column.notNull())
        .addColumn('type', text, (column) => column.notNull())
        .addColumn('verb', text, (column) => column.notNull())
        .addColumn('group_id', text)
        .addColumn('subject_id', text, (column) => column.notNull())
        .addColumn('actor_id', text)
        .addColumn('actor_name', text, (column) => column.notNull())
        .addColumn('address', text, (column) => column.notNull())
        .addColumn('note', text, (column) => column.notNull())
        .execute()
      await db.schema.createIndex('changes_of_group').on('changes').columns(['group_id', 'id']).execute()
    },
  },
  {
    name: 'where integrations live',
    async up(db, engine) {
      const text = textType(engine)
      await db.schema
        .createTable('integration_places')
        .addColumn('integration_id', text, (column) => column.primaryKey())
        .addColumn('group_id', text, (column) => column.notNull())
        .execute()
      await db.schema
        .createIndex('integration_places_of_group')
        .on('integration_places')
        .columns(['group_id'])
        .execute()
    },
  },
  {
    name: 'invitations and service accounts',
    async up(db, engine) {
      const text = textType(engine)
      await db.schema
        .alterTable('users')
        .addColumn('email_verified', 'integer', (column) => column.notNull().defaultTo(0))
        .execute()
      await db.schema.alterTable('users').addColumn('service_of', text).execute()
      const people = db as unknown as Transaction<Pick<ControlTables, 'users' | 'changes'>>
      // Owners could create users with any address. Only addresses entered by administrators count as verified.
      const vouched = people
        .selectFrom('changes')
        .select('subject_id')
        .where('type', '=', 'user.created')
        .where((eb) => eb.or([eb('verb', '=', 'user.create'), eb('address', '=', 'terminal')]))
      await people
        .updateTable('users')
        .set({ email_verified: 1 })
        .where((eb) => eb.or([eb('administrator', '=', 1), eb('id', 'in', vouched)]))
        .execute()
      await db.schema
        .createTable('invitations')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('group_id', text, (column) => column.notNull().references('groups.id'))
        .addColumn('email', text, (column) => column.notNull())
        .addColumn('name', text, (column) => column.notNull())
        .addColumn('role', text, (column) => column.notNull())
        .addColumn('secret_hash', text, (column) => column.notNull().unique())
        .addColumn('invited_by', text, (column) => column.notNull().references('users.id'))
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('expires_ms', 'bigint', (column) => column.notNull())
        .addColumn('token_expires_ms', 'bigint')
        .addUniqueConstraint('invitations_of_group', ['group_id', 'email'])
        .execute()
      await db.schema.createIndex('invitations_of_email').on('invitations').columns(['email']).execute()
    },
  },
]
