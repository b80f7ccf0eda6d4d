import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { createHarness, type Harness, harness } from '../helpers/harness.ts'
import { parseMetrics, readValue } from '../helpers/prometheus.ts'

const token = 'a-token-for-tests-0123456789'
const ownPort = { METRICS_PORT: '0' }
const bearer = (text: string): { authorization: string } => ({ authorization: `Bearer ${text}` })

/** Tokens that differ from the right one by a character or entirely. */
const wrongTokens = [
  token.slice(0, -1), `${token}0`, token.toUpperCase(), `${token.slice(0, -1)}8`, 'x', `${token},${token}`, `${token} ${token}`,
] // biome-ignore format: one line reads better
const wrongHeaders = [
  ...wrongTokens.map((text) => `Bearer ${text}`), token, `Basic ${token}`, `Bearer${token}`, '', 'Bearer', 'Bearer ',
] // biome-ignore format: one line reads better

async function urlOf(running: Harness): Promise<string> {
  const { metricsUrl } = await running.service.listen()
  assert.ok(metricsUrl)
  return metricsUrl
}

describe('GET /metrics on the port of the delivery API', () => {
  it('answers callers with the token in the text format', async () => {
    const { app } = await harness('sqlite', { env: { METRICS_TOKEN: token } })
    const answer = await app.inject({ url: '/metrics?x=1', headers: bearer(token) })
    assert.equal(answer.statusCode, 200)
    assert.equal(answer.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.ok(parseMetrics(answer.body).has('sluice_build_info'))
  })

  it('answers anyone else like a path that does not exist, for any method', async () => {
    const { app, newGroup, log } = await harness('sqlite', { env: { METRICS_TOKEN: token } })
    const { key } = await newGroup()
    const ask = async (method: 'GET' | 'HEAD' | 'POST' | 'OPTIONS' | 'DELETE', url: string, authorization?: string) => {
      const { statusCode, headers, body } = await app.inject({
        method,
        url,
        headers: authorization === undefined ? {} : { authorization },
      })
      const { 'x-request-id': _id, ratelimit: _left, date: _date, ...others } = headers
      return { statusCode, others, body }
    }
    const missing = await ask('GET', '/metricz')
    assert.equal(missing.statusCode, 404)
    for (const header of [undefined, key, ...wrongHeaders])
      assert.deepEqual(await ask('GET', '/metrics', header), missing, String(header))
    for (const url of ['/metrics/', '/Metrics', '/metrics/x', '/metrics%20', '//metrics'])
      assert.equal((await ask('GET', url, `Bearer ${token}`)).statusCode, 404, url)
    for (const method of ['HEAD', 'POST', 'OPTIONS', 'DELETE'] as const) {
      for (const header of [undefined, `Bearer ${token}`])
        assert.deepEqual(await ask(method, '/metrics', header), await ask(method, '/metricz'), method)
    }
    assert.ok(!log().includes(token))
    for (const text of wrongTokens.filter(({ length }) => length > 1)) assert.ok(!log().includes(text), text)
  })

  it('limits callers that guess tokens like unauthenticated ones, and never callers with the token', async () => {
    const rateLimits = 'anonymous=1/5,free=1/1,basic=1/1,pro=1/1,proplus=1/1'
    const { app } = await harness('sqlite', { env: { METRICS_TOKEN: token, RATE_LIMITS: rateLimits } })
    const ask = async (text: string) => (await app.inject({ url: '/metrics', headers: bearer(text) })).statusCode
    const statuses = []
    for (let round = 0; round < 7; round += 1) statuses.push(await ask(`guess-number-${round}`))
    assert.deepEqual(statuses, [404, 404, 404, 404, 404, 429, 429])
    for (let round = 0; round < 10; round += 1) assert.equal(await ask(token), 200)
  })

  it('does not exist without a token, beside a port of its own, or on the port of the management API', async () => {
    const without = await harness('sqlite')
    assert.equal((await without.app.inject('/metrics')).statusCode, 404)
    assert.equal((await without.service.listen()).metricsUrl, undefined)
    const beside = await harness('sqlite', { env: { ...ownPort, METRICS_TOKEN: token } })
    assert.equal((await beside.app.inject({ url: '/metrics', headers: bearer(token) })).statusCode, 404)
    const { service } = await harness('sqlite', { env: { MANAGE_PORT: '0', METRICS_TOKEN: token } })
    assert.equal((await service.app.inject({ url: '/metrics', headers: bearer(token) })).statusCode, 200)
    assert.equal((await service.manageApp?.inject({ url: '/metrics', headers: bearer(token) }))?.statusCode, 404)
  })
})

describe('GET /metrics on a port of its own', () => {
  it('answers without a token, listens on the loopback address by default, and serves nothing else', async () => {
    const running = await harness('sqlite', { env: ownPort })
    const url = await urlOf(running)
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
    const answer = await fetch(url)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
    const found = parseMetrics(await answer.text())
    assert.ok(found.has('sluice_event_loop_delay_seconds'))
    const head = await fetch(url, { method: 'HEAD' })
    assert.deepEqual([head.status, await head.text()], [200, ''])
    assert.equal((await fetch(url, { method: 'POST', body: 'x' })).status, 405)
    for (const path of ['/', '/metricz', '/healthz', '/tenant/siteDetails', '/manage/groups'])
      assert.equal((await fetch(new URL(path, url))).status, 404, path)
  })

  it('requires the token if one is set, and limits guesses', async () => {
    const rateLimits = 'anonymous=1/40,free=1/1,basic=1/1,pro=1/1,proplus=1/1'
    const running = await harness('sqlite', { env: { ...ownPort, METRICS_TOKEN: token, RATE_LIMITS: rateLimits } })
    const url = await urlOf(running)
    const ask = async (authorization?: string) =>
      (await fetch(url, { headers: authorization === undefined ? {} : { authorization } })).status
    for (const header of [undefined, ...wrongHeaders]) assert.equal(await ask(header), 401, String(header))
    for (let round = 0; round < 40; round += 1) await ask('Bearer guess')
    assert.equal(await ask('Bearer guess'), 429)
    assert.equal(await ask(`Bearer ${token}`), 200)
    assert.ok(!running.log().includes(token))
  })

  it('counts requests answered before they reach the framework', async () => {
    const running = await harness('sqlite', { env: ownPort })
    const { baseUrl, metricsUrl = '' } = await running.service.listen()
    const { key, collection } = await running.newGroup({ tier: 'basic' })
    const { id } = await collection('Posts', { title: { type: 'text' } })
    const url = `${baseUrl}/tenant/collectionObjects?collectionId=${id}`
    for (let round = 0; round < 6; round += 1) {
      const answer = await fetch(url, { headers: { authorization: key } })
      assert.equal(answer.status, 200, await answer.text())
    }
    const found = parseMetrics(await (await fetch(metricsUrl)).text())
    const route = '/tenant/collectionObjects'
    assert.equal(readValue(found, 'sluice_http_requests_total', { route, status: '200' }), 6)
    assert.equal(readValue(found, 'sluice_http_request_duration_seconds_count', { route }), 6)
    assert.equal(readValue(found, 'sluice_requests_by_tier_total', { tier: 'basic' }), 6)
    assert.equal(readValue(found, 'sluice_answer_cache_misses_total'), 1)
    assert.equal(readValue(found, 'sluice_answer_cache_hits_total'), 5)
    assert.equal(readValue(found, 'sluice_answer_cache_entries'), 1)
  })

  it('counts the connections of API clients, and not those to itself', async () => {
    const running = await harness('sqlite', { env: ownPort })
    const listening = await running.service.listen()
    const count = async () => {
      const found = parseMetrics(await (await fetch(listening.metricsUrl ?? '')).text())
      return found.get('sluice_open_connections')?.samples[0]?.value
    }
    assert.equal(await count(), 0)
    const { hostname, port } = new URL(listening.baseUrl)
    const socket = connect(Number(port), hostname)
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
    assert.equal(await count(), 1)
    socket.destroy()
  })

  it('is closed with the service, even with an open connection', async () => {
    const running = await createHarness('sqlite', { env: ownPort })
    const url = await urlOf(running)
    await (await fetch(url)).text() // keeps its connection open
    await running.close()
    await assert.rejects(fetch(url))
  })

  it('fails the start if the port is in use', async () => {
    const first = await harness('sqlite', { env: ownPort })
    const { port } = new URL(await urlOf(first))
    const second = await harness('sqlite', { env: { METRICS_PORT: port } })
    await assert.rejects(second.service.listen(), { code: 'EADDRINUSE' })
  })
})
