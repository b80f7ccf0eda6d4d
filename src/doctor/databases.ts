import type { AnyFound, FoundDatabases } from '../store/check-open.ts'
import { describeRefusal } from '../store/unavailable.ts'
import { type Check, type DoctorContext, type Finding, NotChecked } from './check.ts'
import { messageOf, shellWord } from './words.ts'

/** How an operator runs a statement in one of our databases. */
export function sqlCommand({ place, database }: AnyFound, statement: string): string {
  if (database?.engine === 'postgres') return `psql "$DATABASE_URL" -c ${shellWord(statement)}`
  return `sqlite3 ${shellWord(place)} ${shellWord(statement)}`
}

/** All that are there and can be opened, the control database first. */
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

async function findLostStatements({ config }: DoctorContext, found: FoundDatabases): Promise<Finding[]> {
  if (config.databasePrepare === 'off' || (await found.keepsStatements())) return []
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

/** That the databases are there and can be opened. */
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
      ...(await findLostStatements(ctx, found)),
    ]
  },
}
