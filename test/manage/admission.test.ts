import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { verbs } from '../../src/manage/index.ts'
import { makeAdminToken } from '../../src/security/tokens.ts'
import { findGroupById, updateGroup } from '../../src/store/control/groups.ts'
import { authoring } from '../helpers/authoring.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { createManaging, managing } from '../helpers/manage.ts'
import { inputFor, requestOf, setScene } from '../helpers/verb-cases.ts'

interface Ids {
  groupId: string
  userId: string
  tokenId: string
}

const strictToStrangers = 'anonymous=1/2,free=9/9,basic=9/9,pro=9/9,proplus=9/9'

describe('the rate limit of the management API', () => {
  it('counts each token separately, with Retry-After', async () => {
    const { call, newUser, clock } = await managing('sqlite', { env: { MANAGE_RATE_LIMIT: '2/3' } })
    const busy = await newUser()
    const others = [await busy.newToken(), (await newUser()).token]
    const whoami = (token: string) => call('GET', '/manage/whoami', undefined, token)
    for (const left of [2, 1, 0]) {
      const { headers } = await whoami(busy.token)
      assert.match(String(headers.ratelimit), new RegExp(`^"manage";r=${left};t=\\d+$`))
      assert.equal(headers['ratelimit-policy'], '"manage";q=3;w=2')
    }
    const refused = await whoami(busy.token)
    assertFailure(refused, 429, 'RateLimited')
    assert.equal(refused.headers['retry-after'], '1')
    for (const other of others) assert.equal((await whoami(other)).statusCode, 200)
    clock.now += 500
    assert.equal((await whoami(busy.token)).statusCode, 200)
    assertFailure(await whoami(busy.token), 429, 'RateLimited')
  })

  it('also counts by group, so more tokens do not allow more; administrators and other groups are not affected', async () => {
    const { call, newUser, newManagedGroup } = await managing('sqlite', { env: { MANAGE_RATE_LIMIT: '1/5' } })
    const [here, there] = [await newManagedGroup(), await newManagedGroup()]
    const both = await newUser({}, { [here.groupId]: 'viewer', [there.groupId]: 'viewer' })
    const show = (groupId: string, token?: string) => call('GET', `/manage/groups/${groupId}`, undefined, token)
    const made = await Promise.all(
      Array.from({ length: 6 }, () => here.members.viewer.newToken({ groupId: here.groupId })),
    )
    const answers = []
    for (const token of made) {
      answers.push(await call('GET', '/manage/whoami', undefined, token))
      for (let n = 0; n < 4; n += 1) answers.push(await show(here.groupId, token))
    }
    const refused = answers.filter(({ statusCode }) => statusCode === 429)
    assert.equal(answers.length - refused.length, 20, 'four times the limit of one token')
    assert.equal(refused[0]?.headers['ratelimit-policy'], '"manage-group";q=20;w=5')
    assertFailure(await show(here.groupId, here.tokens.owner), 429, 'RateLimited')
    assert.equal((await show(here.groupId)).statusCode, 200, 'an administrator')
    assert.equal((await show(there.groupId, both.token)).statusCode, 200, 'the same person in another group')
  })

  it('of a group is not used up by users without a role in it', async () => {
    const { call, newUser, newManagedGroup } = await managing('sqlite', { env: { MANAGE_RATE_LIMIT: '1/2' } })
    const { groupId, tokens } = await newManagedGroup()
    for (let n = 0; n < 10; n += 1) {
      const { token } = await newUser()
      assertFailure(await call('GET', `/manage/groups/${groupId}`, undefined, token), 404, 'NotFound')
    }
    assert.equal((await call('GET', `/manage/groups/${groupId}`, undefined, tokens.viewer)).statusCode, 200)
  })

  it('counts invalid tokens by address, without affecting a user at the same address', async () => {
    const { call, admin, app, clock } = await managing('sqlite', { env: { RATE_LIMITS: strictToStrangers } })
    const guess = () => call('GET', '/manage/whoami', undefined, makeAdminToken())
    for (const answer of [await guess(), await guess()]) assertFailure(answer, 401, 'Unauthorized')
    assertFailure(await guess(), 429, 'RateLimited')
    assertFailure(await call('GET', '/manage/whoami', undefined, null), 429, 'RateLimited')
    assert.equal((await call('GET', '/manage/whoami', undefined, admin)).statusCode, 200)
    const elsewhere = await app.inject({ url: '/manage/whoami', remoteAddress: '10.1.2.3' })
    assertFailure(elsewhere, 401, 'Unauthorized')
    clock.now += 1000
    assertFailure(await guess(), 401, 'Unauthorized')
  })
})

describe('the port of the management API', () => {
  const portOf = (app: FastifyInstance | undefined) => app?.server.address() as AddressInfo
  const statusOf = async ({ address, port }: AddressInfo, path: string, token = '') =>
    (
      await fetch(`http://${address}:${port}${path}`, {
        headers: { authorization: `Bearer ${token}` },
        redirect: 'manual',
      })
    ).status

  it('is that of the delivery API by default', async () => {
    const { service, app, admin } = await managing('sqlite')
    await service.listen()
    assert.equal(service.manageApp, undefined)
    assert.equal(await statusOf(portOf(app), '/manage/whoami', admin), 200)
    assert.equal(await statusOf(portOf(app), '/tenant/siteDetails'), 401)
  })

  it('serves only the management API when it is separate, and the other port only delivery', async () => {
    const { service, app, admin } = await managing('sqlite', { env: { MANAGE_PORT: '0' } })
    await service.listen()
    const [main, manage] = [portOf(app), portOf(service.manageApp)]
    assert.notEqual(main.port, manage.port)
    for (const path of ['/manage', '/manage/whoami', '/manage/groups', '/manage/docs', '/manage/openapi.json'])
      assert.equal(await statusOf(main, path, admin), 404, path)
    assert.equal(await statusOf(manage, '/manage/whoami', admin), 200)
    assert.equal(await statusOf(manage, '/manage/docs'), 200)
    for (const path of ['/tenant/siteDetails', '/tenant/preview', '/media/b/k', '/docs', '/openapi.json', '/'])
      assert.equal(await statusOf(manage, path), 404, path)
    assert.equal(await statusOf(main, '/tenant/siteDetails'), 401)
    for (const address of [main, manage])
      for (const path of ['/healthz', '/readyz']) assert.equal(await statusOf(address, path), 200)
  })

  it('can be "off": then there is no management API', async () => {
    const { service, app, admin } = await managing('sqlite', { env: { MANAGE_PORT: 'off' } })
    assert.equal(service.manageApp, undefined)
    for (const url of ['/manage', '/manage/whoami', '/manage/groups', '/manage/docs', '/manage/openapi.json']) {
      const answer = await app.inject({ url, headers: { authorization: `Bearer ${admin}` } })
      assertFailure(answer, 404, 'NotFound')
    }
  })

  it('uses MANAGE_HOST, or else HOST', async () => {
    const apart = await managing('sqlite', { env: { MANAGE_PORT: '0', MANAGE_HOST: '127.0.0.2' } })
    await apart.service.listen()
    assert.equal(portOf(apart.app).address, '127.0.0.1')
    assert.equal(portOf(apart.service.manageApp).address, '127.0.0.2')
    const together = await managing('sqlite', { env: { MANAGE_PORT: '0', HOST: '127.0.0.3' } })
    await together.service.listen()
    assert.equal(portOf(together.service.manageApp).address, '127.0.0.3')
  })

  it('is closed with the service', async () => {
    const { service, close } = await createManaging('sqlite', { env: { MANAGE_PORT: '0' } })
    await service.listen()
    const address = portOf(service.manageApp)
    await close()
    await assert.rejects(statusOf(address, '/healthz'))
  })
})

onBothEngines('a change of access', (engine) => {
  const changes: Record<
    string,
    [status: number, method: 'POST' | 'DELETE', path: (ids: Ids) => string, body?: object]
  > = {
    'a user who was disabled': [401, 'POST', ({ userId }) => `users/${userId}/disable`],
    'a token that was revoked': [401, 'POST', ({ userId, tokenId }) => `users/${userId}/tokens/${tokenId}/revoke`],
    'a member who was removed': [404, 'DELETE', ({ groupId, userId }) => `groups/${groupId}/members/${userId}`],
    'a member with a smaller role': [
      403,
      'POST',
      ({ groupId, userId }) => `groups/${groupId}/members/${userId}/role`,
      { role: 'viewer' },
    ],
  }
  for (const [who, [status, method, path, body]] of Object.entries(changes)) {
    it(`${who} is refused after at most 1 second`, async () => {
      const { ask, call, newManagedGroup, clock } = await managing(engine)
      const { groupId, members } = await newManagedGroup()
      const { token, user } = members.editor
      const { items } = await ask('GET', `/manage/users/${user.id}/tokens`)
      const edit = () => call('GET', `/manage/groups/${groupId}/previews`, undefined, token)
      assert.equal((await edit()).statusCode, 200)
      await ask(method, `/manage/${path({ groupId, userId: user.id, tokenId: items[0]._id })}`, body)
      clock.now += 1000
      assert.equal((await edit()).statusCode, status)
    })
  }

  it('a revoked key, a freeze and a change of tier take effect at once in the process that made the change', async () => {
    const { ask, newManagedGroup, app, clock } = await managing(engine)
    const { groupId, get, key, tokens } = await newManagedGroup({ tier: 'free' })
    const other = await newManagedGroup()
    const atMs = clock.now
    const policy = async () => String((await get('/tenant/integrationObjects?type=stripe')).headers['ratelimit-policy'])
    assert.match(await policy(), /^"free"/)
    await ask('POST', `/manage/groups/${groupId}/tier`, { tier: 'pro' })
    assert.match(await policy(), /^"pro"/)
    await ask('POST', `/manage/groups/${groupId}/freeze`)
    assertFailure(await get('/tenant/integrationObjects?type=stripe'), 400, 'GroupFrozen')
    await ask('POST', `/manage/groups/${groupId}/unfreeze`)
    assert.equal((await get('/tenant/integrationObjects?type=stripe')).statusCode, 200)
    await ask('POST', `/manage/groups/${groupId}/keys/${key}/revoke`, undefined, tokens.owner)
    const request = { url: '/tenant/integrationObjects?type=stripe', headers: { authorization: key } }
    assertFailure(await app.inject(request), 401, 'Unauthorized')
    assert.equal((await other.get('/tenant/integrationObjects?type=stripe')).statusCode, 200)
    assert.equal(clock.now, atMs)
  })

  for (const [who, [status, method, path, body]] of Object.entries(changes)) {
    it(`${who} is refused at once by the process that made the change`, async () => {
      const { ask, call, newManagedGroup } = await managing(engine)
      const { groupId, members } = await newManagedGroup()
      const { token, user } = members.editor
      const { items } = await ask('GET', `/manage/users/${user.id}/tokens`)
      const edit = () => call('GET', `/manage/groups/${groupId}/previews`, undefined, token)
      assert.equal((await edit()).statusCode, 200)
      await ask(method, `/manage/${path({ groupId, userId: user.id, tokenId: items[0]._id })}`, body)
      assert.equal((await edit()).statusCode, status)
    })
  }

  it('a frozen group can be managed, and is not delivered', async () => {
    const { ask, call, newManagedGroup, clock } = await managing(engine)
    const { groupId, get, tokens } = await newManagedGroup()
    await ask('POST', `/manage/groups/${groupId}/freeze`)
    clock.now += 1000
    assertFailure(await get('/tenant/integrationObjects?type=stripe'), 400, 'GroupFrozen')
    const made = await call('POST', `/manage/groups/${groupId}/sites`, { name: 'Site' }, tokens.owner)
    assert.equal(made.statusCode, 201)
    assert.equal((await call('POST', `/manage/groups/${groupId}/unfreeze`, undefined, tokens.owner)).statusCode, 403)
    await ask('POST', `/manage/groups/${groupId}/unfreeze`)
    clock.now += 1000
    assert.equal((await get('/tenant/integrationObjects?type=stripe')).statusCode, 200)
  })

  it('a group being deleted answers 409 to everything but its deletion, which completes it', async () => {
    const created = await managing(engine)
    const { service, clock, call, ask } = created
    const scene = await setScene(created)
    const { groupId, group, key, tokens } = scene.group
    const inputs = new Map(await Promise.all(verbs.map(async (verb) => [verb, await inputFor(verb, scene)] as const)))
    const interrupted = { frozen: true, deletingMs: clock.now }
    await updateGroup(service.store, await findGroupById(service.store, groupId), interrupted, authoring(clock.now))
    for (const verb of verbs.filter(({ inGroup, name }) => inGroup && name !== 'group delete'))
      assertFailure(await call(...requestOf(verb, inputs.get(verb) ?? {})), 409, 'Conflict', /being deleted/)
    clock.now += 1000
    assert.notEqual((await scene.group.get('/tenant/integrationObjects?type=stripe')).statusCode, 200)
    assertFailure(await call('POST', `/manage/groups/${groupId}/delete`, { confirm: 'x' }), 400, 'ValidationError')
    await ask('POST', `/manage/groups/${groupId}/delete`, { confirm: group.name })
    clock.now += 1000
    assertFailure(await call('GET', `/manage/groups/${groupId}`), 404, 'NotFound')
    assertFailure(await call('GET', `/manage/groups/${groupId}`, undefined, tokens.owner), 404, 'NotFound')
    const delivery = { url: '/tenant/integrationObjects?type=stripe', headers: { authorization: key } }
    assertFailure(await created.app.inject(delivery), 401, 'Unauthorized')
  })

  it('two concurrent changes of a group are both kept', async () => {
    const { ask, newManagedGroup } = await managing(engine)
    const { groupId } = await newManagedGroup()
    for (const round of [1, 2, 3, 4, 5]) {
      await Promise.all([
        ask('POST', `/manage/groups/${groupId}/freeze`),
        ask('POST', `/manage/groups/${groupId}/rename`, { name: `Round ${round}` }),
        ask('POST', `/manage/groups/${groupId}/versionsKept`, { versionsKept: round }),
      ])
      const { frozen, name, versionsKept } = await ask('GET', `/manage/groups/${groupId}`)
      assert.deepEqual({ frozen, name, versionsKept }, { frozen: true, name: `Round ${round}`, versionsKept: round })
      await ask('POST', `/manage/groups/${groupId}/unfreeze`)
    }
  })

  it('is recorded with the caller’s address, also behind a proxy', async () => {
    const { app, admin, ask, newManagedGroup } = await managing(engine, { env: { TRUST_PROXY: '127.0.0.1' } })
    const { groupId } = await newManagedGroup()
    const headers = { authorization: `Bearer ${admin}`, 'x-forwarded-for': '203.0.113.7' }
    await app.inject({ method: 'POST', url: `/manage/groups/${groupId}/freeze`, headers })
    const { items } = await ask('GET', `/manage/groups/${groupId}/audit?limit=1`)
    assert.equal(items[0].from, '203.0.113.7')
    assert.equal(items[0].what, 'group.freeze')
  })
})
