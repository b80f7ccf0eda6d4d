import { eachForgottenPicture } from '../media/forgotten.ts'
import { withoutSharp } from '../media/handlers.ts'
import type { Check, CheckedGroup, Finding } from './check.ts'
import { counted, createTally } from './words.ts'

/** What is damaged is known to be: trying again would not help. */
async function findUnmade({ content }: CheckedGroup) {
  const unmade = createTally()
  for await (const { key, problem } of eachForgottenPicture(content))
    if (problem === null || problem === withoutSharp) unmade.add(key)
  return unmade
}

const noSharp: Finding = {
  level: 'attention',
  what: 'sharp cannot be loaded, so pictures are delivered in their original size only.',
  advice: 'Pages load more than they need. Install it in the folder of Sluice, and restart:',
  commands: ['npm ci --include=optional', 'npx sluice doctor'],
}

export const picturesCheck: Check = {
  name: 'Pictures',
  async run(ctx) {
    if (!(await ctx.machine.canDerive())) return [noSharp]
    const findings: Finding[] = []
    for (const checked of await ctx.groups()) {
      const { name, id } = checked.group
      const { count, first } = await findUnmade(checked)
      if (count === 0) continue
      findings.push({
        level: 'attention',
        what: `Of ${counted(count, 'picture')} of ${name} no smaller ones were made.`,
        examples: first,
        advice: 'They came in while sharp was not there, or from elsewhere. Let it be done now:',
        commands: [`npx sluice media derive ${id}`],
      })
    }
    return findings
  },
}
