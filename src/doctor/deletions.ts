import { toIso } from '../content/moments.ts'
import { listGroups } from '../store/groups.ts'
import type { Check, Finding } from './check.ts'
import { shellWord } from './words.ts'

export const deletionsCheck: Check = {
  name: 'Deletions',
  async run(ctx) {
    const groups = await listGroups(await ctx.store())
    return groups.flatMap(({ id, name, deletingMs }): Finding[] => {
      if (deletingMs === null) return []
      return [
        {
          level: 'attention',
          what: `The deletion of the group "${name}" (${id}) began at ${toIso(deletingMs)} and has not ended.`,
          advice: 'It runs just now or was interrupted. Nothing of the group is served any more. To finish:',
          commands: [`npx sluice group delete ${id} --confirm ${shellWord(name)}`],
        },
      ]
    })
  },
}
