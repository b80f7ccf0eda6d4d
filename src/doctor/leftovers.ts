import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { toIso } from '../content/moments.ts'
import { isRecord } from '../content/schema.ts'
import { hashSecret } from '../security/tokens.ts'
import { type AnyFound, usableDatabase } from '../store/checks/databases.ts'
import { countRowsByGroup, type RowCounts, removalStatement } from '../store/checks/integrity.ts'
import { ownerOfHiddenGroup } from '../store/content/purge.ts'
import { findTokenHolder } from '../store/control/admin-tokens.ts'
import { listGroups } from '../store/control/groups.ts'
import type { Database } from '../store/engine/database.ts'
import type { ContentTables } from '../store/schema/tables.ts'
import type { Store } from '../store/store.ts'
import { attention, type Check, type DoctorContext, type Finding, NotChecked } from './check.ts'
import { sqlCommand } from './databases.ts'
import { isFile } from './files.ts'
import { counted, shellWord } from './format.ts'

async function readDemo(path: string): Promise<Record<string, unknown>> {
  try {
    const demo: unknown = JSON.parse(await readFile(path, 'utf8'))
    return isRecord(demo) ? demo : {}
  } catch {
    return {} // the file is reported anyway
  }
}

/** The commands that remove the demo; none when the database cannot be read. */
async function removalOf(ctx: DoctorContext, demo: Record<string, unknown>): Promise<string[]> {
  const store = await ctx.store().catch((error: unknown) => {
    if (error instanceof NotChecked) return undefined
    throw error
  })
  if (!store) return []
  const group = (await listGroups(store)).find(({ id }) => id === demo.groupId)
  const holder = await findTokenHolder(store, hashSecret(String(demo.adminToken)), ctx.clock())
  return [
    ...(group ? [`npx sluice group delete ${group.id} --confirm ${shellWord(group.name)}`] : []),
    ...(holder ? [`npx sluice user disable ${holder.userId}`] : []),
  ]
}

export const demoCheck: Check = {
  name: 'Demo content',
  async run(ctx) {
    const { dataDir, publicUrl } = ctx.config
    const path = join(dataDir, 'demo.json')
    if (publicUrl === undefined || !(await isFile(path))) return []
    return attention({
      what: `PUBLIC_URL is set, so this service is public, and ${path} holds a key and an administrator's token of the demo.`,
      advice: 'Remove the demo before you go live:',
      commands: [...(await removalOf(ctx, await readDemo(path))), `rm ${shellWord(path)}`],
    })
  },
}

export const deletionsCheck: Check = {
  name: 'Deletions',
  async run(ctx) {
    const groups = await listGroups(await ctx.store())
    return groups.flatMap(({ id, name, deletingMs }): Finding[] => {
      if (deletingMs === null) return []
      return attention({
        what: `The deletion of the group "${name}" (${id}) began at ${toIso(deletingMs)} and has not ended.`,
        advice: 'It is running or was interrupted. Nothing of the group is served any more. To finish:',
        commands: [`npx sluice group delete ${id} --confirm ${shellWord(name)}`],
      })
    })
  },
}

/** Reads the groups before and after `look`, so that one created or deleted meanwhile is not mistaken for a leftover. */
export async function withGroupIds<Result>(store: Store, look: () => Promise<Result>) {
  const before = await listGroups(store)
  const result = await look()
  return { result, groupIds: new Set([...before, ...(await listGroups(store))].map(({ id }) => id)) }
}

const describeRows = (counts: RowCounts): string =>
  Object.entries(counts)
    .map(([table, count]) => `${count} in ${table}`)
    .join(', ')

function leftOver(found: AnyFound, database: Database<ContentTables>, groupId: string, counts: RowCounts): Finding[] {
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return attention({
    what: `${found.location} holds ${counted(rows, 'row')} of the group ${groupId}, which does not exist: ${describeRows(counts)}.`,
    advice:
      'An import or a deletion was interrupted, or is running. These rows are not visible to anyone. Repeat the import, or remove them after a backup:',
    commands: [sqlCommand(found, removalStatement(database, groupId))],
  })
}

export const leftoversCheck: Check = {
  name: 'Left-overs of groups',
  async run(ctx) {
    const findings: Finding[] = []
    const store = await ctx.store()
    for (const found of (await ctx.databases()).contents) {
      const database = usableDatabase(found)
      if (!database) continue
      const { result: counts, groupIds } = await withGroupIds(store, () => countRowsByGroup(database))
      const strays = [...counts].filter(([groupId]) => !groupIds.has(ownerOfHiddenGroup(groupId)))
      findings.push(...strays.flatMap(([groupId, rows]) => leftOver(found, database, groupId, rows)))
    }
    return findings
  },
}
