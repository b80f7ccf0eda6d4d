import type { Database } from './database.ts'
import type { ContentTables } from './tables.ts'

const tables = [
  'objects', 'object_versions', 'preview_tokens', 'containers', 'sites', 'changes', 'media', 'media_files', 'jobs',
  'group_revisions',
] as const // biome-ignore format: one line reads better

export type RowCounts = Partial<Record<(typeof tables)[number], number>>

/** How many rows each group has in each table, whether or not there is such a group. */
export async function countRowsByGroup({ read }: Database<ContentTables>): Promise<Map<string, RowCounts>> {
  const counts = new Map<string, RowCounts>()
  for (const table of tables) {
    const rows = await read
      .selectFrom(table)
      .select(['group_id', ({ fn }) => fn.countAll<number>().as('count')])
      .$if(table === 'group_revisions', (query) => query.where('closed' as never, '=', 0 as never)) // of a deleted group
      .groupBy('group_id')
      .execute()
    for (const { group_id, count } of rows) counts.set(group_id, { ...counts.get(group_id), [table]: Number(count) })
  }
  return counts
}

/** Removes all of a group, in the order that references between the tables ask for. */
export function removalStatement({ engine, schemaName }: Database<ContentTables>, groupId: string): string {
  const place = schemaName === undefined ? '' : `${schemaName}.`
  const rule = engine === 'sqlite' ? 'pragma foreign_keys = on; ' : ''
  const value = `'${groupId.replaceAll("'", "''")}'`
  return (
    rule +
    ['objects', 'preview_tokens', 'containers', 'sites', 'changes', 'media', 'media_files', 'jobs', 'group_revisions']
      .map((table) => `delete from ${place}${table} where group_id = ${value}`)
      .join('; ')
  )
}
