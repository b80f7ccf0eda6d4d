import type { Container } from '../content/model.ts'
import type { Author } from '../store/changes.ts'
import { findOutdatedObjects, rebuildIndex } from '../store/check-object-index.ts'
import { listContainers } from '../store/containers.ts'
import type { Check, CheckedGroup, DoctorContext, Finding } from './check.ts'
import { counted, createTally, type Tally } from './words.ts'

async function findIn(ctx: DoctorContext, { group, content }: CheckedGroup, container: Container): Promise<string[]> {
  const { id, name } = container
  let read = 0
  return findOutdatedObjects(content, id, (count) => {
    read += count
    ctx.progress(`Index of objects: ${group.name}, ${name}, ${read} read`)
  })
}

function authoringOf({ clock }: DoctorContext, { group }: CheckedGroup, author: Author) {
  return { author, verb: 'doctor.repair', nowMs: clock(), versionsKept: group.versionsKept }
}

/** Answers how many were repaired. */
async function checkContainer(ctx: DoctorContext, checked: CheckedGroup, container: Container, outdated: Tally) {
  const ids = await findIn(ctx, checked, container)
  for (const id of ids) outdated.add(`${checked.group.name}, ${container.name}: ${id}`)
  if (ids.length === 0 || !ctx.repairAs) return 0
  return rebuildIndex(checked.content, container.id, ids, authoringOf(ctx, checked, ctx.repairAs))
}

const differing = (outdated: Tally): Finding => ({
  level: 'wrong',
  what: `${counted(outdated.count, 'object is', 'objects are')} filtered, sorted or searched by what they do not hold.`,
  examples: outdated.first,
  advice: 'Something other than Sluice has changed them or their index. Make it anew from what they hold:',
  commands: ['npx sluice doctor --repair'],
})

const repaired = (outdated: Tally, count: number): Finding => ({
  level: 'attention',
  what: `The index of ${counted(count, 'object')} was not that of their values, and was made anew.`,
  examples: outdated.first,
  advice: 'Nothing is left to do. To be sure:',
  commands: ['npx sluice doctor'],
})

/** What clients filter, sort and search by must be what the objects hold. */
export const objectIndexCheck: Check = {
  name: 'Index of objects',
  async run(ctx) {
    const outdated = createTally()
    let rebuilt = 0
    for (const checked of await ctx.groups())
      for (const container of await listContainers(checked.content))
        rebuilt += await checkContainer(ctx, checked, container, outdated)
    if (outdated.count === 0) return []
    return [ctx.repairAs ? repaired(outdated, rebuilt) : differing(outdated)]
  },
}
