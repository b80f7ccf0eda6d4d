import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createRateLimiter, type RateLimit } from '../../src/security/rate-limiter.ts'

const startMs = Date.UTC(2026, 2, 1, 12)

function limiterAt(startsAt = startMs, maxSubjects?: number) {
  const clock = { now: startsAt }
  return { clock, take: createRateLimiter(() => clock.now, maxSubjects) }
}

/** How many of `attempts` simultaneous requests are allowed. */
function allowedOf(take: ReturnType<typeof createRateLimiter>, subject: string, limit: RateLimit, attempts: number) {
  return Array.from({ length: attempts }, () => take(subject, limit)).filter(({ allowed }) => allowed).length
}

const limit = { perSecond: 10, burst: 20 }

describe('the rate limiter', () => {
  it('allows exactly a whole burst at once', () => {
    const { take } = limiterAt()
    assert.equal(allowedOf(take, 'a', limit, 100), 20)
  })

  it('refills at the configured rate, including fractions of a second', () => {
    const { take, clock } = limiterAt()
    allowedOf(take, 'a', limit, 100)
    clock.now += 1000
    assert.equal(allowedOf(take, 'a', limit, 100), 10)
    clock.now += 300
    assert.equal(allowedOf(take, 'a', limit, 100), 3)
    clock.now += 99
    assert.equal(allowedOf(take, 'a', limit, 100), 0)
    clock.now += 1
    assert.equal(allowedOf(take, 'a', limit, 100), 1)
  })

  it('refills the same in one step or in many', () => {
    const { take, clock } = limiterAt()
    const slow = { perSecond: 1, burst: 1 }
    assert.equal(take('a', slow).allowed, true)
    for (let step = 0; step < 9; step += 1) {
      clock.now += 100
      assert.equal(take('a', slow).allowed, false)
    }
    clock.now += 100
    assert.equal(take('a', slow).allowed, true)
  })

  it('never holds more than a burst, however long the pause', () => {
    const { take, clock } = limiterAt()
    allowedOf(take, 'a', limit, 5)
    clock.now += 86_400_000
    assert.equal(allowedOf(take, 'a', limit, 100), 20)
  })

  it('reports the remaining requests, when the bucket is full again, and when to retry', () => {
    const { take, clock } = limiterAt()
    const slow = { perSecond: 2, burst: 5 }
    assert.deepEqual(take('a', slow), {
      allowed: true,
      remaining: 4,
      resetSeconds: 1,
      retryAfterSeconds: 0,
    })
    allowedOf(take, 'a', slow, 4)
    assert.deepEqual(take('a', slow), {
      allowed: false,
      remaining: 0,
      resetSeconds: 3,
      retryAfterSeconds: 1,
    })
    clock.now += 500
    assert.deepEqual(take('a', slow), {
      allowed: true,
      remaining: 0,
      resetSeconds: 3,
      retryAfterSeconds: 0,
    })
  })

  it('admits a caller that waits for the reported seconds', () => {
    const limits = fc.record({ perSecond: fc.integer({ min: 1, max: 5000 }), burst: fc.integer({ min: 1, max: 50 }) })
    const pauses = fc.array(fc.nat({ max: 1500 }), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(limits, pauses, (anyLimit, waits) => {
        const { take, clock } = limiterAt()
        for (const wait of waits) {
          clock.now += wait
          const { allowed, retryAfterSeconds } = take('a', anyLimit)
          assert.equal(retryAfterSeconds > 0, !allowed)
          if (allowed) continue
          clock.now += retryAfterSeconds * 1000
          assert.ok(take('a', anyLimit).allowed)
        }
      }),
    )
  })

  it('never admits more than a burst plus what was refilled', () => {
    const pauses = fc.array(fc.nat({ max: 300 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(pauses, (waits) => {
        const { take, clock } = limiterAt()
        let passed = 0
        for (const wait of waits) {
          clock.now += wait
          passed += allowedOf(take, 'a', limit, 5)
        }
        assert.ok(passed <= limit.burst + ((clock.now - startMs) / 1000) * limit.perSecond)
      }),
    )
  })

  it('neither locks out nor rewards callers when the clock is set back', () => {
    const { take, clock } = limiterAt()
    allowedOf(take, 'a', limit, 100)
    clock.now -= 3_600_000
    assert.equal(allowedOf(take, 'a', limit, 100), 0)
    clock.now += 1000
    assert.equal(allowedOf(take, 'a', limit, 100), 10)
  })

  it('counts subjects separately', () => {
    const { take } = limiterAt()
    allowedOf(take, 'a', limit, 100)
    assert.equal(take('a', limit).allowed, false)
    assert.equal(allowedOf(take, 'b', limit, 100), 20)
  })

  it('applies a changed limit at once', () => {
    const { take, clock } = limiterAt()
    take('a', { perSecond: 100, burst: 1000 })
    assert.equal(allowedOf(take, 'a', limit, 100), 20)
    clock.now += 1000
    assert.equal(allowedOf(take, 'a', { perSecond: 50, burst: 100 }, 100), 50)
  })

  it('remembers a limited number of subjects, and evicts the least recently active', () => {
    const { take } = limiterAt(startMs, 3)
    const once = { perSecond: 1, burst: 1 }
    for (const subject of ['a', 'b', 'c']) assert.equal(take(subject, once).allowed, true)
    assert.equal(take('a', once).allowed, false) // a was active last; b is the least recently active
    assert.equal(take('d', once).allowed, true)
    for (const subject of ['a', 'c', 'd']) assert.equal(take(subject, once).allowed, false, subject)
    assert.equal(take('b', once).allowed, true, 'b was evicted and starts with a full bucket')
  })

  it('stays bounded under a flood of new subjects: it remembers the last 50,000', () => {
    const { take } = limiterAt()
    const once = { perSecond: 1, burst: 1 }
    for (let subject = 0; subject < 50_001; subject += 1) take(`address ${subject}`, once)
    assert.equal(take('address 1', once).allowed, false)
    assert.equal(take('address 0', once).allowed, true)
  })
})
