import type { Container } from '../content/model.ts'
import { currentOf } from '../store/check-open.ts'
import { findMiscountedFields, findMissingTriggers, makeTriggers, recountField } from '../store/check-totals.ts'
import { listContainers } from '../store/containers.ts'
import type { Check, CheckedGroup, DoctorContext, Finding } from './check.ts'
import { counted, createTally, type Tally } from './words.ts'

const repairing = {
  advice: 'Something other than Sluice has dropped or changed them. To put it right:',
  commands: ['npx sluice doctor --repair'],
}
const checking = { advice: 'Nothing is left to do. To be sure:', commands: ['npx sluice doctor'] }

/** Whether the databases count at all. */
async function checkTriggers(ctx: DoctorContext): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const found of (await ctx.databases()).contents) {
    const database = currentOf(found)
    const missing = database ? await findMissingTriggers(database) : []
    if (!database || missing.length === 0) continue
    const what = `${found.place} lacks ${counted(missing.length, 'trigger')} by which it counts objects`
    const examples = missing.map(({ name }) => name)
    if (ctx.repairAs) await makeTriggers(database, missing)
    findings.push(
      ctx.repairAs
        ? { level: 'attention', what: `${what}; made again.`, examples, ...checking }
        : { level: 'wrong', what: `${what}: its totals are not kept.`, examples, ...repairing },
    )
  }
  return findings
}

/** Answers how many were repaired. */
async function checkContainer(ctx: DoctorContext, checked: CheckedGroup, container: Container, wrong: Tally) {
  const { group, content } = checked
  const { id, name } = container
  const fields = await findMiscountedFields(content, id, (field) =>
    ctx.progress(`Totals: ${group.name}, ${name}${field && `, by ${field}`}`),
  )
  for (const field of fields) wrong.add(`${group.name}, ${name}: ${field ? `by ${field}` : 'all objects'}`)
  if (!ctx.repairAs) return 0
  const authoring = {
    author: ctx.repairAs,
    verb: 'doctor.repair',
    nowMs: ctx.clock(),
    versionsKept: group.versionsKept,
  }
  let recounted = 0
  for (const field of fields) if (await recountField(content, id, field, authoring)) recounted += 1
  return recounted
}

const wrongTotals = (wrong: Tally): Finding => ({
  level: 'wrong',
  what: `${counted(wrong.count, 'total is', 'totals are')} not what there is: lists count more or fewer objects than they hold.`,
  examples: wrong.first,
  ...repairing,
})

const repairedTotals = (wrong: Tally, count: number): Finding => ({
  level: 'attention',
  what: `${counted(count, 'total was', 'totals were')} not what there is, and counted anew.`,
  examples: wrong.first,
  ...checking,
})

/** The totals that lists are answered with must be those of the objects in their index. */
export const totalsCheck: Check = {
  name: 'Totals',
  async run(ctx) {
    const findings = await checkTriggers(ctx)
    const wrong = createTally()
    let recounted = 0
    for (const checked of await ctx.groups())
      for (const container of await listContainers(checked.content))
        recounted += await checkContainer(ctx, checked, container, wrong)
    if (wrong.count > 0) findings.push(ctx.repairAs ? repairedTotals(wrong, recounted) : wrongTotals(wrong))
    return findings
  },
}
