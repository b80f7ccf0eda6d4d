import { hash } from 'node:crypto'
import { type RawBuilder, sql, type Transaction } from 'kysely'
import { inBatches } from '../../engine/database.ts'
import { type Migration, textType } from '../migrate.ts'
import { addCommerce } from './content-commerce.ts'
import { addMail } from './content-mail.ts'
import { addOrderEmails } from './content-order-emails.ts'
import { addRangeTotals } from './content-ranges.ts'
import { addSearchIndex } from './content-search.ts'
import { dateSubmissions } from './content-submissions.ts'
import { addTotals } from './content-totals.ts'
import { addUsage } from './content-usage.ts'
import { addWorkingCopies } from './content-working-copies.ts'

interface ObjectsOfThen {
  objects: {
    id: string
    container_id: string
    archived: number
    publish_ms: number
    value: string
  }
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

/** Everything in a value that was a file when this step was written. */
function mediaKeysThen(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { name, key, type } = value as Record<string, unknown>
  const isFile = typeof name === 'string' && typeof key === 'string' && typeof type === 'string'
  return isFile ? [key] : Object.values(value).flatMap(mediaKeysThen)
}

/** Adds the objects' files to the index. */
async function indexMediaUses(db: Transaction<ObjectsOfThen>): Promise<void> {
  const objectsPerStep = 200
  for (let after = ''; ; ) {
    const objects = await db
      .selectFrom('objects')
      .select(['id', 'container_id', 'archived', 'publish_ms', 'value'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(objectsPerStep)
      .execute()
    const rows = objects.flatMap(({ id, value, ...row }) =>
      [...new Set(mediaKeysThen(JSON.parse(value)))].map((key) => ({
        ...row,
        object_id: id,
        field: '@media',
        filter_key: Buffer.byteLength(key) <= 200 ? `=${key}` : `#${hash('sha256', key)}`,
        sort_key: null,
      })),
    )
    for (const batch of inBatches(rows)) await db.insertInto('object_fields').values(batch).execute()
    const last = objects.at(-1)
    if (!last) return
    after = last.id
  }
}

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
      // A product is unique per account; objects of collections have no external id and are not affected.
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
  {
    name: 'versions, the record of changes, and what is not delivered',
    async up(db, engine) {
      const text = textType(engine)
      await db.schema
        .alterTable('objects')
        .addColumn('version', 'integer', (column) => column.notNull().defaultTo(1))
        .execute()
      // The author and kind of the latest change, which move to `object_versions` with the value at the next change.
      await db.schema
        .alterTable('objects')
        .addColumn('changed_by', text, (column) => column.notNull().defaultTo(''))
        .execute()
      await db.schema
        .alterTable('objects')
        .addColumn('change', text, (column) => column.notNull().defaultTo('created'))
        .execute()
      await db.schema.alterTable('objects').addColumn('review', text).execute()
      // For due objects. Few rows are dated, so the index is small.
      await db.schema
        .createIndex('objects_due')
        .on('objects')
        .columns(['group_id', 'publish_ms', 'id'])
        .where(sql.ref('archived'), '=', sql.lit(0))
        .where(sql.ref('publish_ms'), '>', sql.lit(0))
        .execute()
      await db.schema
        .createIndex('objects_by_review')
        .on('objects')
        .columns(['group_id', 'review', 'id'])
        .where(sql.ref('review'), 'is not', null)
        .execute()
      await db.schema
        .createTable('object_versions')
        .addColumn('object_id', text, (column) => column.notNull().references('objects.id').onDelete('cascade'))
        .addColumn('version', 'integer', (column) => column.notNull())
        .addColumn('group_id', text, (column) => column.notNull())
        .addColumn('value', text, (column) => column.notNull())
        .addColumn('publish_ms', 'bigint', (column) => column.notNull())
        .addColumn('archived', 'integer', (column) => column.notNull())
        .addColumn('changed_ms', 'bigint', (column) => column.notNull())
        .addColumn('changed_by', text, (column) => column.notNull())
        .addColumn('change', text, (column) => column.notNull())
        .addPrimaryKeyConstraint('object_versions_key', ['object_id', 'version'])
        .execute()

      for (const [table, openColumn] of [
        ['containers', 'settings'],
        ['sites', 'private_settings'],
      ] as const) {
        await db.schema
          .alterTable(table)
          .addColumn('version', 'integer', (column) => column.notNull().defaultTo(1))
          .execute()
        await db.schema
          .alterTable(table)
          .addColumn(openColumn, text, (column) => column.notNull().defaultTo('{}'))
          .execute()
      }

      await db.schema
        .alterTable('group_revisions')
        .addColumn('last_seq', 'bigint', (column) => column.notNull().defaultTo(0))
        .execute()
      await db.schema
        .alterTable('group_revisions')
        .addColumn('swept_ms', 'bigint', (column) => column.notNull().defaultTo(0))
        .execute()
      await db.schema
        .alterTable('group_revisions')
        .addColumn('closed', 'integer', (column) => column.notNull().defaultTo(0))
        .execute()
      // Objects that fell due before the change log existed are not recorded.
      const now = engine === 'sqlite' ? sql`unixepoch() * 1000` : sql`floor(extract(epoch from now()) * 1000)`
      await (db as Transaction<{ group_revisions: { swept_ms: number } }>)
        .updateTable('group_revisions')
        .set({ swept_ms: now as RawBuilder<number> })
        .execute()
      await db.schema
        .createTable('changes')
        .addColumn('group_id', text, (column) => column.notNull())
        .addColumn('seq', 'bigint', (column) => column.notNull())
        .addColumn('at_ms', 'bigint', (column) => column.notNull())
        .addColumn('type', text, (column) => column.notNull())
        .addColumn('verb', text, (column) => column.notNull())
        .addColumn('subject_id', text, (column) => column.notNull())
        .addColumn('container_id', text)
        .addColumn('version', 'integer')
        .addColumn('actor_id', text)
        .addColumn('actor_name', text, (column) => column.notNull())
        .addColumn('address', text, (column) => column.notNull())
        .addColumn('note', text, (column) => column.notNull())
        .addPrimaryKeyConstraint('changes_key', ['group_id', 'seq'])
        .execute()
      await db.schema
        .createIndex('changes_by_subject')
        .on('changes')
        .columns(['group_id', 'subject_id', 'seq'])
        .execute()
      await db.schema.createIndex('changes_by_actor').on('changes').columns(['group_id', 'actor_id', 'seq']).execute()
    },
  },
  {
    name: 'media, and work to be done later',
    async up(db, engine) {
      const text = textType(engine)
      await db.schema
        .createTable('media_files')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('group_id', text, (column) => column.notNull())
        .addColumn('key', text, (column) => column.notNull())
        .addColumn('sha256', text, (column) => column.notNull())
        .addColumn('bytes', 'bigint', (column) => column.notNull())
        .addColumn('content_type', text, (column) => column.notNull())
        .addColumn('width', 'integer')
        .addColumn('height', 'integer')
        .addColumn('color', text)
        .addColumn('placeholder', text)
        .addColumn('derivatives', text, (column) => column.notNull())
        .addColumn('problem', text)
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .execute()
      // The same bytes are stored once per group.
      await db.schema
        .createIndex('media_files_by_content')
        .unique()
        .on('media_files')
        .columns(['group_id', 'sha256'])
        .execute()
      await db.schema
        .createIndex('media_files_by_key')
        .unique()
        .on('media_files')
        .columns(['group_id', 'key'])
        .execute()
      await db.schema.createIndex('media_files_of_group').on('media_files').columns(['group_id', 'id']).execute()
      await db.schema
        .createTable('media')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('group_id', text, (column) => column.notNull())
        .addColumn('key', text, (column) => column.notNull())
        .addColumn('name', text, (column) => column.notNull())
        .addColumn('search_name', text, (column) => column.notNull())
        .addColumn('type', text, (column) => column.notNull())
        .addColumn('file_id', text, (column) => column.notNull().references('media_files.id'))
        .addColumn('version', 'integer', (column) => column.notNull())
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('updated_ms', 'bigint', (column) => column.notNull())
        .execute()
      await db.schema.createIndex('media_by_key').unique().on('media').columns(['group_id', 'key']).execute()
      await db.schema.createIndex('media_of_group').on('media').columns(['group_id', 'id']).execute()
      await db.schema.createIndex('media_by_file').on('media').columns(['file_id']).execute()
      await db.schema
        .alterTable('group_revisions')
        .addColumn('media_revision', 'bigint', (column) => column.notNull().defaultTo(0))
        .execute()

      await db.schema
        .createTable('jobs')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('group_id', text, (column) => column.notNull())
        .addColumn('kind', text, (column) => column.notNull())
        .addColumn('payload', text, (column) => column.notNull())
        .addColumn('state', text, (column) => column.notNull())
        .addColumn('due_ms', 'bigint')
        .addColumn('attempts', 'integer', (column) => column.notNull())
        .addColumn('worker', text)
        .addColumn('problem', text)
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('finished_ms', 'bigint')
        .execute()
      await db.schema
        .createIndex('jobs_due')
        .on('jobs')
        .columns(['kind', 'group_id', 'due_ms', 'id'])
        .where(sql.ref('due_ms'), 'is not', null)
        .execute()
      await db.schema.createIndex('jobs_of_group').on('jobs').columns(['group_id', 'id']).execute()
      await db.schema.createIndex('jobs_by_state').on('jobs').columns(['state', 'finished_ms']).execute()
      await indexMediaUses(db as Transaction<ObjectsOfThen>)
    },
  },
  {
    name: 'secrets, payment integrations and their catalogue, orders, and answers that are given once',
    up: addCommerce,
  },
  {
    name: 'outbox, suppressed addresses, mail servers of groups, tallies and notices of submissions',
    up: addMail,
  },
  {
    name: 'totals, which the database keeps',
    up: addTotals,
  },
  {
    name: 'publish dates of submissions',
    up: dateSubmissions,
  },
  {
    name: 'orders by e-mail address',
    up: addOrderEmails,
  },
  {
    name: 'how many bytes each group takes',
    up: addUsage,
  },
  {
    name: 'why a provider refused a webhook',
    async up(db, engine) {
      await db.schema.alterTable('integrations').addColumn('webhook_problem', textType(engine)).execute()
    },
  },
  {
    name: 'working copies, archive dates and previews of whole sites',
    up: addWorkingCopies,
  },
  {
    name: 'the search index',
    up: addSearchIndex,
  },
  {
    name: 'totals of ranges',
    up: addRangeTotals,
  },
]
