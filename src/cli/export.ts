import { openStorage } from '../media/open.ts'
import { findGroup } from '../store/control/groups.ts'
import { type Command, printResult, toTable } from './command.ts'
import { withProgress } from './progress.ts'

export const exportGroupCommand: Command = {
  name: 'export group',
  summary: 'Export a whole group into a folder',
  args: ['group', 'folder'],
  options: {},
  help: `A consistent snapshot of sites, collections, products, orders, versions, working copies and files, taken while servers run.
The folder gets group.ndjson, with one JSON object per line, and media/. Keys, tokens, preview links, users, and payment accounts with
their secrets are not exported; customers' addresses are. The folder must not exist yet, or be empty, or have an earlier
export of the same group, which is then replaced.

<group> is an id or a name. To import it elsewhere: sluice import group <folder>`,
  async run(context, input) {
    const { exportGroup } = await import('../transfer/export/export-group.ts') // loads much that no server needs
    const [which = '', folder = ''] = input.args
    const store = await context.store()
    const storage = openStorage(context.config)
    const group = await findGroup(store, which)
    const counts = await withProgress(!input.options.json, (onProgress) =>
      exportGroup({ store, storage, nowMs: context.clock(), onProgress }, group, folder),
    )
    const table = toTable(
      ['', 'EXPORTED'],
      Object.entries(counts).map(([name, count]) => [name, String(count)]),
    )
    const text = `Exported "${group.name}" to ${folder}.\n\n${table}\n\nNext: npx sluice import group ${folder}`
    printResult(context, input, { groupId: group.id, name: group.name, folder, ...counts }, text)
  },
}
