import { collectionIdsIn } from '../content/pages.ts'
import { listContainers } from '../store/containers.ts'
import { listSites } from '../store/sites.ts'
import type { Check, CheckedGroup, Finding } from './check.ts'
import { counted } from './words.ts'

async function checkGroup({ group, content }: CheckedGroup): Promise<Finding[]> {
  // Sites first: a collection that is made meanwhile is there when a page shows it.
  const sites = await listSites(content)
  const known = new Set((await listContainers(content, 'collection')).map(({ id }) => id))
  return sites.flatMap(({ id, name, version, settings }): Finding[] => {
    const unknown = collectionIdsIn(settings).filter((collectionId) => !known.has(collectionId))
    if (unknown.length === 0) return []
    return [
      {
        level: 'wrong',
        what: `Pages of the site "${name}" of ${group.name} show ${counted(unknown.length, 'collection')} that the group does not have.`,
        examples: unknown.slice(0, 5),
        advice: 'Take them out of settings.pages, or put other collections in their place:',
        commands: [
          `npx sluice site show ${group.id} ${id}`,
          `npx sluice site update ${group.id} ${id} --version ${version} --settings '{"pages": [...]}'`,
        ],
      },
    ]
  })
}

export const sitePagesCheck: Check = {
  name: 'Pages of sites',
  async run(ctx) {
    const findings: Finding[] = []
    for (const checked of await ctx.groups()) findings.push(...(await checkGroup(checked)))
    return findings
  },
}
