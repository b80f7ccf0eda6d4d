import { parseSchema } from '../../src/content/parse-schema.ts'
import { changeSchema } from '../../src/store/content/change-schema.ts'
import { findCollection } from '../../src/store/content/containers.ts'
import { openStore } from '../../src/store/open.ts'
import { openGroup } from '../../src/store/store.ts'
import { write } from './authoring.ts'

/** Changes the schema of a collection in a separate process, and prints the number of statements after each. */
const { location, change, nowMs } = JSON.parse(process.argv[2] ?? '')
let statements = 0
const { dataDir, databaseUrl, database, groupId, collectionId } = location
const store = await openStore({
  dataDir,
  databaseUrl,
  clock: () => nowMs,
  onConnectionError: () => {},
  onQuery: () => {
    statements += 1
    process.stdout.write(`${statements}\n`)
  },
})
const group = await openGroup(store, { database, groupID: groupId })
await write(group, nowMs, async (writer) => {
  const collection = await findCollection(writer.group, collectionId)
  if (!collection) throw new Error('The collection is gone.')
  const { schema, renames, defaults } = change
  await changeSchema(writer, collection, { schema: parseSchema(schema), renames, defaults }, { allowLoss: true })
})
await store.close()
