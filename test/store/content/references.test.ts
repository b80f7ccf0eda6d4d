import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findReferrers } from '../../../src/store/content/references.ts'
import { harness, onBothEngines } from '../../helpers/harness.ts'

onBothEngines('the referrers of an object', (engine) => {
  it('are read as long reads, for which nobody else waits, since there may be any number of them', async () => {
    const group = await (await harness(engine)).newGroup()
    const posts = await group.collection('Posts', { related: { type: 'reference' } })
    const [target] = await group.add(posts, { value: {} })
    assert.ok(target)
    await group.add(posts, { value: { related: target.id } }, { value: { related: target.id } })
    const { groupId, database } = group.store
    let longReads = 0
    const readLong: typeof database.readLong = (...statement) => {
      longReads += 1
      return database.readLong(...statement)
    }
    const store = { groupId, database: { ...database, readLong } }
    const { referrers, totalCount } = await findReferrers(store, target.id, { limit: 1, skip: 0 })
    assert.deepEqual([referrers.length, totalCount, longReads], [1, 2, 2])
  })
})
