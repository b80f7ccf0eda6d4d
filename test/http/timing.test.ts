import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeContent } from '../../src/delivery/answer.ts'
import { createAnswerCache } from '../../src/delivery/answer-cache.ts'
import { createTiming, findTimed } from '../../src/http/timing.ts'
import { createAdminToken } from '../../src/store/control/admin-tokens.ts'
import { addMember, createUser } from '../../src/store/control/users.ts'
import { authoring } from '../helpers/authoring.ts'
import { type Harness, harness, onBothEngines } from '../helpers/harness.ts'

/** The steps of a `Server-Timing` header in order, with their descriptions. */
function read(header: unknown): { name: string; desc: string | undefined; ms: number }[] {
  assert.equal(typeof header, 'string')
  return String(header)
    .split(', ')
    .map((entry) => {
      const [, name = '', desc, ms] = /^([a-z]+)(?:;desc=([a-z]+))?;dur=(\d+\.\d{3})$/.exec(entry) ?? []
      assert.ok(name, entry)
      return { name, desc, ms: Number(ms) }
    })
}

async function prepared(running: Harness) {
  const { service, clock } = running
  const group = await running.newGroup()
  const posts = await group.collection('Posts', { title: { type: 'text' } })
  await group.add(posts, { value: { title: 'One' } })
  const by = authoring(clock.now)
  const administrator = await createUser(service.store, { name: 'Ada', administrator: true }, by)
  const owner = await createUser(service.store, { name: 'Olga' }, by)
  await addMember(service.store, group.group.id, owner, 'owner', by)
  const tokenOf = async (user: typeof owner, narrowed = {}) =>
    (await createAdminToken(service.store, user, narrowed, by)).token
  const path = `/tenant/collectionObjects?collectionId=${posts.id}`
  const list = (token?: string, query = '', headers = {}) =>
    group.get(path + query, { ...(token !== undefined && { 'x-sluice-timing': token }), ...headers })
  return { group, path, list, administrator, owner, tokenOf }
}

onBothEngines('Server-Timing', (engine) => {
  it('shows an administrator where the time of a request went, and whether the answer was cached', async () => {
    const { list, administrator, tokenOf } = await prepared(await harness(engine))
    const token = await tokenOf(administrator)
    const first = await list(token)
    assert.equal(first.statusCode, 200, first.body)
    const steps = read(first.headers['server-timing'])
    assert.deepEqual(
      steps.map(({ name }) => name),
      ['auth', 'cache', 'read', 'sign', 'serialise', 'total'],
    )
    assert.equal(steps[1]?.desc, 'miss')
    const parts = steps.slice(0, -1).reduce((sum, { ms }) => sum + ms, 0)
    assert.ok(parts <= (steps.at(-1)?.ms ?? 0) + 0.01, String(first.headers['server-timing']))
    const second = read((await list(token)).headers['server-timing'])
    assert.deepEqual(
      second.map(({ name, desc }) => `${name} ${desc ?? ''}`.trim()),
      ['auth', 'cache hit', 'serialise', 'total'],
    )
    const unchanged = await list(token, '', { 'if-none-match': String(first.headers.etag) })
    assert.equal(unchanged.statusCode, 304)
    assert.ok(read(unchanged.headers['server-timing']).some(({ desc }) => desc === 'hit'))
  })

  it('is also sent with failures and with answers that are not content', async () => {
    const { group, list, administrator, tokenOf } = await prepared(await harness(engine))
    const token = await tokenOf(administrator)
    const refused = await list(token, '&limit=0')
    assert.equal(refused.statusCode, 400)
    const missing = await group.get('/tenant/preview?token=x', { 'x-sluice-timing': token })
    assert.ok(missing.statusCode >= 400)
    for (const { headers } of [refused, missing]) {
      const names = read(headers['server-timing']).map(({ name }) => name)
      assert.deepEqual([names[0], names.at(-1)], ['auth', 'total'])
    }
  })

  it('is sent to no other caller: the answer has no such header, and the log does not contain the token', async () => {
    const running = await harness(engine)
    const { list, administrator, owner, tokenOf, path } = await prepared(running)
    const plain = await list()
    const right = await tokenOf(administrator)
    const wrong = [
      '',
      'x',
      right.slice(0, -1),
      `Bearer ${right}`,
      `${right}, ${right}`,
      await tokenOf(owner),
      await tokenOf(administrator, { role: 'owner' }),
      await tokenOf(administrator, { expiresMs: running.clock.now - 1 }),
    ]
    for (const token of wrong) {
      const answer = await list(token)
      assert.equal(answer.headers['server-timing'], undefined, token)
      assert.deepEqual([answer.statusCode, answer.body], [plain.statusCode, plain.body])
    }
    const stranger = await running.app.inject({ url: path, headers: { 'x-sluice-timing': right } })
    assert.equal(stranger.statusCode, 401)
    assert.equal(stranger.headers['server-timing'], undefined)
    assert.equal((await list()).headers['server-timing'], undefined)
    for (const token of [right, ...wrong].filter(({ length }) => length > 1)) assert.ok(!running.log().includes(token))
  })

  it('charges a wrong token to the anonymous limit of the address, and still answers when that is used up', async () => {
    const rateLimits = 'anonymous=1/3,free=100/100,basic=1/1,pro=1/1,proplus=1/1'
    const running = await harness(engine, { env: { RATE_LIMITS: rateLimits } })
    const { list, administrator, tokenOf } = await prepared(running)
    for (let round = 0; round < 5; round += 1) {
      const answer = await list('wrong')
      assert.equal(answer.statusCode, 200)
      assert.match(String(answer.headers.ratelimit), /^"free"/)
    }
    assert.equal((await running.app.inject('/nowhere')).statusCode, 429)
    assert.ok((await list(await tokenOf(administrator))).headers['server-timing'])
  })

  it('is also sent with a cached answer, in front of Fastify', async () => {
    const running = await harness(engine)
    const { group, path, administrator, tokenOf } = await prepared(running)
    const { baseUrl } = await running.service.listen()
    const headers = { authorization: group.key }
    for (let round = 0; round < 3; round += 1) await (await fetch(baseUrl + path, { headers })).text()
    const timed = await fetch(baseUrl + path, {
      headers: { ...headers, 'x-sluice-timing': await tokenOf(administrator) },
    })
    assert.equal(timed.status, 200)
    assert.ok(read(timed.headers.get('server-timing')).some(({ desc }) => desc === 'hit'))
    await timed.text()
    const plain = await fetch(baseUrl + path, { headers })
    assert.equal(plain.headers.get('server-timing'), null)
    await plain.text()
  })
})

describe('a request that joins another one’s answer', () => {
  it('shows that, with the time that it has waited', async () => {
    const answers = createAnswerCache({ maxBytes: 1_000_000, clock: () => 1000 })
    const question = { groupId: 'g', scope: '', route: '/r', query: {}, url: '/r' }
    const content = encodeContent({ json: ['{}'], revision: 1, untilMs: 2000 })
    let end = (_: typeof content): void => {}
    const made = new Promise<typeof content>((resolve) => {
      end = resolve
    })
    answers.observe('g', 1, performance.now())
    const [maker, waiter, late] = [createTiming(0), createTiming(0), createTiming(0)]
    const both = [maker, waiter].map((timing) => findTimed(timing, answers, question, () => made))
    end(content)
    await Promise.all(both)
    await findTimed(late, answers, question, () => assert.fail('it is cached'))
    const outcomes = [maker, waiter, late].map((timing) =>
      read(timing.describe(1)).find(({ name }) => name === 'cache'),
    )
    assert.deepEqual(
      outcomes.map((cache) => cache?.desc),
      ['miss', 'joined', 'hit'],
    )
  })
})
