import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord } from '../content/schema.ts'
import { hashSecret } from '../secrets.ts'
import { findTokenHolder } from '../store/admin-tokens.ts'
import { listGroups } from '../store/groups.ts'
import { type Check, type DoctorContext, NotChecked } from './check.ts'
import { isFile } from './files.ts'
import { shellWord } from './words.ts'

async function readDemo(path: string): Promise<Record<string, unknown>> {
  try {
    const demo: unknown = JSON.parse(await readFile(path, 'utf8'))
    return isRecord(demo) ? demo : {}
  } catch {
    return {} // it lies there all the same
  }
}

/** What takes the demo away, as far as it is still there. Without the database it cannot be known. */
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
    return [
      {
        level: 'attention',
        what: `PUBLIC_URL is set, so this service is for others, and ${path} holds a key and an administrator's token of the demo.`,
        advice: 'Take the demo away before you go live:',
        commands: [...(await removalOf(ctx, await readDemo(path))), `rm ${shellWord(path)}`],
      },
    ]
  },
}
