import type { AnyFound, FoundDatabase, FoundDatabases } from '../store/checks/databases.ts'
import {
  brokenReferencesStatement,
  countBrokenReferences,
  findDamage,
  findInvalidIndexes,
  findMissingIndexes,
  hasTrigramIndex,
  listWantedIndexes,
  reindexStatement,
} from '../store/checks/integrity.ts'
import { describeRefusal } from '../store/engine/unavailable.ts'
import { postgresIndexStatements } from '../store/schema/migrations/content-search.ts'
import type { ContentTables } from '../store/schema/tables.ts'
import { schemaOf } from '../store/store.ts'
import { attention, type Check, type DoctorContext, type Finding, NotChecked, wrong } from './check.ts'
import { counted, messageOf, shellWord } from './format.ts'

/** The command that runs a statement in one of our databases. */
export function sqlCommand({ location, database }: AnyFound, statement: string): string {
  if (database?.engine === 'postgres') return `psql "$DATABASE_URL" -c ${shellWord(statement)}`
  return `sqlite3 ${shellWord(location)} ${shellWord(statement)}`
}

/** All databases that can be opened, the control database first. */
export async function openDatabases(ctx: DoctorContext): Promise<AnyFound[]> {
  const { control, contents } = await ctx.databases()
  const open = [control, ...contents].filter(({ database }) => database !== undefined)
  if (open.length === 0) throw new NotChecked('there is no database to look at')
  return open
}

function unreachable({ config: { databaseUrl } }: DoctorContext, error: unknown): Finding[] {
  const refusal = describeRefusal(error)
  const what = `The databases cannot be reached: ${refusal?.problem ?? messageOf(error)}.`
  if (databaseUrl === undefined)
    return wrong({ what, advice: 'Let the user that runs Sluice read and write DATA_DIR.' })
  return wrong({
    what,
    advice: `${refusal?.advice ?? 'Start PostgreSQL, or correct the host and the role in DATABASE_URL.'} To try:`,
    commands: ['psql "$DATABASE_URL" -c "select 1"'],
  })
}

const nothingYet = attention({
  what: 'There is no database yet.',
  advice: 'If you expect content, DATA_DIR or DATABASE_URL must be another one. The first start creates it, or:',
  commands: ['npx sluice migrate'],
})

const unreadable = ({ location, failure }: AnyFound): Finding[] =>
  wrong({
    what: `${location} cannot be opened: ${messageOf(failure)}.`,
    advice:
      'Let the user that runs Sluice read and write it. If it is damaged, stop the servers, keep a copy, and restore your newest backup.',
  })

const missing = ({ name, location }: AnyFound): Finding[] =>
  wrong({
    what: `Groups have their content in the database "${name}", but ${location} does not exist.`,
    advice: 'Restore it from your newest backup before you start a server, which would create an empty one.',
  })

async function checkPreparedStatements({ config }: DoctorContext, found: FoundDatabases): Promise<Finding[]> {
  if (config.databasePrepare === 'off' || (await found.supportsPreparedStatements())) return []
  return attention({
    what: 'The pooler in front of PostgreSQL loses prepared statements, so the service does without them.',
    advice:
      'Let the pooler keep them (PgBouncer 1.21 or newer with max_prepared_statements above 0), or turn them off, which saves the test at each start:',
    commands: ['DATABASE_PREPARE=off'],
  })
}

/** The databases exist and can be opened. */
export const databasesCheck: Check = {
  name: 'Databases',
  async run(ctx) {
    const found = await ctx.reach().catch((error: unknown) => ({ error }))
    if ('error' in found) return unreachable(ctx, found.error)
    const { control, contents } = found
    const unopened = [control, ...contents].filter(({ failure }) => failure !== undefined)
    const absent = contents.filter(({ database, failure }) => database === undefined && failure === undefined)
    const isControlAbsent = control.database === undefined && control.failure === undefined
    return [
      ...(isControlAbsent ? (contents.length > 0 ? missing(control) : nothingYet) : []),
      ...unopened.flatMap(unreadable),
      ...absent.flatMap(missing),
      ...(await checkPreparedStatements(ctx, found)),
    ]
  },
}

const older = ({ location, version, knownVersion }: AnyFound): Finding[] =>
  attention({
    what: `${location} is at schema version ${version}, and this Sluice works with ${knownVersion}.`,
    advice: 'The next start of a server migrates it. To do so now:',
    commands: ['npx sluice migrate'],
  })

const newer = ({ location, version, knownVersion }: AnyFound): Finding[] =>
  wrong({
    what: `${location} is at schema version ${version}, and this Sluice supports only ${knownVersion}: it will not start.`,
    advice: 'A newer Sluice has changed it. Install that version again, or restore a backup from before its upgrade.',
  })

export const schemaVersionsCheck: Check = {
  name: 'Schema versions',
  async run(ctx) {
    return (await openDatabases(ctx)).flatMap((found) => {
      if (found.version === found.knownVersion) return []
      return found.version < found.knownVersion ? older(found) : newer(found)
    })
  },
}

async function checkFile(found: AnyFound): Promise<Finding[]> {
  const { database, location } = found
  if (!database) return []
  const damage = await findDamage(database)
  if (damage.length > 0)
    return wrong({
      what: `${location} is damaged.`,
      examples: damage,
      advice: 'Stop the servers, keep a copy of the file, and restore your newest backup. What can still be read:',
      commands: [`sqlite3 ${shellWord(location)} .recover > recovered.sql`],
    })
  const broken = await countBrokenReferences(database)
  if (broken.length === 0) return []
  return wrong({
    what: `${location} has rows that refer to missing rows.`,
    examples: broken.map(({ table, parent, count }) => `${counted(count, 'row')} of ${table} to ${parent}`),
    advice:
      'Something other than Sluice has changed it. Stop the servers and restore your newest backup. To see each row:',
    commands: [sqlCommand(found, brokenReferencesStatement)],
  })
}

async function checkSchema(found: AnyFound): Promise<Finding[]> {
  const { database, location } = found
  if (!database) return []
  const invalid = await findInvalidIndexes(database)
  if (invalid.length === 0) return []
  return wrong({
    what: `${counted(invalid.length, 'index', 'indexes')} of the schema ${location} cannot be used by PostgreSQL.`,
    examples: invalid,
    advice: 'Rebuild them; writers wait meanwhile:',
    commands: invalid.map((index) => sqlCommand(found, reindexStatement(database.schemaName, index))),
  })
}

export const integrityCheck: Check = {
  name: 'Integrity of the databases',
  async run(ctx) {
    const findings: Finding[] = []
    for (const found of await openDatabases(ctx)) {
      ctx.progress(`Integrity of ${found.location}`)
      findings.push(...(await (found.database?.engine === 'postgres' ? checkSchema(found) : checkFile(found))))
    }
    return findings
  },
}

async function checkDatabase(found: AnyFound): Promise<Finding[]> {
  const { location, migrations, version, knownVersion, database } = found
  if (!database || version !== knownVersion) return []
  const missing = await findMissingIndexes(database, await listWantedIndexes(migrations))
  if (missing.length === 0) return []
  return wrong({
    what: `${location} lacks ${counted(missing.length, 'index', 'indexes')}: queries are slow, and unique values are not enforced.`,
    examples: missing.map(({ name }) => name),
    advice: 'Something other than Sluice has dropped them. Create them again:',
    commands: missing.map(({ statement }) => sqlCommand(found, statement)),
  })
}

/** An operator's PostgreSQL may lack the extensions. */
async function checkTrigramIndex(found: FoundDatabase<ContentTables>): Promise<Finding[]> {
  const { location, version, knownVersion, database } = found
  if (!database || version !== knownVersion || (await hasTrigramIndex(database))) return []
  return attention({
    what: `${location} has no index for searches, which therefore read the text of every object.`,
    advice:
      'The extensions pg_trgm and btree_gin were not available during the upgrade. Install them, let the owner of the database run this, and restart Sluice:',
    commands: postgresIndexStatements(schemaOf(found.name)).map((statement) => sqlCommand(found, statement)),
  })
}

/** The database's own indexes; the index of objects that clients filter by is a table. */
export const databaseIndexesCheck: Check = {
  name: 'Indexes of the databases',
  async run(ctx) {
    const findings: Finding[] = []
    for (const found of await openDatabases(ctx)) findings.push(...(await checkDatabase(found)))
    for (const found of (await ctx.databases()).contents) findings.push(...(await checkTrigramIndex(found)))
    return findings
  },
}
