import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertFailure } from '../helpers/common-suite.ts'
import { assertUnchanged } from '../helpers/dump.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { managing } from '../helpers/manage.ts'

onBothEngines('users', (engine) => {
  it('are created, listed, disabled and enabled again', async () => {
    const { ask, call, clock } = await managing(engine)
    const ada = await ask('POST', '/manage/users', { name: 'Ada', email: 'ada@people.example' })
    assert.match(ada._id, /^[0-9a-f]{24}$/)
    assert.deepEqual(
      { ...ada, _id: undefined },
      {
        _id: undefined,
        name: 'Ada',
        email: 'ada@people.example',
        administrator: false,
        disabledAt: null,
        createdAt: new Date(clock.now).toISOString(),
      },
    )
    const { token } = await ask('POST', `/manage/users/${ada._id}/tokens`)
    const whoami = async () => (await call('GET', '/manage/whoami', undefined, token)).statusCode
    assert.equal(await whoami(), 200)
    clock.now += 1000
    const disabled = await ask('POST', `/manage/users/${ada._id}/disable`)
    assert.equal(disabled.disabledAt, new Date(clock.now).toISOString())
    assert.equal(await whoami(), 401)
    const { items } = await ask('GET', '/manage/users')
    assert.deepEqual(items.at(-1), disabled)
    assert.deepEqual(await ask('POST', `/manage/users/${ada._id}/enable`), ada)
    clock.now += 1000
    assert.equal(await whoami(), 200)
  })

  it('are disabled once: a second time changes nothing, not even the date', async () => {
    const { ask, newUser, clock, service } = await managing(engine)
    const { user } = await newUser()
    const first = await ask('POST', `/manage/users/${user.id}/disable`)
    clock.now += 5000
    await assertUnchanged(service.store, async () =>
      assert.deepEqual(await ask('POST', `/manage/users/${user.id}/disable`), first),
    )
  })

  it('have a unique e-mail address, ignoring case', async () => {
    const { ask, call, service } = await managing(engine)
    const made = await ask('POST', '/manage/users', { name: 'Ada', email: 'Ada@People.example' })
    assert.equal(made.email, 'ada@people.example')
    await assertUnchanged(service.store, async () => {
      for (const email of ['ada@people.example', 'ADA@PEOPLE.EXAMPLE', 'Ada@People.example'])
        assertFailure(await call('POST', '/manage/users', { name: 'Twin', email }), 409, 'Conflict', /already a user/)
    })
    for (const name of ['No', 'address']) assert.equal((await ask('POST', '/manage/users', { name })).email, null)
  })

  it('created concurrently with one e-mail address become one', async () => {
    const { call, ask } = await managing(engine)
    const email = 'twin@people.example'
    const answers = await Promise.all(
      [1, 2, 3, 4].map((n) => call('POST', '/manage/users', { name: `Twin ${n}`, email })),
    )
    assert.deepEqual(answers.map(({ statusCode }) => statusCode).toSorted(), [201, 409, 409, 409])
    const { items } = await ask('GET', '/manage/users')
    assert.equal(items.filter((user: { email: string }) => user.email === email).length, 1)
  })

  const mistakes: Record<string, object> = {
    'no name': {},
    'an empty name': { name: '' },
    'a blank name': { name: '  ' },
    'a name of two lines': { name: 'Ada\nLovelace' },
    'a name that is too long': { name: 'x'.repeat(201) },
    'half an address': { name: 'Ada', email: 'ada@' },
    'two addresses': { name: 'Ada', email: 'a@b.example, c@d.example' },
    'an empty address': { name: 'Ada', email: '' },
    'an address with a line break': { name: 'Ada', email: 'ada@people.example\nBcc: x@y.example' },
    'no boolean': { name: 'Ada', administrator: 'true' },
  }
  it('are not created with an invalid value', async () => {
    const { call, service } = await managing(engine)
    await assertUnchanged(service.store, async () => {
      for (const [what, body] of Object.entries(mistakes)) {
        const answer = await call('POST', '/manage/users', body)
        assert.equal(answer.statusCode, 400, what)
      }
    })
  })

  it('cannot disable themselves, so one administrator always remains', async () => {
    const { ask, call, admin, service } = await managing(engine)
    const { userId } = await ask('GET', '/manage/whoami', undefined, admin)
    await assertUnchanged(service.store, async () =>
      assertFailure(await call('POST', `/manage/users/${userId}/disable`), 409, 'Conflict', /yourself/),
    )
  })

  it('that do not exist are 404', async () => {
    const { call } = await managing(engine)
    for (const [method, path] of [
      ['POST', 'disable'],
      ['POST', 'enable'],
      ['POST', 'tokens'],
      ['GET', 'tokens'],
      ['POST', 'tokens/x/revoke'],
    ] as const)
      assertFailure(await call(method, `/manage/users/66f0c0ffee0123456789abcd/${path}`), 404, 'NotFound')
  })
})

onBothEngines('members', (engine) => {
  it('added by an administrator join at once: the user with that address, else a new one', async () => {
    const { ask, newManagedGroup, clock } = await managing(engine)
    const { groupId, tokens } = await newManagedGroup()
    const path = `/manage/groups/${groupId}/members`
    const known = await ask('POST', '/manage/users', { name: 'Ada', email: 'ada@people.example' })
    const joined = await ask('POST', path, { email: 'ADA@people.example', name: 'Not Ada', role: 'editor' })
    assert.deepEqual(joined, {
      userId: known._id,
      name: 'Ada',
      email: 'ada@people.example',
      role: 'editor',
      service: false,
      disabledAt: null,
      since: new Date(clock.now).toISOString(),
    })
    const made = await ask('POST', path, { email: 'Grace@people.example', role: 'viewer' })
    assert.notEqual(made.userId, known._id)
    assert.equal(made.name, 'Grace@people.example')
    assert.equal(made.email, 'grace@people.example')
    const { items } = await ask('GET', path, undefined, tokens.owner)
    assert.equal(items.length, 5)
    assert.deepEqual(
      items.filter(({ userId }: { userId: string }) => [known._id, made.userId].includes(userId)),
      [joined, made],
    )
  })

  it('get tokens only from themselves and administrators, never from an owner', async () => {
    const { call, newManagedGroup, newUser, service } = await managing(engine)
    const { groupId, tokens, members } = await newManagedGroup()
    const path = (userId: string) => `/manage/groups/${groupId}/members/${userId}/tokens`
    const boss = await newUser({ administrator: true }, { [groupId]: 'viewer' })
    const other = await newUser({}, { [groupId]: 'owner' })
    const others = [boss, other, members.editor, members.viewer].map(({ user }) => user.id)
    await assertUnchanged(service.store, async () => {
      for (const userId of others)
        assertFailure(await call('POST', path(userId), undefined, tokens.owner), 403, 'Forbidden', /for other people/)
    })
    for (const userId of others) assert.equal((await call('POST', path(userId))).statusCode, 201)
    const own = await call('POST', path(members.owner.user.id), { role: 'viewer' }, tokens.owner)
    assert.equal(own.statusCode, 201)
    const narrowed = own.json().data.token
    assert.equal((await call('GET', `/manage/groups/${groupId}`, undefined, narrowed)).statusCode, 200)
    assert.equal((await call('GET', `/manage/groups/${groupId}/keys`, undefined, narrowed)).statusCode, 403)
  })

  it('get another role, also by being added again, and keep the date of joining', async () => {
    const { ask, call, newManagedGroup, clock } = await managing(engine)
    const { groupId, tokens } = await newManagedGroup()
    const path = `/manage/groups/${groupId}/members`
    const member = await ask('POST', path, { email: 'ada@people.example', role: 'viewer' })
    const { token } = await ask('POST', `${path}/${member.userId}/tokens`)
    const edit = async () => (await call('GET', `/manage/groups/${groupId}/previews`, undefined, token)).statusCode
    assert.equal(await edit(), 403)
    clock.now += 1000
    const promoted = await ask('POST', `${path}/${member.userId}/role`, { role: 'editor' }, tokens.owner)
    assert.deepEqual(promoted, { ...member, role: 'editor' })
    assert.equal(await edit(), 200)
    clock.now += 1000
    const again = { email: 'ADA@people.example', role: 'viewer' }
    assert.deepEqual(await ask('POST', path, again, tokens.owner), member)
    assert.equal(await edit(), 403)
  })

  it('that are removed keep their other groups, and are no longer found here', async () => {
    const { ask, call, newManagedGroup, newUser, clock } = await managing(engine)
    const [here, there] = [await newManagedGroup(), await newManagedGroup()]
    const { user, token } = await newUser({}, { [here.groupId]: 'editor', [there.groupId]: 'viewer' })
    const path = `/manage/groups/${here.groupId}/members/${user.id}`
    await ask('DELETE', path, undefined, here.tokens.owner)
    clock.now += 1000
    const { items } = await ask('GET', '/manage/groups', undefined, token)
    assert.deepEqual(
      items.map(({ _id }: { _id: string }) => _id),
      [there.groupId],
    )
    for (const [method, part, body] of [
      ['DELETE', '', undefined],
      ['POST', '/role', { role: 'viewer' }],
      ['POST', '/tokens', undefined],
    ] as const)
      assertFailure(await call(method, `${path}${part}`, body, here.tokens.owner), 404, 'NotFound', /no such member/)
  })

  it('cannot change their own membership', async () => {
    const { call, newManagedGroup, newUser, service } = await managing(engine)
    const { groupId } = await newManagedGroup()
    const { user, token } = await newUser({ email: 'owner@people.example' }, { [groupId]: 'owner' })
    const path = `/manage/groups/${groupId}/members`
    await assertUnchanged(service.store, async () => {
      for (const answer of [
        await call('POST', `${path}/${user.id}/role`, { role: 'viewer' }, token),
        await call('POST', `${path}/${user.id}/role`, { role: 'owner' }, token),
        await call('DELETE', `${path}/${user.id}`, undefined, token),
        await call('POST', path, { email: 'Owner@people.example', role: 'viewer' }, token),
      ])
        assertFailure(answer, 409, 'Conflict', /your own membership/)
    })
  })

  it('are recorded when they join, change and leave', async () => {
    const { ask, newManagedGroup, clock } = await managing(engine)
    const { groupId, tokens, members } = await newManagedGroup()
    const path = `/manage/groups/${groupId}/members`
    const { userId } = await ask('POST', path, { email: 'ada@people.example', name: 'Ada', role: 'viewer' })
    const { userId: adminId } = await ask('GET', '/manage/whoami')
    clock.now += 1
    await ask('POST', `${path}/${userId}/role`, { role: 'editor' }, tokens.owner)
    clock.now += 1
    await ask('DELETE', `${path}/${userId}`, undefined, tokens.owner)
    const { items } = await ask('GET', `/manage/groups/${groupId}/audit?subjectId=${userId}`, undefined, tokens.owner)
    assert.deepEqual(
      items.map((entry: Record<string, string>) => [entry.what, entry.type, entry.note, entry.actorId]),
      [
        ['member.remove', 'member.removed', 'Ada', members.owner.user.id],
        ['member.set-role', 'member.set', 'Ada: editor', members.owner.user.id],
        ['member.add', 'member.set', 'Ada: viewer', adminId],
      ],
    )
  })
})
