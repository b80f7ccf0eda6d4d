import { toIso } from '../content/moments.ts'
import { invalid } from '../errors.ts'
import { findGroup, openGroup } from '../store/groups.ts'
import { createPreviewToken, revokePreviewToken } from '../store/preview-tokens.ts'
import { type Command, type CommandContext, type CommandInput, printResult, textOption } from './command.ts'

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

function parseDuration(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const seconds = unitSeconds[unit]
  if (amount === undefined || seconds === undefined) throw invalid('--for takes a duration such as 30m, 24h or 7d.')
  return Number(amount) * seconds
}

function parseUses(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw invalid('--max-uses takes a whole number.')
  return Number(text)
}

async function groupOf(context: CommandContext, { args }: CommandInput) {
  const store = await context.store()
  const group = await findGroup(store, args[0] ?? '')
  return openGroup(store, { database: group.database, groupID: group.id })
}

const previewCreate: Command = {
  name: 'preview create',
  summary: 'Share one object before it is published',
  args: ['group', 'objectId'],
  options: { for: { type: 'string' }, 'max-uses': { type: 'string' } },
  help: `<group> is an id or a name.

Options:
  --for <duration>     how long the link lives: 1m to 30d (default: 24h)
  --max-uses <number>  how often it can be opened (default: without limit)

Example:
  sluice preview create "Corner Bakery" 66f0c0ffee0123456789abcd --for 7d`,
  async run(context, input) {
    const life = textOption(input, 'for')
    const uses = textOption(input, 'max-uses')
    const group = await groupOf(context, input)
    const created = await createPreviewToken(
      group,
      {
        objectId: input.args[1] ?? '',
        ...(life !== undefined && { lifeSeconds: parseDuration(life) }),
        ...(uses !== undefined && { maxUses: parseUses(uses) }),
      },
      context.clock(),
    )
    const ending = `This token is shown only now. It ends ${toIso(created.expiresMs)}.`
    const text = `${created.token}\n\n${ending}\nTo end it earlier: npx sluice preview revoke ${group.groupId} ${created.id}`
    printResult(context, input, created, text)
  },
}

const previewRevoke: Command = {
  name: 'preview revoke',
  summary: 'End a preview link',
  args: ['group', 'previewId'],
  options: {},
  help: `<previewId> is the id (not the token) that "sluice preview create" printed. Takes effect at once.`,
  async run(context, input) {
    const [, id = ''] = input.args
    await revokePreviewToken(await groupOf(context, input), id, context.clock())
    printResult(context, input, { id, revoked: true }, `Preview link ${id} is revoked.`)
  },
}

export const previewCommands = [previewCreate, previewRevoke]
