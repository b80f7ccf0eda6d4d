import assert from 'node:assert/strict'
import { it } from 'node:test'
import { makeApiKey } from '../../src/security/tokens.ts'
import { setFrozen } from './authoring.ts'
import { assertFailure } from './common-suite.ts'
import { type Harness, harness, type TestEngine, type TestGroup } from './harness.ts'

/** An endpoint with a body under the shared suite. */
export interface PostCase {
  path: string
  /** Fills a group and returns a body that succeeds there. */
  prepare(group: TestGroup, harness: Harness): Promise<Record<string, unknown>>
  /** Required keys. */
  required: string[]
  status: 200 | 201
}

/** What every endpoint under /tenant with a body guarantees. */
export function postSuite(engine: TestEngine, { path, prepare, required, status }: PostCase): void {
  async function ready() {
    const created = await harness(engine)
    const group = await created.newGroup()
    const body = await prepare(group, created)
    const send = (payload: unknown, headers: Record<string, string> = {}) =>
      created.app.inject({
        method: 'POST',
        url: path,
        headers: { authorization: group.key, 'content-type': 'application/json', ...headers },
        payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
      })
    return { ...created, group, body, send }
  }

  it('answers a valid request with Cache-Control: no-store', async () => {
    const { body, send } = await ready()
    const answer = await send(body)
    assert.equal(answer.statusCode, status, answer.body)
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
    assert.match(String(answer.headers.ratelimit), /^"free";r=\d+;t=\d+$/)
  })

  it('checks the method, then the key, then the body', async () => {
    const { app, body, send } = await ready()
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
      const answer = await app.inject({ method, url: path })
      assert.equal(answer.statusCode, 405)
      assert.equal(answer.headers.allow, 'POST')
    }
    for (const authorization of ['', 'wrong', makeApiKey()])
      assertFailure(await send('{bad', { authorization }), 401, 'Unauthorized')
    assertFailure(await send(body, { authorization: makeApiKey() }), 401, 'Unauthorized')
    assertFailure(await send('{bad'), 400, 'ValidationError', /not valid JSON/)
  })

  it('refuses a frozen group after at most 1 second', async () => {
    const { body, send, group, service, clock } = await ready()
    await setFrozen(service.store, group.group.id, true)
    clock.now += 1000
    assertFailure(await send(body), 400, 'GroupFrozen', /^The group is frozen$/)
  })

  it('accepts JSON only, however the content type is written', async () => {
    const { app, body, send, group } = await ready()
    const others = [
      'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/xml',
      'application/jsonx', 'text/json', 'application /json', 'application/json,text/plain', 'json', '\tapplication',
    ] // biome-ignore format: a few lines read better
    for (const type of others) {
      const answer = await send(body, { 'content-type': type })
      assertFailure(answer, 415, 'UnsupportedMediaType', /application\/json/)
    }
    const odd = ['application/json', 'APPLICATION/JSON', 'application/json; charset=utf-8', 'application/json ;x=y']
    for (const type of [...odd, ' application/json', 'application/json\t'])
      assertFailure(await send({}, { 'content-type': type }), 400, 'ValidationError', /is required/)
    const bare = await app.inject({ method: 'POST', url: path, headers: { authorization: group.key } })
    assertFailure(bare, 400, 'ValidationError', /^The body must be a JSON object/)
  })

  it('refuses a body that is not a JSON object, is too large or too deep, or would pollute prototypes', async () => {
    const { body, send } = await ready()
    for (const bad of ['[]', 'null', '5', '"x"', 'true'])
      assertFailure(await send(bad), 400, 'ValidationError', /^The body must be a JSON object\.$/)
    for (const bad of ['', '{', '{"a":1}x', '{"a":NaN}', "{'a':1}"])
      assertFailure(await send(bad), 400, 'ValidationError')
    for (const bad of ['{"__proto__":{"x":1}}', '{"a":{"constructor":{"prototype":{"x":1}}}}'])
      assertFailure(await send(bad), 400, 'ValidationError')
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    assertFailure(await send(`{"x":${deep}}`), 400, 'ValidationError', /nested more than 40 deep/)
    assertFailure(await send({ ...body, x: 'x'.repeat(300_000) }), 413, 'PayloadTooLarge')
    assertFailure(await send({ ...body, x: '\0' }), 400, 'ValidationError', /cannot be stored/)
    assertFailure(await send({ ...body, x: '\ud83e' }), 400, 'ValidationError', /cannot be stored/)
  })

  it('names every missing required key in one answer, and ignores unknown keys', async () => {
    const { body, send } = await ready()
    const answer = await send({ siteId: 'x', company: { a: [1, null] } })
    assertFailure(answer, 400, 'ValidationError')
    for (const key of required) assert.match(answer.json().error, new RegExp(`\\b${key} is required`))
    const more = { ...body, siteId: 'x', code: 5, company: { a: [1, null] } }
    assert.equal((await send(more)).statusCode, status)
  })

  it('writes neither the key nor any of the body into the log', async () => {
    const { body, send, group, log } = await ready()
    await send({ ...body, note: 'canary-in-body' }, { 'idempotency-key': 'canary-in-header' })
    await send({ note: 'canary-in-body' })
    assert.match(log(), new RegExp(`"route":"${path}"`))
    for (const secret of [group.key, 'slc_', 'canary-in-']) assert.ok(!log().includes(secret), secret)
  })
}
