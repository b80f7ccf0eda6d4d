import { findCollection } from '../../src/store/content/containers.ts'
import { openStore } from '../../src/store/open.ts'
import { openGroup } from '../../src/store/store.ts'
import { createObjects } from './authoring.ts'

/** Writes batches of ten objects until it is killed, and prints the numbers of each acknowledged batch. */
const { dataDir, databaseUrl, database, groupId, collectionId, round } = JSON.parse(process.argv[2] ?? '')
const store = await openStore({ dataDir, databaseUrl, clock: Date.now, onConnectionError: () => {} })
const group = await openGroup(store, { database, groupID: groupId })
const collection = await findCollection(group, collectionId)
if (!collection) throw new Error('The collection is gone.')

for (let batch = 0; ; batch += 1) {
  const numbers = Array.from({ length: 10 }, (_, position) => round * 1_000_000 + batch * 10 + position)
  await createObjects(
    group,
    collection,
    numbers.map((n) => ({ value: { n, batch: `${round}.${batch}` } })),
    Date.now(),
  )
  process.stdout.write(numbers.map((n) => `${n}\n`).join(''))
}
