import {
  brokenReferencesStatement,
  countBrokenReferences,
  findDamage,
  findInvalidIndexes,
  reindexStatement,
} from '../store/check-integrity.ts'
import type { AnyFound } from '../store/check-open.ts'
import type { Check, Finding } from './check.ts'
import { openDatabases, sqlCommand } from './databases.ts'
import { counted, shellWord } from './words.ts'

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
