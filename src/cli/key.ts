import { toIso } from '../content/moments.ts'
import { createApiKey, listApiKeys, revokeApiKey } from '../store/api-keys.ts'
import { findGroup } from '../store/groups.ts'
import { type Command, printResult, textOption, toTable } from './command.ts'

const keyCreate: Command = {
  name: 'key create',
  summary: 'Make an API key for a group',
  args: ['group'],
  options: { label: { type: 'string' } },
  help: `<group> is an id or a name. A group can have several keys; to rotate, make a new one, deploy it, revoke the old one.

Options:
  --label <text>   what the key is for, shown in lists

Example:
  sluice key create "Corner Bakery" --label "production website"`,
  async run(context, input) {
    const store = await context.store()
    const group = await findGroup(store, input.args[0] ?? '')
    const created = await createApiKey(store, group.id, textOption(input, 'label') ?? '', context.clock())
    printResult(
      context,
      input,
      created,
      `${created.key}\n\nThis key of "${group.name}" is shown only now. Keep it on your server.`,
    )
  },
}

const keyList: Command = {
  name: 'key list',
  summary: 'Show the keys of a group',
  args: ['group'],
  options: {},
  help: `<group> is an id or a name. Keys are stored hashed: only their beginning is shown.`,
  async run(context, input) {
    const store = await context.store()
    const keys = await listApiKeys(store, (await findGroup(store, input.args[0] ?? '')).id)
    const rows = keys.map((key) => [
      key.id,
      `${key.prefix}…`,
      key.label,
      toIso(key.createdMs),
      key.revokedMs === null ? 'live' : `revoked ${toIso(key.revokedMs)}`,
    ])
    const table = toTable(['ID', 'KEY', 'LABEL', 'CREATED', 'STATE'], rows)
    printResult(context, input, keys, keys.length > 0 ? table : 'No keys yet. Make one: npx sluice key create <group>')
  },
}

const keyRevoke: Command = {
  name: 'key revoke',
  summary: 'End an API key',
  args: ['group', 'key'],
  options: {},
  help: `<group> is an id or a name; <key> is the key itself, its id, or the beginning that "npx sluice key list" shows.
Takes effect within 1 second, also on servers that are running.`,
  async run(context, input) {
    const store = await context.store()
    const [groupName = '', keyName = ''] = input.args
    const group = await findGroup(store, groupName)
    const key = await revokeApiKey(store, group.id, keyName.replace(/…$/, ''), context.clock())
    printResult(context, input, key, `Key ${key.prefix}… is revoked.`)
  },
}

export const keyCommands = [keyCreate, keyList, keyRevoke]
