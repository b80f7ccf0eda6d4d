import { toIso } from '../content/moments.ts'
import { createGroup, findGroup, listGroups, setFrozen } from '../store/groups.ts'
import { tiers } from '../tiers.ts'
import { type Command, printResult, textOption, toTable } from './command.ts'

const groupCreate: Command = {
  name: 'group create',
  summary: 'Make a group (tenant)',
  args: ['name'],
  options: { tier: { type: 'string' }, database: { type: 'string' }, bucket: { type: 'string' } },
  help: `Options:
  --tier ${tiers.join('|')}   sets the rate limit (default: free)
  --database <name>       content database; groups can share one (default: main)
  --bucket <name>         media bucket; groups can share one (default: media)

Example:
  sluice group create "Corner Bakery" --tier pro`,
  async run(context, input) {
    const [name = ''] = input.args
    const tier = textOption(input, 'tier')
    const database = textOption(input, 'database')
    const bucketName = textOption(input, 'bucket')
    const group = await createGroup(
      await context.store(),
      { name, ...(tier && { tier }), ...(database && { database }), ...(bucketName && { bucketName }) },
      context.clock(),
    )
    const next = `Next: npx sluice key create ${group.id}`
    printResult(context, input, group, `Made group ${group.id} "${group.name}" (${group.tier}).\n${next}`)
  },
}

const groupList: Command = {
  name: 'group list',
  summary: 'Show all groups',
  args: [],
  options: {},
  help: '',
  async run(context, input) {
    const groups = await listGroups(await context.store())
    const rows = groups.map((group) => [
      group.id,
      group.name,
      group.tier,
      group.frozen ? 'frozen' : 'active',
      group.database,
      toIso(group.createdMs),
    ])
    const table = toTable(['ID', 'NAME', 'TIER', 'STATE', 'DATABASE', 'CREATED'], rows)
    printResult(
      context,
      input,
      groups,
      groups.length > 0 ? table : 'No groups yet. Make one: npx sluice group create <name>',
    )
  },
}

function freezing(name: string, frozen: boolean, summary: string): Command {
  return {
    name,
    summary,
    args: ['group'],
    options: {},
    help: `<group> is an id or a name. Takes effect within 1 second, also on servers that are running.`,
    async run(context, input) {
      const store = await context.store()
      const group = await findGroup(store, input.args[0] ?? '')
      await setFrozen(store, group.id, frozen)
      printResult(context, input, { ...group, frozen }, `Group "${group.name}" is ${frozen ? 'frozen' : 'active'}.`)
    },
  }
}

export const groupCommands = [
  groupCreate,
  groupList,
  freezing('group freeze', true, 'Refuse all requests of a group'),
  freezing('group unfreeze', false, 'Serve a group again'),
]
