import assert from 'node:assert/strict'
import { it } from 'node:test'
import { makePreviewToken } from '../../src/security/tokens.ts'
import { previewLifeSeconds } from '../../src/store/content/preview-tokens.ts'
import { createPreviewToken, revokePreviewToken } from '../helpers/authoring.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { harness, onBothEngines, type TestEngine } from '../helpers/harness.ts'

async function withDraft(engine: TestEngine) {
  const created = await harness(engine)
  const group = await created.newGroup()
  const posts = await group.collection('Posts', { title: { type: 'text' } })
  const [draft, other] = await group.add(
    posts,
    { value: { title: 'Draft' }, publishMs: created.clock.now + 1e9 },
    { value: { title: 'Other' }, archived: true },
  )
  const share = (options: object = {}) =>
    createPreviewToken(group.store, { objectId: draft?.id ?? '', ...options }, created.clock.now)
  const open = (token: string) => group.get(`/tenant/preview?token=${token}`)
  return { ...created, group, posts, draft, other, share, open }
}

onBothEngines('GET /tenant/preview', (engine) => {
  it('delivers the token’s object in the shape of its listing', async () => {
    const { share, open, draft, posts, clock } = await withDraft(engine)
    const { token } = await share()
    const answer = await open(token)
    assert.deepEqual(answer.json().data, {
      _id: draft?.id,
      objectValue: { _id: draft?.id, title: 'Draft', mediaFields: {} },
      collectionObj: { name: 'Posts', refID: posts.id },
      publishDate: new Date(clock.now + 1e9).toISOString(),
      archived: false,
      createdAt: '2026-03-01T12:00:00.000Z',
      updatedAt: '2026-03-01T12:00:00.000Z',
    })
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.headers.etag, undefined)
  })

  it('keeps private fields private', async () => {
    const { newGroup, clock } = await harness(engine)
    const group = await newGroup()
    const reviews = await group.collection('Reviews', {
      title: { type: 'text' },
      email: { type: 'text', private: true },
    })
    const [review] = await group.add(reviews, { value: { title: 'Good', email: 'canary@example.com' }, archived: true })
    const { token } = await createPreviewToken(group.store, { objectId: review?.id ?? '' }, clock.now)
    const answer = await group.get(`/tenant/preview?token=${token}`)
    assert.deepEqual(answer.json().data.objectValue, { _id: review?.id, title: 'Good', mediaFields: {} })
  })

  it('delivers a product in the shape of its listing', async () => {
    const { newGroup, clock } = await harness(engine)
    const group = await newGroup()
    const products = await group.integration('stripe', { name: { type: 'text' } })
    const [shown] = await group.add(products, { value: { name: 'Cake' }, externalId: 'prod_1', accountHandle: 'a' })
    const { token } = await createPreviewToken(group.store, { objectId: shown?.id ?? '' }, clock.now)
    const listed = (await group.get('/tenant/integrationObjects?type=stripe')).json().data.items[0]
    assert.deepEqual((await group.get(`/tenant/preview?token=${token}`)).json().data, listed)
  })

  it('refuses unknown, malformed, revoked and another group’s tokens with the same 404', async () => {
    const { share, open, group, newGroup, clock } = await withDraft(engine)
    const revoked = await share()
    await revokePreviewToken(group.store, revoked.id, clock.now)
    const mine = await share()
    const stranger = await newGroup()
    const answers = [
      await open(makePreviewToken()),
      await open('nonsense'),
      await open(revoked.token),
      await stranger.get(`/tenant/preview?token=${mine.token}`),
    ]
    for (const answer of answers) assertFailure(answer, 404, 'NotFound')
    assert.equal(new Set(answers.map(({ body }) => body)).size, 1)
  })

  it('is valid until its last millisecond and answers 410 from then on', async () => {
    const { share, open, clock } = await withDraft(engine)
    const { token, expiresMs } = await share()
    assert.equal(expiresMs, clock.now + 24 * 3600 * 1000)
    clock.now = expiresMs - 1
    assert.equal((await open(token)).statusCode, 200)
    clock.now = expiresMs
    assertFailure(await open(token), 410, 'PreviewExpired')
  })

  it('can be opened up to its number of uses, also concurrently', async () => {
    const { share, open } = await withDraft(engine)
    const { token } = await share({ maxUses: 3 })
    const answers = await Promise.all(Array.from({ length: 10 }, () => open(token)))
    assert.deepEqual(
      answers.map(({ statusCode }) => statusCode).toSorted(),
      [200, 200, 200, 404, 404, 404, 404, 404, 404, 404],
    )
  })

  it('opens only its object', async () => {
    const { share, open, other, group } = await withDraft(engine)
    const { token } = await share()
    for (const more of [
      `&id=${other?.id}`,
      `&objectId=${other?.id}`,
      `&filters[_id]=${other?.id}`,
      `&_id=${other?.id}`,
    ]) {
      assert.equal((await open(token + more)).json().data.objectValue.title, 'Draft')
    }
    assertFailure(await open(`${token}${other?.id}`), 404, 'NotFound')
    assertFailure(await group.get(`/tenant/collectionObjects?token=${token}&collectionId=x`), 404, 'NotFound')
  })

  it('stores only a hash of the token', async () => {
    const { share, group } = await withDraft(engine)
    const { token } = await share()
    const rows = await group.store.database.read.selectFrom('preview_tokens').selectAll().execute()
    assert.equal(rows.length, 1)
    assert.ok(!JSON.stringify(rows).includes(token.slice(12, 40)))
  })

  it('can be created only for an object of the group, for 1 minute to 30 days, for at least 1 use', async () => {
    const { share, newGroup, draft, clock } = await withDraft(engine)
    const { least, most } = previewLifeSeconds
    for (const bad of [
      { lifeSeconds: least - 1 },
      { lifeSeconds: most + 1 },
      { lifeSeconds: 60.5 },
      { maxUses: 0 },
      { maxUses: 1.5 },
      { maxUses: -1 },
    ]) {
      await assert.rejects(share(bad), { code: 'ValidationError' })
    }
    const stranger = await newGroup()
    await assert.rejects(createPreviewToken(stranger.store, { objectId: draft?.id ?? '' }, clock.now), {
      code: 'NotFound',
    })
  })
})
