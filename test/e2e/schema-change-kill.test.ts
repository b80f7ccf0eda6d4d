import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findCollection } from '../../src/store/content/containers.ts'
import { iterateObjects } from '../../src/store/content/objects.ts'
import { openStore } from '../../src/store/open.ts'
import { openGroup } from '../../src/store/store.ts'
import { assertIndexIsRight, assertNoGaps } from '../helpers/editing.ts'
import { harness, onBothEnginesInProve, testStartMs } from '../helpers/harness.ts'
import {
  type CollectionLocation,
  locationOf,
  newValue,
  oldSchema,
  oldValue,
  sideOf,
  startChanger,
  toNew,
  toOld,
} from '../helpers/schema-changes.ts'

/** `npm run prove -- schema` runs 20. */
const kills = Number(process.env.SCHEMA_KILLS ?? 2)
/** More than two reads of 250 objects, so that kills interrupt it in the middle. */
const count = process.env.PROVE === '1' ? 2000 : 600
const numbers = Array.from({ length: count }, (_, n) => n)
type Side = 'old' | 'new'
const makeValue: Record<Side, (n: number) => object> = { old: oldValue, new: newValue }

/** The state read by a new process: everything under the old schema, or everything under the new one. */
async function findSide({ dataDir, databaseUrl, ...location }: CollectionLocation): Promise<Side> {
  const clock = () => testStartMs
  const store = await openStore({ dataDir, databaseUrl, clock, onConnectionError: () => {} })
  try {
    const group = await openGroup(store, { database: location.database, groupID: location.groupId })
    const collection = await findCollection(group, location.collectionId)
    assert.ok(collection)
    const side = collection.schema.has('headline') ? 'new' : 'old'
    const values = await Array.fromAsync(iterateObjects(group, collection.id), ({ value }) => value)
    assert.deepEqual(
      values,
      numbers.map((n) => makeValue[side](n)),
    )
    assert.ok(values.every((value) => sideOf(value) === side))
    await assertIndexIsRight(group)
    await assertNoGaps(group)
    return side
  } finally {
    await store.close()
  }
}

onBothEnginesInProve('kill -9 during a schema change', (engine) => {
  it('leaves the complete old or the complete new state, and the change can be repeated', async (context) => {
    const { newGroup, config, clock } = await harness(engine)
    const group = await newGroup()
    const collection = await group.collection('Posts', oldSchema)
    await group.add(collection, ...numbers.map((n) => ({ value: oldValue(n) })))
    const location = locationOf(config, group, collection.id)

    async function changeWholly(target: Side): Promise<number> {
      clock.now += 1000
      const changer = startChanger(location, target === 'new' ? toNew : toOld, clock.now)
      assert.equal(await changer.ended, 0)
      assert.equal(await findSide(location), target)
      return changer.statements()
    }

    async function killAfter(target: Side, statements: number): Promise<void> {
      clock.now += 1000
      const changer = startChanger(location, target === 'new' ? toNew : toOld, clock.now)
      while (changer.statements() < statements && changer.child.exitCode === null)
        await new Promise((resolve) => setTimeout(resolve, 1))
      changer.child.kill('SIGKILL')
      await changer.ended
    }

    const statements = await changeWholly('new')
    let side: Side = 'new'
    const found = { before: 0, after: 0 }
    for (let round = 0; round < kills; round += 1) {
      const target: Side = side === 'new' ? 'old' : 'new'
      // At a different point each time, and every other time close to the end.
      const isLate = round % 2 === 1
      await killAfter(target, isLate ? statements - (round % 5) : Math.ceil((statements * (round + 1)) / (kills + 1)))
      const reached = (await findSide(location)) === target
      found[reached ? 'after' : 'before'] += 1
      if (!reached) await changeWholly(target)
      side = target
    }
    context.diagnostic(
      `${engine}: ${kills} kills among ${statements} statements on ${count} objects: ${JSON.stringify(found)}`,
    )
    assert.ok(found.before > 0, 'some of the kills must have interrupted the work')
  })
})
