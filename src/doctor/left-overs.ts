import { countRowsByGroup, type RowCounts, removalStatement } from '../store/check-left-overs.ts'
import { type AnyFound, currentOf } from '../store/check-open.ts'
import type { Database } from '../store/database.ts'
import { listGroups } from '../store/groups.ts'
import type { Store } from '../store/open.ts'
import { ownerOfHidden } from '../store/purge.ts'
import type { ContentTables } from '../store/tables.ts'
import type { Check, Finding } from './check.ts'
import { sqlCommand } from './databases.ts'
import { counted } from './words.ts'

/** What is seen between two looks at the groups belongs to one of them, also when one comes or goes meanwhile. */
export async function withGroupIds<Result>(store: Store, look: () => Promise<Result>) {
  const before = await listGroups(store)
  const result = await look()
  return { result, groupIds: new Set([...before, ...(await listGroups(store))].map(({ id }) => id)) }
}

const describeRows = (counts: RowCounts): string =>
  Object.entries(counts)
    .map(([table, count]) => `${count} in ${table}`)
    .join(', ')

function leftOver(found: AnyFound, database: Database<ContentTables>, groupId: string, counts: RowCounts): Finding {
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return {
    level: 'attention',
    what: `${found.place} holds ${counted(rows, 'row')} of the group ${groupId}, which does not exist: ${describeRows(counts)}.`,
    advice:
      'An import or a deletion was interrupted, or runs just now. Nobody can see them. Do the import again, or remove them after a backup:',
    commands: [sqlCommand(found, removalStatement(database, groupId))],
  }
}

export const leftOversCheck: Check = {
  name: 'Left-overs of groups',
  async run(ctx) {
    const findings: Finding[] = []
    const store = await ctx.store()
    for (const found of (await ctx.databases()).contents) {
      const database = currentOf(found)
      if (!database) continue
      const { result: counts, groupIds } = await withGroupIds(store, () => countRowsByGroup(database))
      const strays = [...counts].filter(([groupId]) => !groupIds.has(ownerOfHidden(groupId)))
      findings.push(...strays.map(([groupId, rows]) => leftOver(found, database, groupId, rows)))
    }
    return findings
  },
}
