import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { makeApiKey } from '../../src/security/tokens.ts'
import { listApiKeys } from '../../src/store/control/api-keys.ts'
import { createApiKey, revokeApiKey, setFrozen } from './authoring.ts'
import { createHarness, type Harness, harness, type TestEngine, type TestGroup } from './harness.ts'

/** An endpoint under the shared suite. */
export interface EndpointCase {
  path: string
  /** Fills a group and returns a query that succeeds there, with every id that another group could try. */
  prepare(group: TestGroup, harness: Harness): Promise<{ query: string; foreignIds: string[] }>
  /** The same query with ids that do not exist. */
  withId(id: string): string
  /** Required parameters. */
  required: string[]
  /** Allowed methods. */
  allow: string
}

export function assertFailure(answer: LightMyRequestResponse, status: number, code: string, message?: RegExp): void {
  assert.equal(answer.statusCode, status, answer.body)
  const body = answer.json()
  assert.deepEqual(Object.keys(body), ['success', 'data', 'error', 'code'])
  assert.equal(body.success, false)
  assert.equal(body.data, null)
  assert.equal(body.code, code)
  assert.equal(typeof body.error, 'string')
  if (message) assert.match(body.error, message)
  assert.match(String(answer.headers['content-type']), /^application\/json/)
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.match(String(answer.headers['x-request-id']), /^[0-9a-f]{24}$/)
}

/** What every endpoint under /tenant guarantees. */
export function commonSuite(engine: TestEngine, endpoint: EndpointCase): void {
  const { path, prepare, withId, required, allow } = endpoint
  /** One service for the suite, and a new group for each test. */
  let created: Harness
  before(async () => {
    created = await createHarness(engine)
  })
  after(() => created.close())

  async function ready() {
    const group = await created.newGroup()
    const { query, foreignIds } = await prepare(group, created)
    const get = (key: string | undefined, search = query) =>
      created.app.inject({
        method: 'GET',
        url: `${path}?${search}`,
        headers: key === undefined ? {} : { authorization: key },
      })
    return { ...created, group, query, foreignIds, get }
  }

  it('answers a good request with 200, the envelope and the promised headers', async () => {
    const { group, get } = await ready()
    const answer = await get(group.key)
    assert.equal(answer.statusCode, 200, answer.body)
    assert.deepEqual(Object.keys(answer.json()), ['success', 'data', 'error'])
    assert.equal(answer.json().success, true)
    assert.equal(answer.json().error, null)
    const { headers } = answer
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.match(String(headers['content-security-policy']), /default-src 'none'/)
    assert.match(String(headers['x-request-id']), /^[0-9a-f]{24}$/)
    assert.match(String(headers.ratelimit), /^"free";r=\d+;t=\d+$/)
    assert.match(String(headers['ratelimit-policy']), /^"free";q=\d+;w=\d+$/)
    for (const name of ['server', 'x-powered-by', 'access-control-allow-origin']) assert.equal(headers[name], undefined)
  })

  it('refuses a missing key with 401 and advice', async () => {
    const { get } = await ready()
    assertFailure(await get(undefined), 401, 'Unauthorized', /Authorization header is missing/)
    assertFailure(await get(''), 401, 'Unauthorized', /Authorization header is missing/)
  })

  it('has the authentication scheme on every 401', async () => {
    const { get } = await ready()
    for (const key of [undefined, 'wrong', makeApiKey()])
      assert.equal((await get(key)).headers['www-authenticate'], 'ApiKey')
  })

  it('checks the method, then the key, then the parameters', async () => {
    const { app, group, get } = await ready()
    assertFailure(
      await app.inject({ method: 'POST', url: path, payload: '{bad', headers: { 'content-type': 'application/json' } }),
      405,
      'MethodNotAllowed',
    )
    assertFailure(await get('wrong', 'limit=0&filters=x'), 401, 'Unauthorized')
    assertFailure(await get(group.key, 'limit=0&filters=x'), 400, 'ValidationError')
  })

  it('counts all keys of a group against one rate limit', async () => {
    const created = await harness(engine, {
      env: { RATE_LIMITS: 'anonymous=9/9,free=1/2,basic=9/9,pro=9/9,proplus=9/9' },
    })
    const group = await created.newGroup()
    const { query } = await prepare(group, created)
    const second = await createApiKey(created.service.store, group.group.id, 'second', created.clock.now)
    const ask = (authorization: string) => created.app.inject({ url: `${path}?${query}`, headers: { authorization } })
    assert.equal((await ask(group.key)).statusCode, 200)
    assert.equal((await ask(second.key)).statusCode, 200)
    assertFailure(await ask(second.key), 429, 'RateLimited')
    assertFailure(await ask(group.key), 429, 'RateLimited')
  })

  it('refuses parameters longer than they can be', async () => {
    const { group, get } = await ready()
    for (const name of required) {
      const longest = name === 'token' ? 500 : 100
      assertFailure(
        await get(group.key, `${name}=${'x'.repeat(longest + 1)}`),
        400,
        'ValidationError',
        new RegExp(`^${name} must have at most ${longest}`),
      )
    }
  })

  it('refuses "Bearer <key>" with 401, and asks for the bare key', async () => {
    const { group, get } = await ready()
    assertFailure(await get(`Bearer ${group.key}`), 401, 'Unauthorized', /bare API key/)
    assertFailure(await get(`bearer ${group.key}`), 401, 'Unauthorized', /bare API key/)
  })

  it('refuses malformed, unknown and revoked keys with the same 401', async () => {
    const { group, get, service, clock } = await ready()
    const revoked = await createApiKey(service.store, group.group.id, 'soon revoked', clock.now)
    await revokeApiKey(service.store, group.group.id, revoked.id, clock.now)
    const malformed = ['x', `x${group.key}`, group.key.slice(0, -1), `${group.key}a`, group.key.toUpperCase()]
    const bodies = new Set<string>()
    for (const bad of [...malformed, makeApiKey(), revoked.key]) {
      const answer = await get(bad)
      assertFailure(answer, 401, 'Unauthorized')
      bodies.add(answer.body)
    }
    assert.equal(bodies.size, 1)
  })

  it('refuses a revoked key after at most 1 second', async () => {
    const { group, get, service, clock } = await ready()
    assert.equal((await get(group.key)).statusCode, 200)
    const [key] = await listApiKeys(service.store, group.group.id)
    await revokeApiKey(service.store, group.group.id, key?.id ?? '', clock.now)
    clock.now += 1000
    assertFailure(await get(group.key), 401, 'Unauthorized')
  })

  it('refuses a frozen group with 400 GroupFrozen after at most 1 second, and serves it again when unfrozen', async () => {
    const { group, get, service, clock } = await ready()
    assert.equal((await get(group.key)).statusCode, 200)
    await setFrozen(service.store, group.group.id, true)
    clock.now += 1000
    assertFailure(await get(group.key), 400, 'GroupFrozen', /^The group is frozen$/)
    await setFrozen(service.store, group.group.id, false)
    clock.now += 1000
    assert.equal((await get(group.key)).statusCode, 200)
  })

  it('answers another group’s ids byte for byte like ids that do not exist', async () => {
    const { get, query, foreignIds } = await ready()
    const other = await created.newGroup({ name: 'Other group' })
    await prepare(other, created) // the other group has content of the same kind
    assert.ok(foreignIds.length > 0)
    for (const id of foreignIds) {
      const missing = `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`
      const foreign = await get(other.key, query.includes(id) ? query : withId(id))
      const nowhere = await get(other.key, withId(missing))
      assert.equal(foreign.body, nowhere.body)
      assert.equal(foreign.statusCode, nowhere.statusCode)
    }
  })

  it('names each required parameter that is missing, empty or given twice', async () => {
    const { group, get, query } = await ready()
    const parameters = new URLSearchParams(query)
    for (const name of required) {
      const without = new URLSearchParams(parameters)
      without.delete(name)
      assertFailure(
        await get(group.key, without.toString()),
        400,
        'ValidationError',
        new RegExp(`^${name} is required`),
      )
      without.set(name, '')
      assertFailure(
        await get(group.key, without.toString()),
        400,
        'ValidationError',
        new RegExp(`^${name} must not be empty`),
      )
      const twice = `${query}&${name}=x`
      assertFailure(await get(group.key, twice), 400, 'ValidationError', new RegExp(`^${name} must be given once`))
    }
  })

  it('refuses NUL in any parameter with 400', async () => {
    const { group, get, query } = await ready()
    for (const bad of ['%00', 'a%00b']) {
      assertFailure(await get(group.key, `${query}&x=${bad}`), 400, 'ValidationError')
      assertFailure(await get(group.key, withId(bad)), 400, 'ValidationError')
    }
  })

  it('ignores unknown parameters', async () => {
    const { group, get, query } = await ready()
    assert.equal(
      (await get(group.key, `${query}&name=x&code=1&company_website=&__proto__=1&constructor=2`)).statusCode,
      200,
    )
  })

  it('refuses other methods with 405 and lists the allowed ones', async () => {
    const { app, group, query } = await ready()
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
      const answer = await app.inject({ method, url: `${path}?${query}`, headers: { authorization: group.key } })
      assertFailure(answer, 405, 'MethodNotAllowed')
      assert.equal(answer.headers.allow, allow)
    }
  })

  it('limits the rate of a group by its tier, with Retry-After', async () => {
    const created = await harness(engine, {
      env: { RATE_LIMITS: 'anonymous=9/9,free=2/3,basic=9/9,pro=9/9,proplus=9/9' },
    })
    const group = await created.newGroup()
    const { query } = await prepare(group, created)
    const get = () => group.get(`${path}?${query}`)
    for (const left of [2, 1, 0]) assert.match(String((await get()).headers.ratelimit), new RegExp(`r=${left};`))
    const refused = await get()
    assertFailure(refused, 429, 'RateLimited')
    assert.equal(refused.headers['retry-after'], '1')
    created.clock.now += 500
    assert.equal((await get()).statusCode, 200)
  })

  it('writes no key and no token into the log', async () => {
    const { group, get, query, log } = await ready()
    await get(group.key)
    await get('slc_live_wrong')
    await get(group.key, `${query}&token=slc_preview_secret`)
    assert.match(log(), /"route":"\/tenant\//)
    for (const secret of [group.key, 'slc_', 'authorization', 'token=']) assert.ok(!log().includes(secret), secret)
  })
}
