import assert from 'node:assert/strict'
import { it } from 'node:test'
import { toIso } from '../../src/content/moments.ts'
import { assertRefused, editing, editingPosts } from '../helpers/editing.ts'
import { onBothEngines } from '../helpers/harness.ts'

const schema = { title: { type: 'text' }, body: { type: 'longText' } }
/** A generous limit of CPU time: each of these once took from seconds to minutes. */
const maxCpuMs = 3000

async function quickly<Result>(work: () => Promise<Result>): Promise<Result> {
  const before = process.threadCpuUsage()
  const result = await work()
  const { user, system } = process.threadCpuUsage(before)
  const tookMs = (user + system) / 1000
  assert.ok(tookMs < maxCpuMs, `took ${Math.round(tookMs)} ms`)
  return result
}

onBothEngines('an attack by a member', (engine) => {
  it('cannot block the service with a character of endless accents', async () => {
    const { send, posts } = await editingPosts(engine, schema)
    const objectValue = { title: 'x', body: `a${'\u0315\u0300'.repeat(100_000)}` }
    const answer = await quickly(() => send('POST', `/collections/${posts._id}/objects`, { objectValue }))
    assertRefused(answer, 400, /objectValue\.body has more than 30 combining marks/)
  })

  it('cannot block it with endless lists and objects, nor learn of another group', async () => {
    const { send, call, posts, newManagedGroup } = await editingPosts(engine, schema)
    const endless = Array.from({ length: 15_000 }, (_, n) => n)
    const path = `/collections/${posts._id}`
    const accepts = await quickly(() => send('PATCH', path, { version: 1, accepts: endless }))
    assertRefused(accepts, 400, /more than 10000 entries/)
    const keys = Object.fromEntries(endless.map((n) => [`k${n}`, n]))
    assertRefused(await quickly(() => send('POST', '/rename', keys)), 400, /more than 10000 entries/)
    const lists = Array.from({ length: 1000 }, () => Array.from({ length: 500 }, () => 1))
    const settings = { name: 'x', settings: { lists } }
    assertRefused(await quickly(() => send('POST', '/sites', settings)), 400, /more than 65536 parts/)
    const bulk = { action: 'patch', items: lists }
    assertRefused(await quickly(() => send('POST', '/objects/bulk', bulk)), 400, /more than 150000 parts/)
    const named = Array.from({ length: 500 }, () => Object.fromEntries(lists[0]?.map((_, n) => [`k${n}`, 1]) ?? []))
    const manyKeys = { action: 'patch', items: named }
    assertRefused(await quickly(() => send('POST', '/objects/bulk', manyKeys)), 400, /more than 50000 keys/)
    const stranger = await newManagedGroup()
    const other = `/manage/groups/${stranger.groupId}/rename`
    const none = `/manage/groups/${'0'.repeat(24)}/rename`
    const token = (await newManagedGroup()).tokens.viewer
    const [foreign, missing] = [await call('POST', other, keys, token), await call('POST', none, keys, token)]
    assert.equal(foreign.statusCode, 404)
    assert.equal(foreign.body, missing.body)
  })

  it('gets a short message for a long name', async () => {
    const { send } = await editing(engine)
    const answer = await send('POST', '/rename', { name: 'x', ['k'.repeat(200_000)]: 1 })
    assert.equal(answer.statusCode, 400)
    assert.ok(answer.body.length < 1000)
  })

  it('cannot restore a removed member by a concurrent change of role', async () => {
    const { send, call, group, ask } = await editing(engine)
    for (let round = 0; round < 5; round += 1) {
      const { userId } = await ask('POST', `/manage/groups/${group.groupId}/members`, {
        email: `user${round}@example.com`,
        role: 'viewer',
      })
      const path = `/members/${userId}`
      const [removal] = await Promise.all([
        send('DELETE', path),
        ...['owner', 'editor', 'viewer'].map((role) => send('POST', `${path}/role`, { role })),
      ])
      assert.equal(removal?.statusCode, 200)
      const listed = (await call('GET', `/manage/groups/${group.groupId}/members`)).json().data.items
      assert.ok(listed.every((member: { userId: string }) => member.userId !== userId))
    }
  })

  it('cannot get a permanent token from an expiring one', async () => {
    const { ask, group, clock } = await editing(engine)
    const { owner } = group.members
    const ending = await owner.newToken({ expiresMs: clock.now + 60_000 })
    const path = `/manage/groups/${group.groupId}/members/${owner.user.id}/tokens`
    for (const body of [{}, { lifeSeconds: 3600 }]) {
      assert.equal((await ask('POST', path, body, ending)).expiresAt, toIso(clock.now + 60_000))
    }
    assert.equal((await ask('POST', path, { lifeSeconds: 60 }, owner.token)).expiresAt, toIso(clock.now + 60_000))
    assert.equal((await ask('POST', path, {}, owner.token)).expiresAt, null)
  })

  it('of 30 concurrent writers in one group delays no other for long, and causes no refusal', async () => {
    const { send } = await editing(engine)
    const answers = await quickly(() =>
      Promise.all(Array.from({ length: 30 }, (_, n) => send('POST', '/sites', { name: `Site ${n}` }))),
    )
    assert.deepEqual(
      answers.map(({ statusCode }) => statusCode),
      answers.map(() => 201),
    )
  })

  it('gains nothing by naming an object twice in one call', async () => {
    const { send, post } = await editingPosts(engine, schema)
    const { _id: objectId } = await post({ title: 'a' })
    const answer = await send('POST', '/objects/bulk', { action: 'archive', items: [{ objectId }, { objectId }] })
    assertRefused(answer, 400, /^items\[1\]: The object is in the list twice/)
  })

  it('leaves nothing of a group deleted while sites are being created in it', async () => {
    const { send, call, group } = await editing(engine)
    const making = Array.from({ length: 12 }, (_, n) => send('POST', '/sites', { name: `Site ${n}` }))
    const confirm = { confirm: group.group.name }
    const [deletion, ...made] = await Promise.all([
      call('POST', `/manage/groups/${group.groupId}/delete`, confirm),
      ...making,
    ])
    assert.equal(deletion?.statusCode, 200, deletion?.body)
    for (const { statusCode } of made) assert.ok([201, 404, 409].includes(statusCode), String(statusCode))
    const { database } = group.store
    for (const table of ['sites', 'changes'] as const)
      assert.deepEqual(await database.read.selectFrom(table).selectAll().execute(), [], table)
    const [mark] = await database.read.selectFrom('group_revisions').selectAll().execute()
    assert.equal(mark?.closed, 1, 'only the marker that refuses late writes remains')
  })
})

onBothEngines('a draft', (engine) => {
  it('marked as no longer a draft is visible', async () => {
    const { post, does, deliveredValues } = await editingPosts(engine, schema)
    const { _id, version } = await post({ title: 'a' }, { draft: true })
    assert.deepEqual(await deliveredValues('title'), [])
    await does('PATCH', `/objects/${_id}`, { version, draft: false })
    assert.deepEqual(await deliveredValues('title'), ['a'])
  })

  it('cannot be created by scheduling for the end of time', async () => {
    const { post, send } = await editingPosts(engine, schema)
    const { _id } = await post({ title: 'a' })
    const publishDate = '9999-12-31T23:59:59.999Z'
    assertRefused(await send('POST', `/objects/${_id}/schedule`, { publishDate }), 400, /publishDate must be a moment/)
  })
})
