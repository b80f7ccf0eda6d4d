import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type GroupRole, groupRoles, lesserRole } from '../../src/core/roles.ts'
import { createService } from '../../src/service.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { assertUnchanged } from '../helpers/dump.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { managing } from '../helpers/manage.ts'

const day = 86_400

onBothEngines('admin tokens', (engine) => {
  it('never allow more than the roles of their user, and less when restricted (every combination)', async () => {
    const { call, newUser, newManagedGroup } = await managing(engine)
    const [one, other] = [(await newManagedGroup()).groupId, (await newManagedGroup()).groupId]
    /** A call for each role: the number of allowed ones is the highest role of a token. */
    const doors = ['events', 'previews', 'keys']
    const mostIn = async (groupId: string, token: string): Promise<GroupRole | undefined> => {
      const opened: boolean[] = []
      for (const door of doors)
        opened.push((await call('GET', `/manage/groups/${groupId}/${door}`, undefined, token)).statusCode === 200)
      const count = opened.filter(Boolean).length
      assert.deepEqual(
        opened,
        doors.map((_, position) => position < count),
      )
      return groupRoles[count - 1]
    }
    const isAdministrator = async (token: string) =>
      (await call('GET', '/manage/users', undefined, token)).statusCode === 200

    for (const administrator of [false, true]) {
      for (const role of [undefined, ...groupRoles]) {
        const user = await newUser({ administrator }, { ...(role && { [one]: role }), [other]: 'editor' })
        for (const only of [undefined, one, other]) {
          for (const most of [undefined, ...groupRoles]) {
            const token = await user.newToken({ groupId: only, role: most })
            const what = JSON.stringify({ administrator, role, only, most })
            for (const [groupId, own] of [
              [one, role],
              [other, 'editor'],
            ] as const) {
              const users = administrator ? 'owner' : own
              const expected =
                only !== undefined && only !== groupId ? undefined : users && lesserRole(users, most ?? 'owner')
              assert.equal(await mostIn(groupId, token), expected, what)
            }
            assert.equal(await isAdministrator(token), administrator && !only && !most, what)
          }
        }
      }
    }
  })

  it('are created with their restrictions, and listed with them', async () => {
    const { ask, newUser, newManagedGroup, clock } = await managing(engine)
    const { groupId } = await newManagedGroup()
    const { user } = await newUser()
    const path = `/manage/users/${user.id}/tokens`
    const { token, ...shown } = await ask('POST', path, { label: 'CI', groupId, role: 'viewer', lifeSeconds: day })
    assert.match(token, /^slc_admin_\w{43}_\w{6}$/)
    assert.deepEqual(shown, {
      _id: shown._id,
      userId: user.id,
      label: 'CI',
      prefix: token.slice(0, 'slc_admin_'.length + 4),
      groupId,
      role: 'viewer',
      createdAt: new Date(clock.now).toISOString(),
      expiresAt: new Date(clock.now + day * 1000).toISOString(),
      lastUsedAt: null,
      revokedAt: null,
    })
    const { items } = await ask('GET', path)
    assert.deepEqual(items.at(-1), shown)
  })

  it('work until they expire, or at most a second longer', async () => {
    const { ask, call, newManagedGroup, clock } = await managing(engine)
    const { groupId, members, tokens } = await newManagedGroup()
    const userId = members.owner.user.id
    const path = `/manage/groups/${groupId}/members/${userId}/tokens`
    for (const make of [
      () => ask('POST', path, { lifeSeconds: 60 }, tokens.owner),
      () => ask('POST', `/manage/users/${userId}/tokens`, { lifeSeconds: 60 }),
    ]) {
      const { token } = await make()
      const endsMs = clock.now + 60_000
      const statusAt = async (ms: number) => {
        clock.now = ms
        return (await call('GET', '/manage/whoami', undefined, token)).statusCode
      }
      assert.equal(await statusAt(endsMs - 1001), 200)
      assert.equal(await statusAt(endsMs - 1), 200)
      assert.equal(await statusAt(endsMs + 999), 401)
    }
  })

  it('have a lifetime from a minute to ten years, or until they are revoked', async () => {
    const { ask, call, newManagedGroup, service } = await managing(engine)
    const { groupId, members } = await newManagedGroup()
    const userId = members.viewer.user.id
    const paths = [`/manage/users/${userId}/tokens`, `/manage/groups/${groupId}/members/${userId}/tokens`]
    await assertUnchanged(service.store, async () => {
      for (const path of paths)
        for (const lifeSeconds of [0, -1, 59, 60.5, '60', 3650 * day + 1, null])
          assertFailure(await call('POST', path, { lifeSeconds }), 400, 'ValidationError', /lifeSeconds/)
    })
    for (const path of paths) {
      assert.notEqual((await ask('POST', path, { lifeSeconds: 3650 * day })).expiresAt, null)
      assert.equal((await ask('POST', path)).expiresAt, null)
    }
  })

  it('are not created for a disabled user, an unknown one, or a missing group', async () => {
    const { ask, call, newManagedGroup, service } = await managing(engine)
    const { groupId, members } = await newManagedGroup()
    const userId = members.viewer.user.id
    await ask('POST', `/manage/users/${userId}/disable`)
    await assertUnchanged(service.store, async () => {
      for (const path of [`/manage/users/${userId}/tokens`, `/manage/groups/${groupId}/members/${userId}/tokens`])
        assertFailure(await call('POST', path), 400, 'ValidationError', /disabled/)
      const ownerId = members.owner.user.id
      assertFailure(await call('POST', `/manage/users/${ownerId}/tokens`, { groupId: 'x' }), 404, 'NotFound')
      assertFailure(await call('POST', `/manage/groups/${groupId}/members/x/tokens`), 404, 'NotFound')
    })
  })

  it('that an owner creates are restricted to this group; owners see and revoke those, and no others', async () => {
    const { ask, call, newManagedGroup, newUser, clock } = await managing(engine)
    const [here, there] = [await newManagedGroup(), await newManagedGroup()]
    const { user, token } = await newUser({}, { [here.groupId]: 'owner', [there.groupId]: 'owner' })
    const made = await ask('POST', `/manage/groups/${here.groupId}/members/${user.id}/tokens`, undefined, token)
    assert.equal(made.groupId, here.groupId)
    assert.equal((await call('GET', `/manage/groups/${there.groupId}`, undefined, made.token)).statusCode, 404)
    const path = `/manage/groups/${here.groupId}/tokens`
    const { items } = await ask('GET', path, undefined, here.tokens.owner)
    assert.deepEqual(
      items.map(({ _id }: { _id: string }) => _id),
      [made._id],
    )
    const { items: all } = await ask('GET', `/manage/users/${user.id}/tokens`)
    const unbound = all.find((token: { groupId: string | null }) => token.groupId === null)
    assertFailure(await call('POST', `${path}/${unbound._id}/revoke`, undefined, here.tokens.owner), 404, 'NotFound')
    const revoked = await ask('POST', `${path}/${made._id}/revoke`, undefined, here.tokens.owner)
    assert.equal(revoked.revokedAt, new Date(clock.now).toISOString())
    clock.now += 1000
    assertFailure(await call('GET', '/manage/whoami', undefined, made.token), 401, 'Unauthorized')
    assert.deepEqual(await ask('POST', `${path}/${made._id}/revoke`, undefined, here.tokens.owner), revoked)
  })
})

onBothEngines('API keys', (engine) => {
  /** A group with a key created by its owner, and the delivery API's status for a key. */
  async function withKey() {
    const created = await managing(engine)
    const group = await created.newManagedGroup()
    const path = `/manage/groups/${group.groupId}/keys`
    const asOwner = (method: 'GET' | 'POST', part = '', body?: object) =>
      created.ask(method, `${path}${part}`, body, group.tokens.owner)
    const statusOf = async (authorization: string, app = created.app) =>
      (await app.inject({ url: '/tenant/integrationObjects?type=stripe', headers: { authorization } })).statusCode
    return { ...created, ...group, path, asOwner, statusOf, made: await asOwner('POST', '', { label: 'website' }) }
  }

  it('are created, work at once, and are listed by their prefix', async () => {
    const { made, asOwner, statusOf, clock } = await withKey()
    const { key, ...shown } = made
    assert.match(key, /^slc_live_\w{43}_\w{6}$/)
    assert.deepEqual(shown, {
      _id: shown._id,
      label: 'website',
      prefix: key.slice(0, 'slc_live_'.length + 4),
      createdAt: new Date(clock.now).toISOString(),
      lastUsedAt: null,
      expiresAt: null,
      revokedAt: null,
    })
    assert.equal(await statusOf(key), 200)
    const { items, totalCount } = await asOwner('GET')
    assert.equal(totalCount, 2)
    assert.deepEqual(items.at(-1), shown)
  })

  it('show when they were last used, stored at the latest when a server stops', async () => {
    const { made, asOwner, statusOf, config, clock, service, ask, admin } = await withKey()
    const another = await createService(config, { clock: () => clock.now, logger: service.logger })
    clock.now += 90_000
    const usedAt = new Date(clock.now).toISOString()
    assert.equal(await statusOf(made.key, another.app), 200)
    await another.app.inject({ url: '/manage/whoami', headers: { authorization: `Bearer ${admin}` } })
    await another.close()
    clock.now += 5000
    const [unused, used] = (await asOwner('GET')).items
    assert.equal(unused.lastUsedAt, null)
    assert.equal(used.lastUsedAt, usedAt)
    const { userId } = await ask('GET', '/manage/whoami')
    assert.equal((await ask('GET', `/manage/users/${userId}/tokens`)).items[0].lastUsedAt, usedAt)
  })

  it('are revoked by their id, their prefix or in full, once', async () => {
    const { asOwner, statusOf, clock } = await withKey()
    for (const which of ['_id', 'prefix', 'key'] as const) {
      const made = await asOwner('POST')
      assert.equal(await statusOf(made.key), 200)
      const revoked = await asOwner('POST', `/${made[which]}/revoke`)
      assert.equal(revoked._id, made._id)
      clock.now += 1000
      assert.equal(await statusOf(made.key), 401)
      assert.deepEqual(await asOwner('POST', `/${made._id}/revoke`), revoked)
    }
  })

  it('that are rotated work exactly until the end of the grace period, the new one from the beginning', async () => {
    const { made, asOwner, statusOf, clock } = await withKey()
    const rotated = await asOwner('POST', `/${made._id}/rotate`, { graceSeconds: 60 })
    const endsMs = clock.now + 60_000
    assert.notEqual(rotated.key, made.key)
    assert.equal(rotated.label, 'website')
    assert.equal(rotated.expiresAt, null)
    assert.equal(rotated.replaced._id, made._id)
    assert.equal(rotated.replaced.expiresAt, new Date(endsMs).toISOString())
    assert.equal(await statusOf(rotated.key), 200)
    clock.now = endsMs - 1001
    assert.equal(await statusOf(made.key), 200)
    clock.now = endsMs
    assert.equal(await statusOf(made.key), 401)
    assert.equal(await statusOf(rotated.key), 200)
  })

  it('under constant use are refused at most 1 second after the grace period', async () => {
    const { made, asOwner, statusOf, clock } = await withKey()
    await asOwner('POST', `/${made._id}/rotate`, { graceSeconds: 1 })
    const endsMs = clock.now + 1000
    for (; clock.now < endsMs; clock.now += 100) assert.equal(await statusOf(made.key), 200)
    clock.now = endsMs + 1000
    assert.equal(await statusOf(made.key), 401)
  })

  it('have a grace period of a day by default, none with 0, and at most 90 days', async () => {
    const { made, asOwner, call, path, tokens, statusOf, clock, service } = await withKey()
    const { replaced } = await asOwner('POST', `/${made._id}/rotate`)
    assert.equal(replaced.expiresAt, new Date(clock.now + day * 1000).toISOString())
    await assertUnchanged(service.store, async () => {
      for (const graceSeconds of [-1, 90 * day + 1, 1.5, '60'])
        assertFailure(
          await call('POST', `${path}/${made._id}/rotate`, { graceSeconds }, tokens.owner),
          400,
          'ValidationError',
        )
    })
    const leaked = await asOwner('POST')
    await asOwner('POST', `/${leaked._id}/rotate`, { graceSeconds: 0 })
    clock.now += 1000
    assert.equal(await statusOf(leaked.key), 401)
  })

  it('can be rotated twice: no grace period is extended, and each new key works', async () => {
    const { made, asOwner, statusOf, clock } = await withKey()
    const startMs = clock.now
    const first = await asOwner('POST', `/${made._id}/rotate`, { graceSeconds: 60 })
    const again = await asOwner('POST', `/${made._id}/rotate`, { graceSeconds: 3600 })
    assert.equal(again.replaced.expiresAt, first.replaced.expiresAt)
    const sooner = await asOwner('POST', `/${made._id}/rotate`, { graceSeconds: 30 })
    assert.equal(sooner.replaced.expiresAt, new Date(startMs + 30_000).toISOString())
    const second = await asOwner('POST', `/${first._id}/rotate`, { graceSeconds: 120 })
    clock.now = startMs + 30_000
    assert.equal(await statusOf(made.key), 401)
    for (const { key } of [first, again, sooner, second]) assert.equal(await statusOf(key), 200)
    clock.now = startMs + 120_000
    assert.equal(await statusOf(first.key), 401)
    assert.equal(await statusOf(second.key), 200)
  })

  it('that are revoked stay revoked when rotated', async () => {
    const { made, asOwner, statusOf, clock } = await withKey()
    const revoked = await asOwner('POST', `/${made._id}/revoke`)
    const rotated = await asOwner('POST', `/${made._id}/rotate`)
    assert.deepEqual(rotated.replaced, revoked)
    clock.now += 1000
    assert.equal(await statusOf(made.key), 401)
    assert.equal(await statusOf(rotated.key), 200)
  })
})
