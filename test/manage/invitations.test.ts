import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createInvitation } from '../../src/store/control/invitations.ts'
import { authoring } from '../helpers/authoring.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { assertUnchanged } from '../helpers/dump.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { managing } from '../helpers/manage.ts'

const dayMs = 86_400_000
const address = 'ada@people.example'

/** A group whose owner invites, and another tenant’s user with a known address. */
async function inviting(engine: TestEngine, env: Record<string, string> = {}) {
  const created = await managing(engine, { env })
  const { ask, call, newManagedGroup, newUser } = created
  const [here, there] = [await newManagedGroup({ name: 'Here' }), await newManagedGroup({ name: 'There' })]
  const ada = await newUser({ name: 'Ada', email: address }, { [there.groupId]: 'owner' })
  const members = `/manage/groups/${here.groupId}/members`
  const invite = (email = address, role = 'editor', token = here.tokens.owner) =>
    ask('POST', members, { email, role }, token)
  const accept = (body: object, token: string | null = null) => call('POST', '/manage/invitations/accept', body, token)
  const isMember = async (userId: string) =>
    (await ask('GET', members)).items.some((member: { userId: string }) => member.userId === userId)
  return { ...created, here, there, ada, members, invite, accept, isMember }
}

const gone = /no such invitation/

onBothEngines('an invitation', (engine) => {
  it('adds no member, does not reveal whether the address is known, and gives no token to act as that user', async () => {
    const { call, invite, members, ada, isMember, here, ask } = await inviting(engine)
    const [known, unknown] = [await invite(address), await invite('new@people.example')]
    assert.deepEqual(Object.keys(known), Object.keys(unknown))
    for (const [answer, email] of [
      [known, address],
      [unknown, 'new@people.example'],
    ] as const) {
      assert.match(answer.token, /^slc_invite_\w{43}_\w{6}$/)
      assert.equal(answer.email, email)
      assert.equal(answer.name, email)
      assert.ok(!JSON.stringify(answer).includes('Ada') && !JSON.stringify(answer).includes(ada.user.id))
    }
    assert.equal(await isMember(ada.user.id), false)
    const own = (method: 'POST' | 'DELETE', part: string) => call(method, `${members}/${part}`, {}, here.tokens.owner)
    assertFailure(await own('POST', `${ada.user.id}/tokens`), 404, 'NotFound')
    const { items } = await ask('GET', `/manage/groups/${here.groupId}/invitations`, undefined, here.tokens.owner)
    assert.deepEqual(items.map(({ email }: { email: string }) => email), [address, 'new@people.example']) // biome-ignore format: short
    assert.ok(!JSON.stringify(items).includes('slc_'))
  })

  it('does not let another group use up the invited user’s rate limit, even after acceptance', async () => {
    const { call, invite, accept, ada, members, here } = await inviting(engine, { MANAGE_RATE_LIMIT: '5/60' })
    const { token } = await invite()
    assert.equal((await accept({ secret: token }, ada.token)).statusCode, 201)
    const minted = await call('POST', `${members}/${ada.user.id}/tokens`, {}, here.tokens.owner)
    assertFailure(minted, 403, 'Forbidden')
    for (let n = 0; n < 300; n += 1) await call('GET', `/manage/groups/${here.groupId}`, undefined, here.tokens.owner)
    const answers = []
    for (let n = 0; n < 50; n += 1) answers.push(await call('GET', '/manage/whoami', undefined, ada.token))
    assert.equal(answers.filter(({ statusCode }) => statusCode === 429).length, 0)
  })

  it('is shown to the user with its address, who accepts or declines it with their own token', async () => {
    const { ask, accept, invite, ada, here, isMember, call, clock } = await inviting(engine)
    const { token: _, ...invitation } = await invite()
    const mine = () => ask('GET', '/manage/invitations', undefined, ada.token)
    const shown = { ...invitation, groupId: here.groupId, groupName: 'Here' }
    assert.deepEqual(await mine(), { items: [shown], totalCount: 1 })
    const decline = { invitationId: invitation._id }
    assert.equal((await call('POST', '/manage/invitations/decline', decline, ada.token)).statusCode, 200)
    assertFailure(await accept(decline, ada.token), 404, 'NotFound', gone)
    assert.equal(await isMember(ada.user.id), false)
    const { _id: invitationId } = await invite()
    const accepted = await accept({ invitationId }, ada.token)
    assert.equal(accepted.statusCode, 201)
    const expected = { token: null, userId: ada.user.id, groupId: here.groupId, role: 'editor' }
    assert.deepEqual(accepted.json().data, expected)
    assert.equal((await mine()).totalCount, 0)
    clock.now += 1000
    assert.equal((await call('GET', `/manage/groups/${here.groupId}/previews`, undefined, ada.token)).statusCode, 200)
    assertFailure(await accept({ invitationId }, ada.token), 404, 'NotFound', gone)
  })

  it('is useless to anyone else: its id alone opens nothing', async () => {
    const { accept, invite, here, there, call, service, admin } = await inviting(engine)
    const { _id: invitationId } = await invite()
    await assertUnchanged(service.store, async () => {
      for (const token of [here.tokens.viewer, there.tokens.owner, admin]) {
        assertFailure(await accept({ invitationId }, token), 404, 'NotFound', gone)
        const declined = await call('POST', '/manage/invitations/decline', { invitationId }, token)
        assertFailure(declined, 404, 'NotFound', gone)
      }
      assertFailure(await accept({ invitationId }), 401, 'Unauthorized')
      for (const body of [{}, { invitationId, secret: 'slc_invite_x' }])
        assertFailure(await accept(body), 400, 'ValidationError', /either invitationId or secret/)
      assertFailure(await accept({ secret: 'slc_invite_x' }), 404, 'NotFound', gone)
      assertFailure(await accept({ secret: 'slc_invite_x' }, 'slc_admin_x'), 401, 'Unauthorized')
    })
  })

  it('creates a user with a token for a caller without one, exactly once, even when several accept at the same time', async () => {
    const { accept, invite, ask, call, here, members } = await inviting(engine)
    const { token: secret } = await invite('grace@people.example', 'viewer')
    const answers = await Promise.all([1, 2, 3, 4].map(() => accept({ secret, name: 'Grace' })))
    assert.deepEqual(answers.map(({ statusCode }) => statusCode).toSorted(), [201, 404, 404, 404])
    const joined = answers.find(({ statusCode }) => statusCode === 201)?.json().data
    const whoami = await ask('GET', '/manage/whoami', undefined, joined.token)
    assert.deepEqual(whoami, { userId: joined.userId, name: 'Grace', administrator: false })
    assert.equal((await call('GET', `/manage/groups/${here.groupId}`, undefined, joined.token)).statusCode, 200)
    assert.equal((await call('GET', `/manage/groups/${here.groupId}/keys`, undefined, joined.token)).statusCode, 403)
    const { items } = await ask('GET', members, undefined, here.tokens.owner)
    assert.equal(items.filter(({ name }: { name: string }) => name === 'Grace').length, 1)
  })

  it('does not assign its address: accepting by the secret reveals no other invitation to that address', async () => {
    const { accept, invite, ask, there, newManagedGroup } = await inviting(engine)
    const victim = 'victim@people.example'
    const squatter = (await accept({ secret: (await invite(victim)).token })).json().data
    const path = `/manage/groups/${there.groupId}/members`
    const { _id } = await ask('POST', path, { email: victim, role: 'owner' }, there.tokens.owner)
    assert.equal((await ask('GET', '/manage/invitations', undefined, squatter.token)).totalCount, 0)
    assertFailure(await accept({ invitationId: _id }, squatter.token), 404, 'NotFound', gone)
    const third = await newManagedGroup()
    const real = await ask('POST', `/manage/groups/${third.groupId}/members`, { email: victim, role: 'viewer' })
    assert.notEqual(real.userId, squatter.userId, 'an administrator’s word about the address counts')
  })

  it('to an address that only an owner assigned is not shown to that user', async () => {
    const { accept, invite, ask, ada, service } = await inviting(engine)
    await service.store.control.write((db) =>
      db.updateTable('users').set({ email_verified: 0 }).where('id', '=', ada.user.id).execute(),
    )
    const { _id: invitationId, token: secret } = await invite()
    assert.equal((await ask('GET', '/manage/invitations', undefined, ada.token)).totalCount, 0)
    assertFailure(await accept({ invitationId }, ada.token), 404, 'NotFound', gone)
    assert.equal((await accept({ secret }, ada.token)).statusCode, 201)
  })

  it('is not shown to, and cannot be accepted with, a restricted token', async () => {
    const { accept, invite, ask, ada, there } = await inviting(engine)
    const { _id: invitationId, token: secret } = await invite()
    for (const narrowed of [{ groupId: there.groupId }, { role: 'owner' as const }]) {
      const token = await ada.newToken(narrowed)
      assert.equal((await ask('GET', '/manage/invitations', undefined, token)).totalCount, 0)
      for (const body of [{ invitationId }, { secret }])
        assertFailure(await accept(body, token), 403, 'Forbidden', /not limited/)
    }
    assert.equal((await accept({ secret }, ada.token)).statusCode, 201)
  })

  it('ends after seven days, when withdrawn, and when the address is invited again', async () => {
    const { accept, invite, here, call, clock } = await inviting(engine)
    const first = await invite()
    const second = await invite()
    assertFailure(await accept({ secret: first.token }), 404, 'NotFound', gone)
    const path = `/manage/groups/${here.groupId}/invitations/${second._id}`
    assert.equal((await call('DELETE', path, undefined, here.tokens.owner)).statusCode, 200)
    assertFailure(await accept({ secret: second.token }), 404, 'NotFound', gone)
    assertFailure(await call('DELETE', path, undefined, here.tokens.owner), 404, 'NotFound', gone)
    const third = await invite()
    assert.equal(third.expiresAt, new Date(clock.now + 7 * dayMs).toISOString())
    clock.now += 7 * dayMs
    assertFailure(await accept({ secret: third.token }), 404, 'NotFound', gone)
  })

  const endings: Record<string, (path: string, userId: string) => ['POST' | 'DELETE', string, object?]> = {
    'is removed': (path, userId) => ['DELETE', `${path}/members/${userId}`],
    'is no owner any more': (path, userId) => ['POST', `${path}/members/${userId}/role`, { role: 'editor' }],
    'is disabled': (_, userId) => ['POST', `/manage/users/${userId}/disable`],
  }
  for (const [what, ending] of Object.entries(endings)) {
    it(`expires when the inviter ${what}`, async () => {
      const { accept, invite, ask, here, newUser } = await inviting(engine)
      const owner = await newUser({}, { [here.groupId]: 'owner' })
      const { token: secret } = await invite('me-again@people.example', 'owner', owner.token)
      await ask(...ending(`/manage/groups/${here.groupId}`, owner.user.id))
      assertFailure(await accept({ secret }), 404, 'NotFound', gone)
    })
  }

  it('made with an expiring token grants access for no longer', async () => {
    const { accept, invite, here, call, clock } = await inviting(engine)
    const endsMs = clock.now + 3_600_000
    const ending = await here.members.owner.newToken({ expiresMs: endsMs })
    const made = await invite('friend@people.example', 'owner', ending)
    assert.equal(made.expiresAt, new Date(endsMs).toISOString())
    const { token } = (await accept({ secret: made.token })).json().data
    assert.equal((await call('GET', '/manage/whoami', undefined, token)).statusCode, 200)
    clock.now = endsMs
    assertFailure(await call('GET', '/manage/whoami', undefined, token), 401, 'Unauthorized')
  })

  it('cannot be accepted by a member, whose role it would change', async () => {
    const { accept, invite, here, ask, members } = await inviting(engine)
    const { token: secret } = await invite('someone@people.example', 'owner')
    assertFailure(await accept({ secret }, here.tokens.viewer), 409, 'Conflict', /member of this group already/)
    const { items } = await ask('GET', members)
    assert.equal(items.find(({ name }: { name: string }) => name === 'The viewer').role, 'viewer')
  })

  it('is one of at most 200 pending ones', async () => {
    const { here, call, members, service, clock } = await inviting(engine)
    const invitedBy = here.members.owner.user.id
    for (let n = 0; n < 200; n += 1) {
      const input = { email: `n${n}@people.example`, role: 'viewer' as const, invitedBy, tokenExpiresMs: null }
      await createInvitation(service.store, here.groupId, input, authoring(clock.now))
    }
    const one = (email: string) => call('POST', members, { email, role: 'viewer' }, here.tokens.owner)
    assertFailure(await one('more@people.example'), 409, 'Conflict', /200 invitations wait/)
    assert.equal((await one('n7@people.example')).statusCode, 201, 'again')
    clock.now += 7 * dayMs
    assert.equal((await one('more@people.example')).statusCode, 201)
  })

  it('is rate-limited by address without a token, and refused with an invalid one', async () => {
    const env = { RATE_LIMITS: 'anonymous=1/2,free=9/9,basic=9/9,pro=9/9,proplus=9/9' }
    const { accept } = await inviting(engine, env)
    const guess = () => accept({ secret: 'slc_invite_guess' })
    for (const answer of [await guess(), await guess()]) assertFailure(answer, 404, 'NotFound')
    assertFailure(await guess(), 429, 'RateLimited')
  })
})

onBothEngines('a service account', (engine) => {
  it('works in its group, with tokens that owners create, and ends with its membership', async () => {
    const { ask, call, here, there, members } = await inviting(engine)
    const path = `/manage/groups/${here.groupId}`
    const robot = { name: 'Robot', role: 'editor' }
    const made = await ask('POST', `${path}/service-accounts`, robot, here.tokens.owner)
    assert.deepEqual([made.name, made.role, made.email, made.service], ['Robot', 'editor', null, true])
    const { token } = await ask('POST', `${members}/${made.userId}/tokens`, {}, here.tokens.owner)
    assert.equal((await call('GET', `${path}/previews`, undefined, token)).statusCode, 200)
    assertFailure(await call('GET', `/manage/groups/${there.groupId}`, undefined, token), 404, 'NotFound')
    const foreign = `/manage/groups/${there.groupId}/members/${made.userId}/tokens`
    assertFailure(await call('POST', foreign, {}, there.tokens.owner), 404, 'NotFound')
    await ask('DELETE', `${members}/${made.userId}`, undefined, here.tokens.owner)
    const { items } = await ask('GET', '/manage/users')
    assert.notEqual(items.find(({ _id }: { _id: string }) => _id === made.userId).disabledAt, null)
  })
})
