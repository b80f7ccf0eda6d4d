import type { Container } from '../content/model.ts'
import { findMiscountedFields, isUsageMiscounted, recountField, repairUsage } from '../store/checks/counters.ts'
import { usableDatabase } from '../store/checks/databases.ts'
import { isDueTimeTooLate, repairDueTime } from '../store/checks/due.ts'
import { createTriggers, findMissingTriggers } from '../store/checks/integrity.ts'
import { findOutdatedObjects, rebuildIndex } from '../store/checks/object-index.ts'
import type { Authoring } from '../store/content/changes.ts'
import { listContainers } from '../store/content/containers.ts'
import { formatBytes, readUsage } from '../store/content/usage.ts'
import { attention, type Check, type CheckedGroup, type DoctorContext, type Finding, wrong } from './check.ts'
import { counted, createTally, type Tally } from './format.ts'

/** Undefined unless repairing was requested. */
const authoringOf = ({ repairAs: author, clock }: DoctorContext, { group }: CheckedGroup): Authoring | undefined =>
  author && { author, verb: 'doctor.repair', nowMs: clock(), versionsKept: group.versionsKept }

const repairing = (cause: string) => ({
  advice: `Something other than Sluice has ${cause}. To repair this:`,
  commands: ['npx sluice doctor --repair'],
})
const checking = { advice: 'Nothing is left to do. To be sure:', commands: ['npx sluice doctor'] }

/** Returns how many objects were repaired. */
async function findUnindexed(ctx: DoctorContext, checked: CheckedGroup, container: Container, outdated: Tally) {
  const { group, content } = checked
  let read = 0
  const ids = await findOutdatedObjects(content, container.id, (count) => {
    read += count
    ctx.progress(`Index of objects: ${group.name}, ${container.name}, ${read} read`)
  })
  for (const id of ids) outdated.add(`${group.name}, ${container.name}: ${id}`)
  const authoring = authoringOf(ctx, checked)
  return ids.length > 0 && authoring ? rebuildIndex(content, container.id, ids, authoring) : 0
}

/** Filters, sorting and search must use the current values of objects. */
export const objectIndexCheck: Check = {
  name: 'Index of objects',
  async run(ctx) {
    const outdated = createTally()
    let rebuilt = 0
    for (const checked of await ctx.groups())
      for (const container of await listContainers(checked.content))
        rebuilt += await findUnindexed(ctx, checked, container, outdated)
    const { count, first: examples } = outdated
    if (count === 0) return []
    if (ctx.repairAs)
      return attention({
        what: `The index of ${counted(rebuilt, 'object')} did not match their values, and was rebuilt.`,
        examples,
        ...checking,
      })
    return wrong({
      what: `${counted(count, 'object is', 'objects are')} filtered, sorted or searched by values that they do not have.`,
      examples,
      ...repairing('changed them or their index'),
    })
  },
}

/** Whether the triggers that count and index objects exist. */
async function checkTriggers(ctx: DoctorContext): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const found of (await ctx.databases()).contents) {
    const database = usableDatabase(found)
    const missing = database ? await findMissingTriggers(database) : []
    if (!database || missing.length === 0) continue
    const what = `${found.location} lacks ${counted(missing.length, 'trigger')} by which it counts and indexes objects`
    const examples = missing.map(({ name }) => name)
    if (ctx.repairAs) await createTriggers(database, missing)
    findings.push(
      ...(ctx.repairAs
        ? attention({ what: `${what}; created again.`, examples, ...checking })
        : wrong({
            what: `${what}: its totals and searches become wrong.`,
            examples,
            ...repairing('dropped or changed them'),
          })),
    )
  }
  return findings
}

/** Returns how many totals were repaired. */
async function recountContainer(ctx: DoctorContext, checked: CheckedGroup, container: Container, miscounted: Tally) {
  const { group, content } = checked
  const { id, name } = container
  const fields = await findMiscountedFields(content, id, (field) =>
    ctx.progress(`Totals: ${group.name}, ${name}${field && `, by ${field}`}`),
  )
  for (const field of fields) miscounted.add(`${group.name}, ${name}: ${field ? `by ${field}` : 'all objects'}`)
  const authoring = authoringOf(ctx, checked)
  if (!authoring) return 0
  let recounted = 0
  for (const field of fields) if (await recountField(content, id, field, authoring)) recounted += 1
  return recounted
}

/** The stored totals of lists must match the objects in the index. */
export const totalsCheck: Check = {
  name: 'Totals',
  async run(ctx) {
    const findings = await checkTriggers(ctx)
    const miscounted = createTally()
    let recounted = 0
    for (const checked of await ctx.groups())
      for (const container of await listContainers(checked.content))
        recounted += await recountContainer(ctx, checked, container, miscounted)
    const { count, first: examples } = miscounted
    if (count === 0) return findings
    if (ctx.repairAs) {
      const what = `${counted(recounted, 'total was', 'totals were')} wrong, and recounted.`
      return [...findings, ...attention({ what, examples, ...checking })]
    }
    const what = `${counted(count, 'total is', 'totals are')} wrong: lists report more or fewer objects than they have.`
    return [...findings, ...wrong({ what, examples, ...repairing('dropped or changed them') })]
  },
}

/** Scheduled changes and archive dates must take effect at their second. */
export const scheduleCheck: Check = {
  name: 'Schedules',
  async run(ctx) {
    const late = createTally()
    for (const checked of await ctx.groups()) {
      if (!(await isDueTimeTooLate(checked.content))) continue
      late.add(checked.group.name)
      const authoring = authoringOf(ctx, checked)
      if (authoring) await repairDueTime(checked.content, authoring)
    }
    const { count, first: examples } = late
    if (count === 0) return []
    const groups = counted(count, 'group')
    if (ctx.repairAs)
      return attention({ what: `The next due time of ${groups} was too late, and corrected.`, examples, ...checking })
    return wrong({
      what: `The next due time of ${groups} is too late: scheduled changes and archive dates take effect late, or never.`,
      examples,
      ...repairing('changed it'),
    })
  },
}

/** A quota is reported from this share on. */
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
    const [full, miscounted] = [createTally(), createTally()]
    for (const checked of await ctx.groups()) {
      const { group, content } = checked
      ctx.progress(`Storage: ${group.name}`)
      if (await isUsageMiscounted(content)) {
        miscounted.add(group.name)
        const authoring = authoringOf(ctx, checked)
        if (authoring) await repairUsage(content, authoring)
      }
      for (const example of await findFull(ctx, checked)) full.add(example)
    }
    const findings: Finding[] = []
    const groups = counted(miscounted.count, 'group')
    const examples = miscounted.first
    if (miscounted.count > 0)
      findings.push(
        ...(ctx.repairAs
          ? attention({ what: `The bytes of ${groups} were wrong, and recounted.`, examples, ...checking })
          : wrong({
              what: `The bytes of ${groups} are wrong, and so quotas are applied wrongly.`,
              examples,
              ...repairing('written to the database'),
            })),
      )
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
