import type { Container } from '../content/model.ts'
import { findMiscountedFields, isUsageMiscounted, recountField, repairUsage } from '../store/checks/counters.ts'
import { usableDatabase } from '../store/checks/databases.ts'
import { createTriggers, findMissingTriggers } from '../store/checks/integrity.ts'
import { findOutdatedObjects, rebuildIndex } from '../store/checks/object-index.ts'
import type { Author } from '../store/content/changes.ts'
import { listContainers } from '../store/content/containers.ts'
import { formatBytes, readUsage } from '../store/content/usage.ts'
import type { Check, CheckedGroup, DoctorContext, Finding } from './check.ts'
import { counted, createTally, type Tally } from './format.ts'

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
async function findUnindexed(ctx: DoctorContext, checked: CheckedGroup, container: Container, outdated: Tally) {
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
        rebuilt += await findUnindexed(ctx, checked, container, outdated)
    if (outdated.count === 0) return []
    return [ctx.repairAs ? repaired(outdated, rebuilt) : differing(outdated)]
  },
}

const repairing = {
  advice: 'Something other than Sluice has dropped or changed them. To put it right:',
  commands: ['npx sluice doctor --repair'],
}
const checking = { advice: 'Nothing is left to do. To be sure:', commands: ['npx sluice doctor'] }

/** Whether the triggers that count objects exist. */
async function checkTriggers(ctx: DoctorContext): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const found of (await ctx.databases()).contents) {
    const database = usableDatabase(found)
    const missing = database ? await findMissingTriggers(database) : []
    if (!database || missing.length === 0) continue
    const what = `${found.place} lacks ${counted(missing.length, 'trigger')} by which it counts objects`
    const examples = missing.map(({ name }) => name)
    if (ctx.repairAs) await createTriggers(database, missing)
    findings.push(
      ctx.repairAs
        ? { level: 'attention', what: `${what}; made again.`, examples, ...checking }
        : { level: 'wrong', what: `${what}: its totals are not kept.`, examples, ...repairing },
    )
  }
  return findings
}

/** Answers how many were repaired. */
async function recountContainer(ctx: DoctorContext, checked: CheckedGroup, container: Container, wrong: Tally) {
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

/** The stored totals of lists must match the objects in the index. */
export const totalsCheck: Check = {
  name: 'Totals',
  async run(ctx) {
    const findings = await checkTriggers(ctx)
    const wrong = createTally()
    let recounted = 0
    for (const checked of await ctx.groups())
      for (const container of await listContainers(checked.content))
        recounted += await recountContainer(ctx, checked, container, wrong)
    if (wrong.count > 0) findings.push(ctx.repairAs ? repairedTotals(wrong, recounted) : wrongTotals(wrong))
    return findings
  },
}

/** The share of a quota from which it is reported. */
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
    .map(({ name, bytes, quota }) => `${group.name}, ${name}: ${formatBytes(bytes)} of ${formatBytes(quota)}`)
}

/** The stored usage of a group must match its data, and stay below its quotas. */
export const usageCheck: Check = {
  name: 'Storage of groups',
  async run(ctx) {
    const [full, wrong] = [createTally(), createTally()]
    for (const checked of await ctx.groups()) {
      const { group, content } = checked
      ctx.progress(`Storage: ${group.name}`)
      if (await isUsageMiscounted(content)) {
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
