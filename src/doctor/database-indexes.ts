import { findMissingIndexes, listWantedIndexes } from '../store/check-indexes.ts'
import type { AnyFound } from '../store/check-open.ts'
import type { Check, Finding } from './check.ts'
import { openDatabases, sqlCommand } from './databases.ts'
import { counted } from './words.ts'

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

/** Those of the database itself; what clients filter by is the index of objects. */
export const databaseIndexesCheck: Check = {
  name: 'Indexes of the databases',
  async run(ctx) {
    const findings: Finding[] = []
    for (const found of await openDatabases(ctx)) findings.push(...(await checkDatabase(found)))
    return findings
  },
}
