import { findMiscounted, repairUsage } from '../store/check-usage.ts'
import { inUnits, readUsage } from '../store/usage.ts'
import type { Check, CheckedGroup, DoctorContext, Finding } from './check.ts'
import { counted, createTally } from './words.ts'

/** From this part of a quota on somebody should know. */
const nearlyFull = 0.9

async function findFull(ctx: DoctorContext, { group, content }: CheckedGroup): Promise<string[]> {
  const { databaseBytes, mediaBytes } = await readUsage(content)
  const { databaseQuotas, mediaQuotas } = ctx.config
  const parts = [
    { name: 'database', bytes: databaseBytes, quota: databaseQuotas[group.tier] },
    { name: 'files', bytes: mediaBytes, quota: mediaQuotas[group.tier] },
  ]
  return parts
    .filter(({ bytes, quota }) => bytes >= quota * nearlyFull)
    .map(({ name, bytes, quota }) => `${group.name}, ${name}: ${inUnits(bytes)} of ${inUnits(quota)}`)
}

/** What groups take must be what is counted for them, and less than they may. */
export const usageCheck: Check = {
  name: 'Storage of groups',
  async run(ctx) {
    const [full, wrong] = [createTally(), createTally()]
    for (const checked of await ctx.groups()) {
      const { group, content } = checked
      ctx.progress(`Storage: ${group.name}`)
      if (await findMiscounted(content)) {
        wrong.add(group.name)
        const { repairAs: author } = ctx
        const authoring = { verb: 'doctor.repair', nowMs: ctx.clock(), versionsKept: group.versionsKept }
        if (author) await repairUsage(content, { author, ...authoring })
      }
      for (const example of await findFull(ctx, checked)) full.add(example)
    }
    const findings: Finding[] = []
    const groups = counted(wrong.count, 'group')
    if (wrong.count > 0 && ctx.repairAs)
      findings.push({
        level: 'attention',
        what: `The bytes of ${groups} were not what there is, and counted anew.`,
        examples: wrong.first,
        advice: 'Nothing is left to do. To be sure:',
        commands: ['npx sluice doctor'],
      })
    if (wrong.count > 0 && !ctx.repairAs)
      findings.push({
        level: 'wrong',
        what: `The bytes of ${groups} are not what there is: quotas are held against a wrong number.`,
        examples: wrong.first,
        advice: 'Something other than Sluice has written to the database. To put it right:',
        commands: ['npx sluice doctor --repair'],
      })
    if (full.count > 0)
      findings.push({
        level: 'attention',
        what: `${counted(full.count, 'quota is', 'quotas are')} used to 90 % or more: beyond it nothing more is stored.`,
        examples: full.first,
        advice: 'Delete what is not needed, move the group to another tier, or raise DATABASE_QUOTAS or MEDIA_QUOTAS:',
        commands: ['npx sluice group set-tier <group> <tier>'],
      })
    return findings
  },
}
