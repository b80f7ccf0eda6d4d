import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  findDueCopies,
  iterateScheduledCopies,
  iterateWorkingCopies,
} from '../../../src/store/content/working-copies.ts'
import { editingPosts } from '../../helpers/editing.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { measureRows } from '../../helpers/measure-rows.ts'

const copies = 6

onBothEngines('working copies', (engine) => {
  it('are read in parts by the size of their bases, too, which may be large though the copies are small', async () => {
    const { post, does, group, posts, clock } = await editingPosts(engine, {
      title: { type: 'text' },
      body: { type: 'longText', searchable: false },
    })
    const dueMs = clock.now + 1000
    const ids: string[] = []
    for (let n = 0; n < copies; n++) {
      const { _id } = await post({ title: 'Live', body: 'a'.repeat(200_000) })
      await does('PUT', `/objects/${_id}/draft`, { objectValue: { title: 'Edited' } })
      await does('POST', `/objects/${_id}/draft/schedule`, { publishAt: new Date(dueMs).toISOString() })
      ids.push(_id)
    }
    const parts: number[] = []
    const store = measureRows(group.store, 'base_value', (characters) => parts.push(characters))
    const all = await Array.fromAsync(iterateWorkingCopies(store, posts._id))
    assert.deepEqual(all.map(({ id }) => id).sort(), ids.toSorted())
    assert.equal((await Array.fromAsync(iterateScheduledCopies(store, ids))).length, copies)
    const due = await findDueCopies(store, dueMs, 100)
    assert.ok(due.length < copies, 'the others are settled by the next transaction')
    assert.ok(parts.length >= 5 && Math.max(...parts) < 500_000, `${parts}`)
  })
})
