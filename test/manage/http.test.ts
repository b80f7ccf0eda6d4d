import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientRequest, request } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { LightMyRequestResponse } from 'fastify'
import { makeId } from '../../src/core/ids.ts'
import { verbs } from '../../src/manage/index.ts'
import { makeAdminToken } from '../../src/security/tokens.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { assertUnchanged } from '../helpers/dump.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { createManaging, type ManagedGroup, type Managing, type Method } from '../helpers/manage.ts'

const defaultBodyBytes = 256 * 1024
const methods: Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

function assertSecurityHeaders({ headers }: LightMyRequestResponse): void {
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['referrer-policy'], 'no-referrer')
  assert.equal(headers['content-security-policy'], "default-src 'none'; frame-ancestors 'none'")
  assert.match(String(headers['x-request-id']), /^[0-9a-f]{24}$/)
  assert.equal(headers['cache-control'], 'no-store')
  for (const name of ['server', 'x-powered-by', 'access-control-allow-origin', 'etag', 'set-cookie'])
    assert.equal(headers[name], undefined, name)
}

onBothEngines('a request to the management API', (engine) => {
  let created: Managing
  let group: ManagedGroup
  before(async () => {
    created = await createManaging(engine)
    group = await created.newManagedGroup()
  })
  after(() => created.close())

  /** A raw body with any Content-Type, or none. */
  const send = (url: string, payload: string | Buffer, contentType: string | undefined = 'application/json') =>
    created.app.inject({
      method: 'POST',
      url,
      payload,
      headers: { authorization: `Bearer ${created.admin}`, ...(contentType && { 'content-type': contentType }) },
    })
  const keysPath = () => `/manage/groups/${group.groupId}/keys`

  const changingNothing = (work: () => Promise<void>) => assertUnchanged(created.service.store, work)

  it('is answered with the envelope, security headers and no-store', async () => {
    for (const path of ['/manage/whoami', '/manage/groups', `/manage/groups/${group.groupId}`]) {
      const answer = await created.call('GET', path)
      assert.equal(answer.statusCode, 200)
      assert.deepEqual(Object.keys(answer.json()), ['success', 'data', 'error'])
      assertSecurityHeaders(answer)
    }
    assertSecurityHeaders(await created.call('POST', keysPath()))
  })

  it('needs no body without required input, and no content type without a body', async () => {
    assert.equal((await created.call('POST', keysPath())).statusCode, 201)
    assert.equal((await send(keysPath(), '{}')).statusCode, 201)
    const answer = await created.call('POST', `/manage/groups/${group.groupId}/rename`)
    assertFailure(answer, 400, 'ValidationError', /^name is required\.$/)
  })

  it('is 415 with a body that is not application/json', () =>
    changingNothing(async () => {
      for (const contentType of [
        'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/octet-stream',
        'application/jsonx', 'application/vnd.api+json', 'text/json', 'json', '*/*', '', 'application/json, text/plain',
      ]) {
        const answer = await send(keysPath(), '{"label":"x"}', contentType)
        assertFailure(answer, 415, 'UnsupportedMediaType')
        assertSecurityHeaders(answer)
      }
    })) // biome-ignore format: two lines read better

  const badBodies: Record<string, string> = {
    nothing: '',
    'a space': ' ',
    'half an object': '{"label":"x"',
    'two objects': '{}{}',
    'single quotes': "{'label':'x'}",
    'a trailing comma': '{"label":"x",}',
    NaN: '{"label":NaN}',
    'a raw NUL': '{"label":"\0"}',
    'a byte order mark inside': '{\ufeff"label":"x"}',
    'an array': '[{"label":"x"}]',
    'a text': '"label"',
    'a number': '1',
    null: 'null',
    true: 'true',
    'an escaped NUL': '{"label":"a\\u0000b"}',
    'half a character': '{"label":"\\ud800"}',
    'half a character the other way': '{"label":"\\udc00\\ud800"}',
    'a NUL in a name': '{"a\\u0000b":1}',
    'a prototype': '{"__proto__":{"label":"x"}}',
    'an escaped prototype': '{"\\u005f_proto__":{"label":"x"}}',
    'a constructor’s prototype': '{"constructor":{"prototype":{"label":"x"}}}',
    'arrays 100,000 deep': `{"label":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    'objects 40,000 deep': `{"label":${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}}`,
    '15,000 keys': `{${Array.from({ length: 15_000 }, (_, n) => `"k${n}":${n}`).join()}}`,
  }
  for (const [what, body] of Object.entries(badBodies)) {
    it(`is 400 with ${what} as the body`, () =>
      changingNothing(async () => {
        const answer = await send(keysPath(), body)
        assertFailure(answer, 400, 'ValidationError')
        assert.ok(answer.body.length < 4000, `${answer.body.length} characters`)
      }))
  }

  it('is 400 with endlessly nested settings, schemas and values, and never 500', () =>
    changingNothing(async () => {
      const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
      const base = `/manage/groups/${group.groupId}`
      for (const [path, body] of [
        [`${base}/sites`, `{"name":"x","settings":${deep}}`],
        [`${base}/collections`, `{"name":"x","schema":${deep}}`],
        [`${base}/collections/${makeId()}/objects`, `{"objectValue":${deep}}`],
        [`${base}/objects/bulk`, `{"action":"patch","items":[{"objectId":"x","version":1,"objectValue":${deep}}]}`],
      ] as const)
        assertFailure(await send(path, body), 400, 'ValidationError', /nested/)
    }))

  it('is 413 with a body larger than its verb accepts, and accepted up to exactly that size', () =>
    changingNothing(async () => {
      const base = `/manage/groups/${group.groupId}`
      const body = (bytes: number) => `{"label":"${'x'.repeat(bytes - 12)}"}`
      for (const [path, bytes, reason] of [
        ['keys', defaultBodyBytes, /^label must have at most/],
        ['sites', 1024 * 1024, /^name is required; label cannot be given/],
        [`collections/${makeId()}/objects`, 4 * 1024 * 1024, /^objectValue is required; label cannot be given/],
        ['objects/bulk', 4 * 1024 * 1024, /^action is required; items is required; label cannot be given/],
      ] as const) {
        assertFailure(await send(`${base}/${path}`, body(bytes + 1)), 413, 'PayloadTooLarge')
        assertFailure(await send(`${base}/${path}`, body(bytes)), 400, 'ValidationError', reason)
      }
    }))

  it('accepts more than 256 KB only for objects, settings and schemas', () => {
    const large = verbs.filter(({ maxBodyBytes }) => maxBodyBytes > defaultBodyBytes).map(({ name }) => name)
    assert.deepEqual(large.sort(), [
      'collection change-schema', 'collection create', 'integration-type change-schema', 'integration-type create',
      'object bulk', 'object create', 'object create-many', 'object draft patch', 'object draft save', 'object patch', 'object update', 'site create', 'site draft save', 'site set-page',
      'site update',
    ]) // biome-ignore format: two lines read better
  })

  it('is refused before its body is read when the role is missing, or too many large ones arrive at once', async () => {
    const baseUrl = await created.service.app.listen({ host: '127.0.0.1', port: 0 })
    const path = `/manage/groups/${group.groupId}/objects/bulk`
    const stranger = await created.newManagedGroup()
    const begun: ClientRequest[] = []
    const begin = (token: string) => {
      const asked = request(baseUrl + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': 4 * 1024 * 1024,
        },
      })
      asked.on('error', () => {}) // the server may close first
      asked.write('[') // the rest never comes
      const answered = once(asked, 'response').then(async ([answer]) => {
        const text = (await Array.fromAsync(answer)).join('')
        return { status: answer.statusCode, text }
      })
      answered.catch(() => {})
      begun.push(asked)
      return answered
    }
    const refused = async (token: string) => {
      const { status, text } = await begin(token)
      return `${status} ${JSON.parse(text).code}`
    }
    try {
      assert.equal(await refused(group.tokens.viewer), '403 Forbidden')
      assert.equal(await refused(stranger.tokens.owner), '404 NotFound')
      for (let count = 0; count < 4; count += 1) begin(group.tokens.editor)
      const deadlineMs = Date.now() + 20_000
      let last = ''
      // Once the four have arrived, one more is refused.
      while (last !== '429 RateLimited' && Date.now() < deadlineMs)
        last = await Promise.race([refused(group.tokens.owner), wait(50, 'not yet')])
      assert.equal(last, '429 RateLimited')
      const elsewhere = `/manage/groups/${stranger.groupId}/objects/${makeId()}`
      assert.equal((await created.call('PATCH', elsewhere, {})).statusCode, 400)
    } finally {
      for (const asked of begun) asked.destroy()
    }
  })

  it('is refused before its body is read when the token is invalid', async () => {
    const answer = await created.app.inject({
      method: 'POST',
      url: keysPath(),
      payload: Buffer.alloc(defaultBodyBytes * 2),
      headers: { 'content-type': 'application/json' },
    })
    assertFailure(answer, 401, 'Unauthorized')
  })

  it('is never 500 for a number that is too large', async () => {
    const schema = { count: { type: 'integer' }, price: { type: 'decimal' } }
    const posts = await group.collection('Numbers', schema)
    const base = `/manage/groups/${group.groupId}`
    const numbers = ['1e400', '-1e400', '1e308', '9007199254740993', '99999999999999999999', '-1', '1.5', '2147483648']
    for (const number of numbers) {
      const answers = [
        await send(`${base}/versionsKept`, `{"versionsKept":${number}}`),
        await send(`${base}/previews`, `{"objectId":"x","maxUses":${number}}`),
        await send(`${base}/previews`, `{"objectId":"x","lifeSeconds":${number}}`),
        await send(`${base}/keys/x/rotate`, `{"graceSeconds":${number}}`),
        await send(`${base}/objects/x/publish`, `{"version":${number}}`),
        await send(`${base}/collections/${posts.id}/schema`, `{"version":${number},"schema":{}}`),
        await created.call('GET', `${base}/events?since=${number}`),
        await created.call('GET', `${base}/submissions?skip=${number}`),
        await created.call('GET', `${base}/objects/x/diff?from=${number}&to=${number}`),
        await created.call('POST', `${base}/objects/x/versions/${number}/restore`),
        await created.call('DELETE', `${base}/objects/x?version=${number}`),
      ]
      for (const { statusCode, body } of answers) assert.ok(statusCode < 500, `${number}: ${statusCode} ${body}`)
    }
    for (const value of ['{"count":1e400}', '{"count":9007199254740993}', '{"price":1e400}'])
      assertFailure(
        await send(`${base}/collections/${posts.id}/objects`, `{"objectValue":${value}}`),
        400,
        'ValidationError',
      )
  })

  it('is 405 with Allow when the path supports other methods, HEAD included', async () => {
    const matching = (path: string) =>
      verbs.filter((verb) => new RegExp(`^${verb.path.replace(/:\w+/g, '[^/]+')}$`).test(path))
    for (const path of new Set(verbs.map((verb) => verb.path.replace(/:\w+/g, '1')))) {
      const allowed = methods.filter((method) => matching(path).some((verb) => verb.method === method))
      for (const method of methods.filter((one) => !allowed.includes(one))) {
        const answer = await created.call(method, path)
        assert.equal(answer.statusCode, 405, `${method} ${path}`)
        assert.equal(answer.headers.allow, allowed.join(', '), `${method} ${path}`)
        if (method !== 'HEAD') assertFailure(answer, 405, 'MethodNotAllowed')
        assertSecurityHeaders(answer)
      }
    }
  })

  it('is 404 for an unknown path, with any token', async () => {
    for (const path of ['/manage/nope', '/manage/', `/manage/groups/${group.groupId}/nope`, '/Manage/groups'])
      for (const token of [created.admin, null, 'wrong']) {
        const answer = await created.call('GET', path, undefined, token)
        assertFailure(answer, 404, 'NotFound')
        assertSecurityHeaders(answer)
      }
  })

  it('is 400 for a malformed id, and 404 for an unknown one', async () => {
    for (const id of ['x'.repeat(101), 'a%00b', '%ed%a0%80', '%zz'])
      assertFailure(await created.call('GET', `/manage/groups/${group.groupId}/objects/${id}`), 400, 'ValidationError')
    for (const id of ['x', '1', '..', '%2e%2e', '%2F', "'%20or%201=1", '__proto__', 'constructor', makeId()])
      assertFailure(await created.call('GET', `/manage/groups/${group.groupId}/objects/${id}`), 404, 'NotFound')
  })

  it('has the envelope and security headers on every failure', async () => {
    const { groupId, tokens } = group
    const collection = { name: 'Taken', schema: {} }
    await created.call('POST', `/manage/groups/${groupId}/collections`, collection)
    const failures: [status: number, code: string, answer: LightMyRequestResponse][] = [
      [400, 'ValidationError', await created.call('GET', '/manage/groups?x=1')],
      [401, 'Unauthorized', await created.call('GET', '/manage/groups', undefined, null)],
      [403, 'Forbidden', await created.call('POST', keysPath(), undefined, tokens.viewer)],
      [404, 'NotFound', await created.call('GET', `/manage/groups/${makeId()}`)],
      [409, 'Conflict', await created.call('POST', `/manage/groups/${groupId}/collections`, collection)],
    ]
    for (const [status, code, answer] of failures) {
      assertFailure(answer, status, code)
      assertSecurityHeaders(answer)
    }
  })

  it('is 409 with both states in details when the version is stale', async () => {
    const { groupId } = group
    const site = await created.ask('POST', `/manage/groups/${groupId}/sites`, { name: 'First' })
    const answer = await created.call('PATCH', `/manage/groups/${groupId}/sites/${site._id}`, {
      version: 7,
      name: 'Mine',
    })
    assert.equal(answer.statusCode, 409)
    assert.deepEqual(answer.json().details, { current: site, yours: { name: 'Mine' } })
    assertSecurityHeaders(answer)
  })
})

describe('the token of a request', () => {
  it('is accepted as "Bearer <token>" only, as every 401 states', async () => {
    const created = await createManaging('sqlite')
    after(() => created.close())
    const { key } = await created.newGroup()
    const { admin, app } = created
    const ask = (url: string, authorization?: string) =>
      app.inject({ url, headers: authorization === undefined ? {} : { authorization } })
    for (const good of [`Bearer ${admin}`, `bearer ${admin}`, `BEARER  ${admin}`])
      assert.equal((await ask('/manage/whoami', good)).statusCode, 200)
    const wrong = [
      undefined, '', 'Bearer', 'Bearer ', admin, `Basic ${admin}`, `Token ${admin}`, `Bearer ${admin} x`, `Bearer${admin}`,
      `Bearer "${admin}"`, `Bearer ${admin}x`, `Bearer ${admin.slice(0, -1)}`, `Bearer ${admin.toUpperCase()}`,
      `Bearer ${makeAdminToken()}`, key, `Bearer ${key}`, `Bearer ${admin}, Bearer ${admin}`,
    ] // biome-ignore format: a few lines read better
    for (const authorization of wrong) {
      const answer = await ask('/manage/whoami', authorization)
      assertFailure(answer, 401, 'Unauthorized')
      assert.equal(answer.headers['www-authenticate'], 'Bearer')
    }
    for (const url of [`/manage/whoami?token=${admin}`, `/manage/whoami?access_token=${admin}`])
      assertFailure(await ask(url), 401, 'Unauthorized')
    for (const authorization of [admin, `Bearer ${admin}`])
      assertFailure(await ask('/tenant/siteDetails?siteId=x', authorization), 401, 'Unauthorized')
  })
})
