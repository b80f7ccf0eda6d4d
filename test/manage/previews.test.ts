import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readRevision } from '../../src/store/content/revisions.ts'
import { assertRefused, editingPosts, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'

async function withDraft(engine: TestEngine) {
  const created = await editingPosts(engine, { title: { type: 'text' } })
  const { post, group } = created
  const draft = await post({ title: 'Draft' }, { draft: true })
  const open = (token: string) => group.get(`/tenant/preview?token=${token}`)
  return { ...created, draft, open }
}

onBothEngines('preview links', (engine) => {
  it('open their one object, in every state and as it is now', async () => {
    const { does, draft, open } = await withDraft(engine)
    const { token, _id, ...rest } = await does('POST', '/previews', { objectId: draft._id })
    assert.deepEqual(rest, {
      objectId: draft._id,
      createdAt: '2026-03-01T12:00:00.000Z',
      expiresAt: '2026-03-02T12:00:00.000Z',
      maxUses: null,
      uses: 0,
      revokedAt: null,
    })
    const titleOf = async () => (await open(token)).json().data.objectValue.title
    assert.equal(await titleOf(), 'Draft')
    await does('PATCH', `/objects/${draft._id}`, { version: 1, objectValue: { title: 'Better' }, archived: true })
    assert.equal(await titleOf(), 'Better')
    await does('POST', `/objects/${draft._id}/publish`)
    assert.equal(await titleOf(), 'Better')
  })

  it('have the requested lifetime and number of uses', async () => {
    const { does, send, draft, open, clock } = await withDraft(engine)
    const brief = await does('POST', '/previews', { objectId: draft._id, lifeSeconds: 60 })
    const twice = await does('POST', '/previews', { objectId: draft._id, maxUses: 2 })
    const statuses = async (token: string) => [(await open(token)).statusCode, (await open(token)).statusCode, (await open(token)).statusCode] // biome-ignore format: short
    assert.deepEqual(await statuses(twice.token), [200, 200, 404])
    const { items } = await does('GET', '/previews')
    assert.deepEqual(items.map(({ uses, maxUses }: { uses: number; maxUses: number }) => [uses, maxUses]), [[0, null], [2, 2]]) // biome-ignore format: short
    assert.deepEqual(await statuses(brief.token), [200, 200, 200])
    clock.now += 60_000
    assert.deepEqual(await statuses(brief.token), [410, 410, 410])
    const bad: [object, RegExp][] = [
      [{ lifeSeconds: 59 }, /lifeSeconds must be at least 60/],
      [{ lifeSeconds: 30 * 86_400 + 1 }, /lifeSeconds must be at most 2592000/],
      [{ maxUses: 0 }, /maxUses must be at least 1/],
      [{ maxUses: 1.5 }, /maxUses must be a whole number/],
    ]
    for (const [body, message] of bad)
      assertRefused(await send('POST', '/previews', { objectId: draft._id, ...body }), 400, message)
  })

  it('are listed without their tokens, all or of one object, and end at once when revoked', async () => {
    const { does, send, post, draft, open, clock, group } = await withDraft(engine)
    const other = await post({ title: 'Other' })
    const [mine, theirs] = [await does('POST', '/previews', { objectId: draft._id }), await does('POST', '/previews', { objectId: other._id })] // biome-ignore format: short
    const ids = async (query = '') =>
      (await does('GET', `/previews${query}`)).items.map(({ _id }: { _id: string }) => _id)
    assert.deepEqual(await ids(), [mine._id, theirs._id])
    assert.deepEqual(await ids(`?objectId=${other._id}`), [theirs._id])
    assert.ok(!(await send('GET', '/previews')).body.includes(mine.token))
    clock.now += 5
    const revoked = await does('POST', `/previews/${mine._id}/revoke`, undefined, group.tokens.editor)
    assert.equal(revoked.revokedAt, new Date(clock.now).toISOString())
    assert.equal((await open(mine.token)).statusCode, 404)
    assert.equal((await open(theirs.token)).statusCode, 200)
    const before = await everythingIn(group.store)
    clock.now += 5
    assert.deepEqual(await does('POST', `/previews/${mine._id}/revoke`), revoked)
    assert.deepEqual(await everythingIn(group.store), before)
    assertRefused(await send('POST', '/previews/nope/revoke'), 404, /no such preview link/)
  })

  it('are created for objects and products of the group only, and change no answer of the delivery API', async () => {
    const { does, draft, open, group, newManagedGroup, call } = await withDraft(engine)
    const stranger = await newManagedGroup()
    for (const objectId of [draft._id, 'nope']) {
      const answer = await call('POST', `/manage/groups/${stranger.groupId}/previews`, { objectId })
      assertRefused(answer, 404, /no such object/)
    }
    const stripe = await group.integration('stripe', { name: { type: 'text' } })
    const [product] = await group.add(stripe, { value: { name: 'Cake' }, externalId: 'p', accountHandle: 'a' })
    const revision = await readRevision(group.store)
    const { token, _id } = await does('POST', '/previews', { objectId: product?.id })
    assert.equal((await open(token)).json().data.objectValue.name, 'Cake')
    await does('POST', `/previews/${_id}/revoke`)
    assert.equal(await readRevision(group.store), revision)
  })
})
