import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { makeApiKey } from '../../src/security/tokens.ts'
import type { KeyHolder } from '../../src/store/control/api-keys.ts'
import { createAuthorizer } from '../../src/tenant/authorizer.ts'

const tenant: KeyHolder = {
  database: 'main',
  bucketName: 'media',
  groupID: 'g',
  tier: 'free',
  frozen: false,
  keyId: 'k',
}

function setUp(maxEntries?: number) {
  const state = { now: 0, answer: tenant as KeyHolder | undefined, asked: 0 }
  const authorize = createAuthorizer({
    clock: () => state.now,
    findHolder: async () => {
      state.asked += 1
      return state.answer
    },
    ...(maxEntries !== undefined && { maxEntries }),
  })
  return { state, authorize }
}

describe('the authorizer', () => {
  it('returns database, bucketName, groupID and tier for a valid key', async () => {
    const { authorize } = setUp()
    const { database, bucketName, groupID, tier } = (await authorize(makeApiKey())) ?? {}
    assert.deepEqual(
      { database, bucketName, groupID, tier },
      { database: 'main', bucketName: 'media', groupID: 'g', tier: 'free' },
    )
  })

  it('caches an answer for exactly 1 second, whether it grants or refuses', async () => {
    for (const answer of [tenant, undefined]) {
      const { state, authorize } = setUp()
      state.answer = answer
      const key = makeApiKey()
      await authorize(key)
      state.now = 999
      await authorize(key)
      assert.equal(state.asked, 1)
      state.now = 1000
      await authorize(key)
      assert.equal(state.asked, 2)
    }
  })

  it('refuses a revoked key after at most 1 second, after any sequence of lookups (property)', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 700 }), { maxLength: 20 }),
        fc.integer({ min: 0, max: 5000 }),
        async (steps, revokedAt) => {
          const { state, authorize } = setUp()
          const key = makeApiKey()
          for (const step of steps) {
            state.now += step
            if (state.now >= revokedAt) state.answer = undefined
            const answer = await authorize(key)
            if (state.now >= revokedAt + 1000) assert.equal(answer, undefined)
          }
        },
      ),
    )
  })

  it('counts the second from the lookup’s start, so that a slow database does not extend it', async () => {
    let release = (_: KeyHolder): void => {}
    let asked = 0
    let now = 0
    const authorize = createAuthorizer<KeyHolder>({
      clock: () => now,
      findHolder: () => {
        asked += 1
        return new Promise((resolve) => (release = resolve))
      },
    })
    const key = makeApiKey()
    const first = authorize(key)
    now = 900
    release(tenant)
    await first
    now = 1000
    void authorize(key)
    assert.equal(asked, 2)
  })

  it('makes one lookup for concurrent callers', async () => {
    const { state, authorize } = setUp()
    const key = makeApiKey()
    await Promise.all(Array.from({ length: 50 }, () => authorize(key)))
    assert.equal(state.asked, 1)
  })

  it('does not cache a failure: the next caller looks up again', async () => {
    let fail = true
    const authorize = createAuthorizer({
      clock: () => 0,
      findHolder: async () => {
        if (fail) throw new Error('database away')
        return tenant
      },
    })
    const key = makeApiKey()
    await assert.rejects(authorize(key), /database away/)
    fail = false
    assert.equal(await authorize(key), tenant)
  })

  it('does not extend the second when the clock is set back', async () => {
    const { state, authorize } = setUp()
    const key = makeApiKey()
    state.now = 10_000
    await authorize(key)
    state.now = 9_000
    await authorize(key)
    assert.equal(state.asked, 2)
  })

  it('returns at once only what was looked up within the last second', async () => {
    const { state, authorize } = setUp()
    const key = makeApiKey()
    assert.equal(authorize.peek(key), undefined)
    await authorize(key)
    assert.equal(authorize.peek(key), tenant)
    state.now = 999
    assert.equal(authorize.peek(key), tenant)
    state.now = 1000
    assert.equal(authorize.peek(key), undefined)
    state.now = -1
    assert.equal(authorize.peek(key), undefined, 'nor when the clock is set back')
    state.answer = undefined
    await authorize(key)
    assert.equal(authorize.peek(key), undefined, 'nor of a key that is not valid')
    assert.equal(state.asked, 2)
  })

  it('looks up again at once only the keys affected by a change', async () => {
    const state = { asked: 0 }
    const authorize = createAuthorizer<KeyHolder>({
      clock: () => 0,
      subjectsOf: ({ groupID }) => [groupID],
      findHolder: async () => {
        state.asked += 1
        return { ...tenant, groupID: `g${state.asked}` }
      },
    })
    const [one, other] = [makeApiKey(), makeApiKey()]
    await authorize(one) // g1
    await authorize(other) // g2
    authorize.forget(['g1'])
    assert.equal(authorize.peek(one), undefined)
    assert.equal(authorize.peek(other)?.groupID, 'g2')
    assert.equal((await authorize(one))?.groupID, 'g3')
    authorize.forget(['elsewhere'])
    assert.equal(authorize.peek(one)?.groupID, 'g3')
    assert.equal((await authorize(other))?.groupID, 'g2')
    assert.equal(state.asked, 3)
  })

  it('does not share a lookup that started before a change', async () => {
    const releases: ((holder: KeyHolder | undefined) => void)[] = []
    const authorize = createAuthorizer<KeyHolder>({
      clock: () => 0,
      subjectsOf: ({ groupID }) => [groupID],
      findHolder: () => new Promise((resolve) => releases.push(resolve)),
    })
    const key = makeApiKey()
    const before = authorize(key)
    authorize.forget(['g'])
    const since = authorize(key)
    releases[1]?.(undefined)
    releases[0]?.(tenant)
    assert.deepEqual([await before, await since], [tenant, undefined])
    assert.equal(authorize.peek(key), undefined)
    assert.equal(await authorize(key), undefined, 'nor when the earlier one arrives later')
  })

  it('makes no lookup for a key with a wrong checksum or format', async () => {
    const { state, authorize } = setUp()
    const key = makeApiKey()
    for (const bad of ['', 'x', key.slice(0, -1), `${key}x`, key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))]) {
      assert.equal(await authorize(bad), undefined)
    }
    assert.equal(state.asked, 0)
  })

  it('caches a limited number of answers', async () => {
    const { state, authorize } = setUp(10)
    const first = makeApiKey()
    await authorize(first)
    for (let other = 0; other < 10; other += 1) await authorize(makeApiKey())
    await authorize(first)
    assert.equal(state.asked, 12)
  })
})
