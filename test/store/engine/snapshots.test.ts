import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { GroupStore } from '../../../src/store/store.ts'
import { harness, onBothEngines } from '../../helpers/harness.ts'

const schema = { title: { type: 'text' } }

onBothEngines('a snapshot', (engine) => {
  async function posts() {
    const group = await (await harness(engine)).newGroup()
    const collection = await group.collection('Posts', schema)
    const add = (title: string) => group.add(collection, { value: { title } })
    return { store: group.store, add }
  }

  const titlesIn = async ({ groupId, database }: GroupStore, read = database.read): Promise<string[]> => {
    const rows = await read
      .selectFrom('objects')
      .select('value')
      .where('group_id', '=', groupId)
      .orderBy('id')
      .execute()
    return rows.map(({ value }) => JSON.parse(value).title)
  }

  it('has one state of the database, and each has its own', async () => {
    const { store, add } = await posts()
    await add('first')
    const seen = await store.database.snapshot(async (read) => {
      const before = await titlesIn(store, read)
      await add('second')
      const inner = await store.database.snapshot((later) => titlesIn(store, later))
      return { before, inner, after: await titlesIn(store, read) }
    })
    assert.deepEqual(seen, { before: ['first'], inner: ['first', 'second'], after: ['first'] })
    for (const round of [1, 2, 3]) {
      await add(`more ${round}`)
      const now = await store.database.snapshot((read) => titlesIn(store, read))
      assert.deepEqual(now, await titlesIn(store), 'data kept from a snapshot does not hold it open')
    }
  })

  it('that fails does not block the next one', async () => {
    const { store, add } = await posts()
    for (const round of [1, 2, 3, 4, 5, 6]) {
      await add(`${round}`)
      const failing = store.database.snapshot(async (read) => {
        await titlesIn(store, read)
        throw new Error(`failed ${round}`)
      })
      await assert.rejects(failing, new RegExp(`failed ${round}`))
    }
    assert.equal((await store.database.snapshot((read) => titlesIn(store, read))).length, 6)
  })

  it('can be one of many concurrent ones', async () => {
    const { store, add } = await posts()
    await add('only')
    const many = Array.from({ length: 9 }, () => store.database.snapshot((read) => titlesIn(store, read)))
    for (const titles of await Promise.all(many)) assert.deepEqual(titles, ['only'])
  })
})
