import { isKeyOfGroup } from '../content/media-keys.ts'
import { mediaKeysIn } from '../content/media-uses.ts'
import type { Container } from '../content/model.ts'
import { collectionIdsIn } from '../content/pages.ts'
import { problemsOfSite } from '../content/site-settings.ts'
import { uniqueFieldsOf } from '../content/unique.ts'
import { problemsOf } from '../content/validate.ts'
import { findContainerById, listContainers, readByContainer } from '../store/content/containers.ts'
import { iterateObjects } from '../store/content/objects.ts'
import { listSites } from '../store/content/sites.ts'
import { findDuplicate } from '../store/content/unique.ts'
import { attention, type Check, type CheckedGroup, type DoctorContext, type Finding, wrong } from './check.ts'
import { counted, createTally, maxExamples, type Tally } from './format.ts'

function problemsIn(groupId: string, { schema }: Container, value: Record<string, unknown>): string[] {
  const problems = problemsOf(schema, value)
  if (problems.length > 0) return problems
  const foreign = mediaKeysIn(schema, value).filter((key) => !isKeyOfGroup(groupId, key))
  return foreign.map((key) => `the media key "${key}" does not belong to this group`)
}

/** An invalid object or site. */
interface Misfit {
  /** With its first problem. */
  name: string
  /** Shows it. */
  command: string
}

async function misfitsOfContainer({ group, content }: CheckedGroup, container: Container, onRead: () => void) {
  const misfits = createTally<Misfit>()
  const show = container.kind === 'collection' ? 'object show' : 'product show'
  for await (const { id, value } of iterateObjects(content, container.id)) {
    const [problem] = problemsIn(group.id, container, value)
    if (problem !== undefined)
      misfits.add({
        name: `${group.name}, ${container.name}: ${id}: ${problem}`,
        command: `npx sluice ${show} ${group.id} ${id}`,
      })
    onRead()
  }
  for (const [field] of uniqueFieldsOf(container.schema)) {
    const duplicate = await findDuplicate(content, container, field)
    if (duplicate)
      misfits.add({
        name: `${group.name}, ${container.name}: objectValue.${field} must be unique, and ${duplicate.ids.join(' and ')} have the same value`,
        command: `npx sluice ${show} ${group.id} ${duplicate.ids[0]}`,
      })
  }
  return misfits
}

async function findMisfits(ctx: DoctorContext, checked: CheckedGroup): Promise<Tally<Misfit>> {
  const { group, content } = checked
  const misfits = createTally<Misfit>()
  for (const { id, name } of await listContainers(content)) {
    let read = 0
    const onRead = () => {
      read += 1
      if (read % 500 === 0) ctx.progress(`Values: ${group.name}, ${name}, ${read} read`)
    }
    const find = () => findContainerById(content, id)
    const found = await readByContainer(content, find, (container) => misfitsOfContainer(checked, container, onRead))
    if (found) misfits.addAll(found)
  }
  for (const site of await listSites(content)) {
    const [problem] = problemsOfSite(group.id, site)
    const command = `npx sluice site show ${group.id} ${site.id}`
    if (problem !== undefined) misfits.add({ name: `${group.name}, site "${site.name}": ${problem}`, command })
  }
  return misfits
}

/** Values are valid when they are written, but rules may have become stricter since. They are delivered anyway. */
export const valuesCheck: Check = {
  name: 'Values',
  async run(ctx) {
    const misfits = createTally<Misfit>()
    for (const checked of await ctx.groups()) misfits.addAll(await findMisfits(ctx, checked))
    if (misfits.count === 0) return []
    return attention({
      what: `${counted(misfits.count, 'object or site does', 'objects or sites do')} not satisfy the current rules for values.`,
      examples: misfits.first.map(({ name }) => name),
      advice: 'They are delivered as they are, but their next change must correct them. To see the first:',
      commands: misfits.first.slice(0, 1).map(({ command }) => command),
    })
  },
}

async function findUnknownCollections({ group, content }: CheckedGroup): Promise<Finding[]> {
  // Sites first, so that a collection created meanwhile is known when a page shows it.
  const sites = await listSites(content)
  const known = new Set((await listContainers(content, 'collection')).map(({ id }) => id))
  return sites.flatMap(({ id, name, version, settings }): Finding[] => {
    const unknown = collectionIdsIn(settings).filter((collectionId) => !known.has(collectionId))
    if (unknown.length === 0) return []
    return wrong({
      what: `Pages of the site "${name}" of ${group.name} show ${counted(unknown.length, 'collection')} that the group does not have.`,
      examples: unknown.slice(0, maxExamples),
      advice: 'Remove them from settings.pages, or replace them by other collections:',
      commands: [
        `npx sluice site show ${group.id} ${id}`,
        `npx sluice site update ${group.id} ${id} --version ${version} --settings '{"pages": [...]}'`,
      ],
    })
  })
}

export const sitePagesCheck: Check = {
  name: 'Pages of sites',
  async run(ctx) {
    const findings: Finding[] = []
    for (const checked of await ctx.groups()) findings.push(...(await findUnknownCollections(checked)))
    return findings
  },
}
