import { isKeyOfGroup } from '../content/media-keys.ts'
import { mediaKeysIn } from '../content/media-uses.ts'
import type { Container } from '../content/model.ts'
import { problemsOfSite } from '../content/site-settings.ts'
import { problemsOf } from '../content/validate.ts'
import { findContainerById, listContainers, readByContainer } from '../store/containers.ts'
import { eachObject } from '../store/each-object.ts'
import { listSites } from '../store/sites.ts'
import type { Check, CheckedGroup, DoctorContext } from './check.ts'
import { counted, createTally, type Tally } from './words.ts'

function problemsIn(groupId: string, { schema }: Container, value: Record<string, unknown>): string[] {
  const problems = problemsOf(schema, value)
  if (problems.length > 0) return problems
  const foreign = mediaKeysIn(schema, value).filter((key) => !isKeyOfGroup(groupId, key))
  return foreign.map((key) => `the media key "${key}" is not one of this group`)
}

/** What does not fit: how to look at it, and the first of its problems. */
interface Misfit {
  name: string
  command: string
}

async function misfitsIn({ group, content }: CheckedGroup, container: Container, onRead: () => void) {
  const misfits = createTally<Misfit>()
  const show = container.kind === 'collection' ? 'object show' : 'product show'
  for await (const { id, value } of eachObject(content, container.id)) {
    const [problem] = problemsIn(group.id, container, value)
    if (problem !== undefined)
      misfits.add({
        name: `${group.name}, ${container.name}: ${id}: ${problem}`,
        command: `npx sluice ${show} ${group.id} ${id}`,
      })
    onRead()
  }
  return misfits
}

async function checkGroup(ctx: DoctorContext, checked: CheckedGroup): Promise<Tally<Misfit>> {
  const { group, content } = checked
  const misfits = createTally<Misfit>()
  for (const { id, name } of await listContainers(content)) {
    let read = 0
    const onRead = () => {
      read += 1
      if (read % 500 === 0) ctx.progress(`Values: ${group.name}, ${name}, ${read} read`)
    }
    const find = () => findContainerById(content, id)
    const found = await readByContainer(content, find, (container) => misfitsIn(checked, container, onRead))
    if (found) misfits.addAll(found)
  }
  for (const site of await listSites(content)) {
    const [problem] = problemsOfSite(group.id, site)
    const command = `npx sluice site show ${group.id} ${site.id}`
    if (problem !== undefined) misfits.add({ name: `${group.name}, site "${site.name}": ${problem}`, command })
  }
  return misfits
}

/** What is stored was good when it was written; rules may have been tightened since. It is delivered all the same. */
export const valuesCheck: Check = {
  name: 'Values',
  async run(ctx) {
    const misfits = createTally<Misfit>()
    for (const checked of await ctx.groups()) misfits.addAll(await checkGroup(ctx, checked))
    if (misfits.count === 0) return []
    return [
      {
        level: 'attention',
        what: `${counted(misfits.count, 'object or site does', 'objects or sites do')} not fit the rules for their values.`,
        examples: misfits.first.map(({ name }) => name),
        advice:
          'They are delivered as they are, but their next change is refused until it corrects them. To see the first:',
        commands: misfits.first.slice(0, 1).map(({ command }) => command),
      },
    ]
  },
}
