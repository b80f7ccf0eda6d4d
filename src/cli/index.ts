import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import packageFile from '../../package.json' with { type: 'json' }
import { invalid } from '../core/errors.ts'
import { verbs } from '../manage/index.ts'
import type { Command, CommandContext, CommandInput } from './command.ts'
import { actAsDataOwner } from './data-owner.ts'
import { doctorCommand } from './doctor.ts'
import { exportGroupCommand } from './export.ts'
import { importCommands } from './import.ts'
import { mailPageCommand } from './mail-page.ts'
import { migrateCommand } from './migrate.ts'
import { seedCommand } from './seed.ts'
import { serveCommand } from './serve.ts'
import { toUploadCommand } from './upload-command.ts'
import { toCommand } from './verb-command.ts'

const commands: readonly Command[] = [
  serveCommand,
  migrateCommand,
  seedCommand,
  doctorCommand,
  exportGroupCommand,
  ...importCommands,
  ...verbs.map((verb) => (verb.takesFile ? toUploadCommand(verb) : toCommand(verb))),
  mailPageCommand,
]

const usageOf = ({ name, args, repeatsLast }: Command): string =>
  ['sluice', name, ...args.map((arg) => `<${arg}>`)].join(' ') + (repeatsLast ? ' …' : '')

function listOf(shown: readonly Command[]): string {
  const width = Math.max(...shown.map((command) => usageOf(command).length))
  return shown.map((command) => `  ${usageOf(command).padEnd(width)}   ${command.summary}`).join('\n')
}

/** Commands of one word, then all others grouped by their first word. */
function overview(): string {
  const alone = commands.filter(({ name }) => !name.includes(' '))
  const families = Map.groupBy(
    commands.filter(({ name }) => name.includes(' ')),
    ({ name }) => name.split(' ')[0] ?? '',
  )
  const shared = [...families]
  const width = Math.max(...shared.map(([family]) => family.length))
  const lines = shared.map(([family, members]) => {
    const actions = members.map(({ name }) => name.slice(family.length + 1))
    return `  sluice ${family.padEnd(width)}   ${actions.join(', ')}`
  })
  return `Sluice delivers a website's content, products and previews to its server.

${listOf(alone)}

By subject:

${lines.join('\n')}

"sluice object --help" shows the commands of a family, "sluice object create --help" one of them. All take --json for
scripts, and work while a server is running. To look around with demo content: npm start`
}

const helpOf = (command: Command): string =>
  `${usageOf(command)}\n\n${command.summary}.\n${command.help && `\n${command.help}\n`}`

/** The command whose words begin the arguments, and the rest of them. */
function findCommand(argv: string[]): { command: Command; rest: string[] } | undefined {
  for (const command of commands) {
    const words = command.name.split(' ')
    if (words.every((word, position) => argv[position] === word)) return { command, rest: argv.slice(words.length) }
  }
  return undefined
}

export async function runCommand(argv: string[], context: CommandContext): Promise<void> {
  const [first] = argv
  if (first === undefined || first === 'help' || first === '--help' || first === '-h') return context.print(overview())
  if (first === '--version') return context.print(packageFile.version)
  const found = findCommand(argv)
  if (!found) {
    const isHelp = ['--help', '-h'].includes(argv.at(-1) ?? '')
    const words = isHelp ? argv.slice(0, -1) : argv
    const asked = commands.filter(({ name }) => name.startsWith(`${words.join(' ')} `))
    if (asked.length > 0) return context.print(listOf(asked))
    const near = commands.filter(({ name }) => name.split(' ')[0] === first).map(usageOf)
    const hint =
      near.length > 0 ? `Did you mean:\n  ${near.join('\n  ')}` : 'Run "npx sluice --help" to see all commands.'
    throw invalid(`There is no command "${argv.join(' ')}". ${hint}`)
  }
  const { command, rest } = found
  // `--group` is accepted instead of the positional argument, for readable scripts.
  const groupIndex = command.args.indexOf('group')
  const group: ParseArgsOptionsConfig = groupIndex < 0 ? {} : { group: { type: 'string' } }
  const common = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const
  const { values, positionals } = parseArgs({
    args: rest,
    options: { ...group, ...command.options, ...common },
    allowPositionals: true,
    allowNegative: true, // --no-moderation
  })
  if (values.help) return context.print(helpOf(command))
  const named = (values as CommandInput['options']).group
  if (groupIndex >= 0 && typeof named === 'string') positionals.splice(groupIndex, 0, named)
  const { length: wanted } = command.args
  if (command.repeatsLast ? positionals.length < wanted : positionals.length !== wanted)
    throw invalid(`Usage: ${usageOf(command)}\nMore: sluice ${command.name} --help`)
  actAsDataOwner(context.config, command.name)
  await command.run(context, { args: positionals, options: values as CommandInput['options'] })
}
