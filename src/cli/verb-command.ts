import { userInfo } from 'node:os'
import { invalid } from '../core/errors.ts'
import { createMail } from '../mail/mail.ts'
import { type Actor, type ManageDeps, runVerb, type Verb } from '../manage/verb.ts'
import { createMedia } from '../media/media.ts'
import { createPayments } from '../payments/payments.ts'
import { loadMasterKey } from '../security/master-key.ts'
import { createVault } from '../security/vault.ts'
import { listIntegrations } from '../store/commerce/integrations.ts'
import { findCollectionByName, findIntegration } from '../store/content/containers.ts'
import { findGroup, openContentOf } from '../store/control/groups.ts'
import { findUserByEmail } from '../store/control/users.ts'
import type { Store } from '../store/store.ts'
import { type Command, type CommandContext, type CommandInput, printResult } from './command.ts'
import { readSecret } from './read-secret.ts'
import { isList, showList, showRecord } from './show.ts'
import { type InputSchema, optionConfig, optionName, parseOption, placeholderOf } from './verb-options.ts'

/** A user who can run commands on this machine can read its databases anyway, so nothing is forbidden. */
export function terminalActor(): Actor {
  return {
    id: null,
    name: `${userInfo().username} (terminal)`,
    address: 'terminal',
    administrator: true,
    narrowed: false,
    roleIn: () => 'owner',
    tokenExpiresMs: null,
  }
}

/** Creates the verbs' dependencies for the duration of `work`. URLs are those of the server. */
export async function withManaging<Result>(
  { config, clock, logger, store: openStore }: CommandContext,
  work: (deps: ManageDeps) => Promise<Result>,
): Promise<Result> {
  const { publicUrl, host, port } = config
  const baseUrl = () => publicUrl ?? `http://${host}:${port}`
  const store = await openStore()
  const masterKey = loadMasterKey(config.dataDir, config.masterKey)
  const vault = createVault(masterKey)
  const payments = createPayments({ config, vault, store, clock, baseUrl, logger })
  const media = createMedia(config, baseUrl, clock)
  const mail = createMail({ config, masterKey, vault, store, media })
  try {
    return await work({ store, payments, media, mail, clock })
  } finally {
    mail.close()
  }
}

const propertiesOf = (verb: Verb): [string, InputSchema][] =>
  Object.entries(verb.input.properties as Record<string, InputSchema>)

/** Positional arguments: the path parameters, then the verb's own. */
const argumentsOf = (verb: Verb): string[] => [...verb.inPath, ...verb.args]

function optionsOf(verb: Verb): [string, InputSchema][] {
  const args = argumentsOf(verb)
  return propertiesOf(verb).filter(([name, { writeOnly }]) => !args.includes(name) && !writeOnly)
}

const secretsOf = (verb: Verb): [string, InputSchema][] => propertiesOf(verb).filter(([, { writeOnly }]) => writeOnly)

const shownArgument = (name: string): string => name.replace(/^(group|collection|user|integration)Id$/, '$1')

function helpOf(verb: Verb): string {
  const args = argumentsOf(verb)
  const properties = new Map(propertiesOf(verb))
  const required = new Set(verb.input.required ?? [])
  const options = optionsOf(verb).map(([name, schema]) => {
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
    ...(args.includes('integrationId') ? ['<integration> is an id or an account’s handle.'] : []),
    ...(args.includes('userId') ? ['<user> is an id or an e-mail address.'] : []),
  ]
  const described = verb.args.flatMap((name) => {
    const { description } = properties.get(name) ?? {}
    return description ? [`<${shownArgument(name)}>: ${description}`] : []
  })
  const secrets = secretsOf(verb).map(
    ([, { description = '', 'x-variable': variable }]) =>
      `The secret comes from ${variable}, or from standard input. ${description}`,
  )
  return [
    verb.description,
    ...secrets,
    names.join(' '),
    described.join('\n'),
    lines.length > 0 ? ['Options:', ...lines].join('\n') : '',
  ]
    .filter(Boolean)
    .join('\n\n')
}

/** Replaces names by the ids that verbs expect. */
export async function resolveNames(store: Store, input: Record<string, unknown>): Promise<void> {
  if (typeof input.userId === 'string') input.userId = (await findUserByEmail(store, input.userId))?.id ?? input.userId
  if (typeof input.groupId !== 'string') return
  const group = await findGroup(store, input.groupId)
  input.groupId = group.id
  const content = await openContentOf(store, group)
  if (typeof input.integrationId === 'string') {
    const { integrationId } = input
    const named = (await listIntegrations(content)).filter(({ accountHandle }) => accountHandle === integrationId)
    if (named.length === 1) input.integrationId = named[0]?.id
  }
  if (typeof input.collectionId !== 'string') return
  const { collectionId } = input
  const named = (await findCollectionByName(content, collectionId)) ?? (await findIntegration(content, collectionId))
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
  const secrets = secretsOf(verb).map(([name]) => name)
  const missing = (verb.input.required ?? []).filter((name) => input[name] === undefined && !secrets.includes(name))
  if (missing.length > 0) {
    const names = missing.map((name) => `--${optionName(name)}`)
    throw invalid(`${names.join(' and ')} must be given. Help: sluice ${verb.name} --help`)
  }
  return input
}

const secretNames = ['key', 'token']

/** A file also has a key, which is not a secret. */
const isSecret = (value: unknown): boolean => typeof value === 'string' && value.startsWith('slc_')

/** Signed URLs are long, and only the server is certain of its public base URL. --json shows them. */
export function withoutSignedUrls(record: Record<string, unknown>): Record<string, unknown> {
  const { currentFile: _, ...rest } = record
  return rest
}

function inWords(verb: Verb, data: unknown): string {
  if (typeof data === 'string') return data.trimEnd()
  if (isList(data)) return showList(data, verb.columns)
  const record = data as Record<string, unknown>
  if (record.done === true) return 'Done.'
  const secret = secretNames.find((name) => isSecret(record[name]) && verb.isCreation)
  if (secret === undefined) return showRecord(withoutSignedUrls(record), verb.answer)
  const { [secret]: value, ...rest } = record
  return `${value}\n\nThis ${secret} is shown only once. Store it where nobody else can read it.\n\n${showRecord(rest)}`
}

const syncsCatalogue = ({ name }: Verb): boolean =>
  ['integration connect', 'integration sandbox', 'integration sync'].includes(name)

export function toCommand(verb: Verb): Command {
  return {
    name: verb.name,
    summary: verb.summary,
    args: argumentsOf(verb).map(shownArgument),
    options: Object.fromEntries(
      optionsOf(verb).map(([name, schema]) => [optionName(name), optionConfig(name, schema)]),
    ),
    help: helpOf(verb),
    async run(context: CommandContext, given: CommandInput) {
      const input = inputOf(verb, given)
      for (const [name, { 'x-variable': variable = '' }] of secretsOf(verb)) input[name] = await readSecret(variable)
      await withManaging(context, async (deps) => {
        await resolveNames(deps.store, input)
        let data = await runVerb(deps, terminalActor(), verb, input)
        if (syncsCatalogue(verb)) {
          const { followCatalogueSync } = await import('./follow-catalogue-sync.ts') // loads the job worker
          data = await followCatalogueSync(deps, context, input, data, given)
        }
        const next = verb.next(data)
        printResult(context, given, data, inWords(verb, data) + (next && `\n\nNext: ${next}`))
      })
    },
  }
}
