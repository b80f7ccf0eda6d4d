import assert from 'node:assert/strict'
import { it } from 'node:test'
import { dayMs } from '../../../src/core/clock.ts'
import { consumeQuota, pruneTallies, type Quota } from '../../../src/store/mail/quotas.ts'
import type { GroupStore } from '../../../src/store/store.ts'
import { write } from '../../helpers/authoring.ts'
import { harness, onBothEngines } from '../../helpers/harness.ts'

const quota: Quota = { subject: 'mail', maxCount: 3, windowMs: dayMs, refusal: 'Enough for today.' }
const midnightMs = Date.UTC(2026, 10, 15)

const take = (group: GroupStore, nowMs: number, more: Partial<Quota> = {}) =>
  write(group, nowMs, (writer) => consumeQuota(writer, { ...quota, ...more }))

onBothEngines('a quota', (engine) => {
  it('allows exactly its number of uses, also concurrently', async () => {
    const { store: group } = await (await harness(engine)).newGroup()
    const taken = await Promise.allSettled(Array.from({ length: 10 }, () => take(group, midnightMs + 1000)))
    assert.equal(taken.filter(({ status }) => status === 'fulfilled').length, 3)
    const refused = taken.find((one) => one.status === 'rejected')
    assert.equal(refused?.reason.code, 'RateLimited')
    assert.match(refused?.reason.message, /^Enough for today\. /)
    assert.equal(refused?.reason.retryAfterSeconds, 86_399)
  })

  it('is restored in the next period, and belongs to one group and one subject', async () => {
    const { newGroup } = await harness(engine)
    const { store: group } = await newGroup()
    const { store: other } = await newGroup()
    for (let n = 0; n < 3; n += 1) await take(group, midnightMs - 1)
    await assert.rejects(take(group, midnightMs - 1), { code: 'RateLimited', retryAfterSeconds: 1 })
    await take(other, midnightMs - 1)
    await take(group, midnightMs - 1, { subject: 'else' })
    await take(group, midnightMs)
  })

  it('is not used by a failed action', async () => {
    const { store: group } = await (await harness(engine)).newGroup()
    for (let n = 0; n < 5; n += 1) {
      const undone = write(group, midnightMs, async (writer) => {
        await consumeQuota(writer, quota)
        throw new Error('undone')
      })
      await assert.rejects(undone, /undone/)
    }
    await take(group, midnightMs)
  })

  it('is deleted after its period', async () => {
    const { store: group } = await (await harness(engine)).newGroup()
    const rows = () => group.database.read.selectFrom('tallies').selectAll().execute()
    await take(group, midnightMs)
    await pruneTallies(group.database, midnightMs + dayMs)
    assert.equal((await rows()).length, 1)
    await pruneTallies(group.database, midnightMs + 2 * dayMs + 1)
    assert.deepEqual(await rows(), [])
  })
})
