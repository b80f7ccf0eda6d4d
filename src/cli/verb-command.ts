import { userInfo } from 'node:os'
import { invalid } from '../errors.ts'
import { type Actor, runVerb, type Verb } from '../manage/verb.ts'
import { createMedia, type Media } from '../media/media.ts'
import { findCollectionByName } from '../store/containers.ts'
import { findGroup, openContentOf } from '../store/groups.ts'
import type { Store } from '../store/open.ts'
import { findUserByEmail } from '../store/users.ts'
import { type Command, type CommandContext, type CommandInput, printResult } from './command.ts'
import { isList, showList, showRecord } from './show.ts'
import { type InputSchema, optionConfig, optionName, parseOption, placeholderOf } from './verb-options.ts'

/** Whoever can run commands on this machine can read its databases: there is nothing left to forbid. */
export function terminalActor(): Actor {
  return {
    id: null,
    name: `${userInfo().username} (terminal)`,
    address: 'terminal',
    administrator: true,
    roleIn: () => 'owner',
    tokenExpiresMs: null,
  }
}

/** The addresses of files are those that the server hands out. */
export function mediaOf({ config, clock }: CommandContext): Media {
  const { publicUrl, host, port } = config
  return createMedia(config, () => publicUrl ?? `http://${host}:${port}`, clock)
}

const propertiesOf = (verb: Verb): [string, InputSchema][] =>
  Object.entries(verb.input.properties as Record<string, InputSchema>)

/** What stands without an option's name: the places in the path, and what a person would say next. */
function argumentsOf(verb: Verb): string[] {
  return [...verb.inPath, ...verb.args]
}

const shownArgument = (name: string): string => name.replace(/^(group|collection|user)Id$/, '$1')

function helpOf(verb: Verb): string {
  const args = argumentsOf(verb)
  const required = new Set(verb.input.required ?? [])
  const options = propertiesOf(verb)
    .filter(([name]) => !args.includes(name))
    .map(([name, schema]) => {
      const mark = required.has(name) ? ' (required)' : ''
      return [
        `--${optionName(name)} ${placeholderOf(name, schema)}`.trim(),
        `${(schema.description ?? '').replace(/ In seconds\.$/, '')}${mark}`,
      ]
    })
  const width = Math.max(0, ...options.map(([left = '']) => left.length))
  const lines = options.map(([left = '', right = '']) => `  ${left.padEnd(Math.min(width, 36))}   ${right.trim()}`)
  const names = [
    ...(args.includes('groupId') ? ['<group> is an id or a name.'] : []),
    ...(args.includes('collectionId') ? ['<collection> is an id or a name.'] : []),
    ...(args.includes('userId') ? ['<user> is an id or an e-mail address.'] : []),
  ]
  return [verb.description, names.join(' '), lines.length > 0 ? ['Options:', ...lines].join('\n') : '']
    .filter(Boolean)
    .join('\n\n')
}

/** People type names where the API takes ids. */
export async function resolveNames(store: Store, input: Record<string, unknown>): Promise<void> {
  if (typeof input.userId === 'string') input.userId = (await findUserByEmail(store, input.userId))?.id ?? input.userId
  if (typeof input.groupId !== 'string') return
  const group = await findGroup(store, input.groupId)
  input.groupId = group.id
  if (typeof input.collectionId !== 'string') return
  const named = await findCollectionByName(await openContentOf(store, group), input.collectionId)
  if (named) input.collectionId = named.id
}

export function inputOf(verb: Verb, { args, options }: CommandInput): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  const properties = new Map(propertiesOf(verb))
  for (const [position, name] of argumentsOf(verb).entries()) {
    input[name] = parseOption(name, properties.get(name) ?? {}, args[position] ?? '')
  }
  for (const [name, schema] of properties) {
    const value = options[optionName(name)]
    if (value !== undefined) input[name] = parseOption(name, schema, value)
  }
  const missing = (verb.input.required ?? []).filter((name) => input[name] === undefined)
  if (missing.length > 0) {
    const names = missing.map((name) => `--${optionName(name)}`)
    throw invalid(`${names.join(' and ')} must be given. More: sluice ${verb.name} --help`)
  }
  return input
}

const secretNames = ['key', 'token']

/** A file has a key as well, which is no secret. */
const isSecret = (value: unknown): boolean => typeof value === 'string' && value.startsWith('slc_')

/** Signed addresses are long, and only the server knows for sure under which address it is reached. --json has them. */
export function withoutAddresses(record: Record<string, unknown>): Record<string, unknown> {
  const { currentFile: _, ...rest } = record
  return rest
}

function inWords(verb: Verb, data: unknown): string {
  if (typeof data === 'string') return data.trimEnd()
  if (isList(data)) return showList(data, verb.columns)
  const record = data as Record<string, unknown>
  if (record.done === true) return 'Done.'
  const secret = secretNames.find((name) => isSecret(record[name]) && verb.isCreation)
  if (secret === undefined) return showRecord(withoutAddresses(record))
  const { [secret]: value, ...rest } = record
  return `${value}\n\nThis ${secret} is shown only now. Keep it where nobody else can read it.\n\n${showRecord(rest)}`
}

/** A verb as a command. */
export function toCommand(verb: Verb): Command {
  const args = argumentsOf(verb)
  const options = propertiesOf(verb).filter(([name]) => !args.includes(name))
  return {
    name: verb.name,
    summary: verb.summary,
    args: args.map(shownArgument),
    options: Object.fromEntries(options.map(([name, schema]) => [optionName(name), optionConfig(name, schema)])),
    help: helpOf(verb),
    async run(context: CommandContext, given: CommandInput) {
      const input = inputOf(verb, given)
      const store = await context.store()
      await resolveNames(store, input)
      const deps = { store, media: mediaOf(context), clock: context.clock }
      const data = await runVerb(deps, terminalActor(), verb, input)
      const next = verb.next(data)
      printResult(context, given, data, inWords(verb, data) + (next && `\n\nNext: ${next}`))
    },
  }
}
