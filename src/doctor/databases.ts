import type { AnyFound, FoundDatabases } from '../store/checks/databases.ts'
import {
  brokenReferencesStatement,
  countBrokenReferences,
  findDamage,
  findInvalidIndexes,
  findMissingIndexes,
  listWantedIndexes,
  reindexStatement,
} from '../store/checks/integrity.ts'
import { describeRefusal } from '../store/engine/unavailable.ts'
import { type Check, type DoctorContext, type Finding, NotChecked } from './check.ts'
import { counted, messageOf, shellWord } from './format.ts'

/** The command that runs a statement in one of our databases. */
export function sqlCommand({ place, database }: AnyFound, statement: string): string {
  if (database?.engine === 'postgres') return `psql "$DATABASE_URL" -c ${shellWord(statement)}`
  return `sqlite3 ${shellWord(place)} ${shellWord(statement)}`
}

/** All databases that can be opened, the control database first. */
export async function openDatabases(ctx: DoctorContext): Promise<AnyFound[]> {
  const { control, contents } = await ctx.databases()
  const open = [control, ...contents].filter(({ database }) => database !== undefined)
  if (open.length === 0) throw new NotChecked('there is no database to look at')
  return open
}

function unreachable({ config: { databaseUrl } }: DoctorContext, error: unknown): Finding {
  const refusal = describeRefusal(error)
  const what = `The databases cannot be reached: ${refusal?.problem ?? messageOf(error)}.`
  if (databaseUrl === undefined)
    return { level: 'wrong', what, advice: 'Let the user that runs Sluice read and write DATA_DIR.' }
  return {
    level: 'wrong',
    what,
    advice: `${refusal?.advice ?? 'Start PostgreSQL, or set DATABASE_URL to where it is and to a role that may use it.'} To try:`,
    commands: ['psql "$DATABASE_URL" -c "select 1"'],
  }
}

const nothingYet: Finding = {
  level: 'attention',
  what: 'There is no database yet.',
  advice: 'If you expect content, DATA_DIR or DATABASE_URL leads somewhere else. The first start makes it, or:',
  commands: ['npx sluice migrate'],
}

const unreadable = ({ place, failure }: AnyFound): Finding => ({
  level: 'wrong',
  what: `${place} cannot be opened: ${messageOf(failure)}.`,
  advice:
    'Give it to the user that runs Sluice. If it is damaged, stop the servers, keep a copy, and restore your newest backup.',
})

const missing = ({ name, place }: AnyFound): Finding => ({
  level: 'wrong',
  what: `Groups keep their content in the database "${name}", and ${place} is not there.`,
  advice: 'Restore it from your newest backup before you start a server, which would make an empty one.',
})

async function checkPreparedStatements({ config }: DoctorContext, found: FoundDatabases): Promise<Finding[]> {
  if (config.databasePrepare === 'off' || (await found.supportsPreparedStatements())) return []
  return [
    {
      level: 'attention',
      what: 'The pooler before PostgreSQL loses prepared statements, so the service does without them.',
      advice:
        'Say so, and a start need not find it out; or let the pooler keep them (PgBouncer 1.21 or newer with max_prepared_statements above 0).',
      commands: ['DATABASE_PREPARE=off'],
    },
  ]
}

/** The databases exist and can be opened. */
export const databasesCheck: Check = {
  name: 'Databases',
  async run(ctx) {
    const found = await ctx.reach().catch((error: unknown) => ({ error }))
    if ('error' in found) return [unreachable(ctx, found.error)]
    const { control, contents } = found
    const unopened = [control, ...contents].filter(({ failure }) => failure !== undefined)
    const absent = contents.filter(({ database, failure }) => database === undefined && failure === undefined)
    const isControlAbsent = control.database === undefined && control.failure === undefined
    return [
      ...(isControlAbsent ? [contents.length > 0 ? missing(control) : nothingYet] : []),
      ...unopened.map(unreadable),
      ...absent.map(missing),
      ...(await checkPreparedStatements(ctx, found)),
    ]
  },
}

const older = ({ place, version, knownVersion }: AnyFound): Finding => ({
  level: 'attention',
  what: `${place} is at schema version ${version}, and this Sluice works with ${knownVersion}.`,
  advice: 'Every start of a server brings it there; to do it ahead of that:',
  commands: ['npx sluice migrate'],
})

const newer = ({ place, version, knownVersion }: AnyFound): Finding => ({
  level: 'wrong',
  what: `${place} is at schema version ${version}, and this Sluice knows only ${knownVersion}: it will not start.`,
  advice: 'A newer Sluice has changed it. Install that version again, or restore a backup from before its upgrade.',
})

export const schemaVersionsCheck: Check = {
  name: 'Schema versions',
  async run(ctx) {
    return (await openDatabases(ctx)).flatMap((found) => {
      if (found.version === found.knownVersion) return []
      return [found.version < found.knownVersion ? older(found) : newer(found)]
    })
  },
}

async function checkFile(found: AnyFound): Promise<Finding[]> {
  const { database, place } = found
  if (!database) return []
  const damage = await findDamage(database)
  if (damage.length > 0)
    return [
      {
        level: 'wrong',
        what: `${place} is damaged.`,
        examples: damage,
        advice: 'Stop the servers, keep a copy of the file, and restore your newest backup. What can still be read:',
        commands: [`sqlite3 ${shellWord(place)} .recover > recovered.sql`],
      },
    ]
  const broken = await countBrokenReferences(database)
  if (broken.length === 0) return []
  return [
    {
      level: 'wrong',
      what: `${place} has rows that refer to rows that are not there.`,
      examples: broken.map(({ table, parent, count }) => `${counted(count, 'row')} of ${table} to ${parent}`),
      advice:
        'Something other than Sluice has changed it. Stop the servers and restore your newest backup. To see each row:',
      commands: [sqlCommand(found, brokenReferencesStatement)],
    },
  ]
}

async function checkSchema(found: AnyFound): Promise<Finding[]> {
  const { database, place } = found
  if (!database) return []
  const invalid = await findInvalidIndexes(database)
  if (invalid.length === 0) return []
  return [
    {
      level: 'wrong',
      what: `${counted(invalid.length, 'index', 'indexes')} of the schema ${place} cannot be used by PostgreSQL.`,
      examples: invalid,
      advice: 'Make them again; writers wait meanwhile:',
      commands: invalid.map((index) => sqlCommand(found, reindexStatement(database.schemaName, index))),
    },
  ]
}

export const integrityCheck: Check = {
  name: 'Integrity of the databases',
  async run(ctx) {
    const findings: Finding[] = []
    for (const found of await openDatabases(ctx)) {
      ctx.progress(`Integrity of ${found.place}`)
      findings.push(...(await (found.database?.engine === 'postgres' ? checkSchema(found) : checkFile(found))))
    }
    return findings
  },
}

async function checkDatabase(found: AnyFound): Promise<Finding[]> {
  const { place, migrations, version, knownVersion, database } = found
  if (!database || version !== knownVersion) return []
  const missing = await findMissingIndexes(database, await listWantedIndexes(migrations))
  if (missing.length === 0) return []
  return [
    {
      level: 'wrong',
      what: `${place} lacks ${counted(missing.length, 'index', 'indexes')}: answers are slow, and what must be unique may not be.`,
      examples: missing.map(({ name }) => name),
      advice: 'Something other than Sluice has dropped them. Make them again:',
      commands: missing.map(({ statement }) => sqlCommand(found, statement)),
    },
  ]
}

/** The indexes of the database itself, not the index of objects by which clients filter. */
export const databaseIndexesCheck: Check = {
  name: 'Indexes of the databases',
  async run(ctx) {
    const findings: Finding[] = []
    for (const found of await openDatabases(ctx)) findings.push(...(await checkDatabase(found)))
    return findings
  },
}
