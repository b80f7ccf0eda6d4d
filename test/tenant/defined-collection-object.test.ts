import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import type { ReviewState } from '../../src/content/model.ts'
import { deleteContainer } from '../../src/store/content/containers.ts'
import { listSubmissions } from '../../src/store/content/submissions.ts'
import { createItem, createObjects, createSite, write } from '../helpers/authoring.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { assertUnchanged } from '../helpers/dump.ts'
import { assertIndexIsRight } from '../helpers/editing.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { postSuite } from '../helpers/post-suite.ts'
import {
  goodReview,
  openCollection,
  reviewSchema,
  submissionPath,
  type Visitors,
  visitors,
} from '../helpers/visitors.ts'

const missingId = '0123456789abcdef01234567'

onBothEngines(`POST ${submissionPath}, as every endpoint with a body`, (engine) =>
  postSuite(engine, {
    path: submissionPath,
    required: ['collectionId', 'type', 'objectValue'],
    status: 201,
    async prepare(group, { clock }) {
      const accepts = ['createReview' as const]
      const { id } = await openCollection(group, 'Reviews', reviewSchema, { accepts }, clock.now)
      return { collectionId: id, type: 'createReview', objectValue: goodReview }
    },
  }),
)

async function stored({ group }: Visitors, review?: ReviewState) {
  const { submissions } = await listSubmissions(group.store, { review, limit: 1000, skip: 0 })
  return submissions.map(({ object }) => object)
}

async function listed({ group }: Visitors, collectionId: string) {
  const answer = await group.get(`/tenant/collectionObjects?collectionId=${collectionId}`)
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json().data.items
}

function created(answer: LightMyRequestResponse) {
  assert.equal(answer.statusCode, 201, answer.body)
  assert.deepEqual([answer.json().success, answer.json().error], [true, null])
  return answer.json().data
}

onBothEngines(`POST ${submissionPath}`, (engine) => {
  it('stores a submission, and answers it exactly as listed', async () => {
    const context = await visitors(engine)
    const data = created(await context.review({ ...goodReview, email: 'ada@visitor.example', photo: null }))
    assert.deepEqual(await listed(context, context.reviews.id), [data])
    assert.deepEqual(data.objectValue, { _id: data._id, ...goodReview, photo: null, mediaFields: {} })
    const now = '2026-03-01T12:00:00.000Z'
    assert.deepEqual([data.archived, data.publishDate, data.createdAt], [false, now, now])
    const [object] = await stored(context, 'approved')
    assert.deepEqual([object?.id, object?.value.email], [data._id, 'ada@visitor.example'])
    await assertIndexIsRight(context.group.store)
  })

  it('is recorded in the feed of changes as submitted and published', async () => {
    const { group, review } = await visitors(engine)
    const { _id } = created(await review())
    const changes = await group.store.database.read
      .selectFrom('changes')
      .select(['type', 'verb', 'actor_id', 'actor_name'])
      .where('subject_id', '=', _id)
      .orderBy('seq')
      .execute()
    const by = ['definedCollectionObject', null, 'definedCollectionObject']
    assert.deepEqual(
      changes.map(({ type, verb, actor_id, actor_name }) => [type, verb, actor_id, actor_name]),
      [
        ['content.created', ...by],
        ['content.published', ...by],
      ],
    )
  })

  it('hides submissions to a moderated collection', async () => {
    const context = await visitors(engine, { settings: { moderation: true } })
    const data = created(await context.review())
    assert.deepEqual([data.archived, data.publishDate], [true, null])
    assert.deepEqual(await listed(context, context.reviews.id), [])
    const [object] = await stored(context, 'pending')
    assert.equal(object?.id, data._id)
  })

  it('names every problem in one answer, and stores nothing', async () => {
    const context = await visitors(engine)
    const { service, review, send, reviews } = context
    await assertUnchanged(service.store, async () => {
      const bad = { rating: 9, title: 5, author: 'x'.repeat(81), colour: 'red', photo: { key: 'x' } }
      const answer = await review(bad)
      assertFailure(answer, 400, 'ValidationError')
      for (const problem of [
        'objectValue.rating must be at most 5',
        'objectValue.title must be a text',
        'objectValue.body is required',
        'objectValue.author must have at most 80 characters',
        'objectValue.colour is not a field of this collection',
        'objectValue.photo must be left out: visitors send no files',
      ])
        assert.ok(answer.json().error.includes(problem), `${problem}: ${answer.json().error}`)
      const empty = await review({ rating: 5, title: '', body: '', author: '   ' })
      assertFailure(empty, 400, 'ValidationError', /body is required; objectValue\.author is required\.$/)
      for (const wrong of [[], 'x', 5, null, true])
        assertFailure(await review(wrong as object), 400, 'ValidationError', /objectValue must be an object/)
      const unknown = { collectionId: reviews.id, type: 'createOrder', objectValue: goodReview }
      assertFailure(await send(unknown), 400, 'ValidationError', /type must be one of createReview, subscribeUser/)
    })
  })

  it('refuses fields that the service sets itself', async () => {
    const { service, review } = await visitors(engine)
    await assertUnchanged(service.store, async () => {
      for (const name of ['_id', 'id', 'mediaFields', 'archived', 'publishDate', 'groupID', 'review', 'createdAt']) {
        const answer = await review({ ...goodReview, [name]: false })
        assertFailure(answer, 400, 'ValidationError', new RegExp(`objectValue\\.${name} is not a field`))
      }
    })
  })

  it('accepts a field of such a name if it is in the schema, as an ordinary field', async () => {
    const context = await visitors(engine)
    const { group, clock, send } = context
    const schema = { archived: { type: 'boolean' }, groupID: { type: 'text' } }
    const odd = await openCollection(group, 'Odd', schema, { accepts: ['createReview'] }, clock.now)
    const objectValue = { archived: true, groupID: 'x' }
    const data = created(await send({ collectionId: odd.id, type: 'createReview', objectValue }))
    assert.equal(data.archived, false)
    assert.deepEqual(await listed(context, odd.id), [data])
  })

  it('refuses references to the group’s files', async () => {
    const { service, group, clock, review } = await visitors(engine)
    const key = `${group.group.id}/secret.png`
    await createItem(group.store, key, clock.now)
    const html = [
      `<img src="media:${key}">`,
      `<a href='&#109;edia:${key}'>x</a>`,
      `<img srcset="media:${key} 1x">`,
      `<video poster=media&colon;${key}>`,
    ]
    await assertUnchanged(service.store, async () => {
      for (const body of html)
        assertFailure(await review({ ...goodReview, body }), 400, 'ValidationError', /objectValue\.body must not refer/)
      const photo = { name: 'secret', key, type: 'image' }
      assertFailure(
        await review({ ...goodReview, photo }),
        400,
        'ValidationError',
        /objectValue\.photo must be left out/,
      )
    })
    created(await review({ ...goodReview, body: `media:${key} is only a text` }))
  })

  it('answers 404 for an unknown collection, byte for byte the same for another group’s', async () => {
    const { newGroup, service, send, clock, group } = await visitors(engine)
    const other = await newGroup({ name: 'Other' })
    const accepts = ['createReview' as const]
    const foreign = await openCollection(other, 'Reviews', reviewSchema, { accepts }, clock.now)
    const products = await group.integration('stripe', { name: { type: 'text' } })
    await assertUnchanged(service.store, async () => {
      const ask = (collectionId: string, objectValue: object = goodReview) =>
        send({ collectionId, type: 'createReview', objectValue })
      const nowhere = await ask(missingId)
      assertFailure(nowhere, 404, 'NotFound', /^There is no collection with this collectionId\.$/)
      assert.equal((await ask(foreign.id)).body, nowhere.body)
      assert.equal((await ask(foreign.id, { company_website: 'x' })).body, nowhere.body)
      assert.equal((await ask(products.id)).body, nowhere.body)
    })
  })

  it('names the types that a collection accepts when it refuses one', async () => {
    const { service, group, clock, send, reviews } = await visitors(engine)
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    const accepts = ['createReview' as const, 'subscribeUser' as const]
    const both = await openCollection(group, 'Both', reviewSchema, { accepts }, clock.now)
    await assertUnchanged(service.store, async () => {
      const ask = (collectionId: string) =>
        send({ collectionId, type: 'subscribeUser', objectValue: { email: 'a@visitor.example' } })
      const only = /type subscribeUser is not accepted by this collection: it accepts only createReview\./
      assertFailure(await ask(reviews.id), 400, 'ValidationError', only)
      assertFailure(await ask(posts.id), 400, 'ValidationError', /it accepts no submissions/)
      assertFailure(await ask(both.id), 400, 'ValidationError', /objectValue\.rating is required/)
    })
  })

  it('answers hostile texts and shapes with 400, never 500', async () => {
    const { service, review, send, reviews, app, group } = await visitors(engine)
    let deep: object = {}
    for (let level = 0; level < 30; level += 1) deep = { deep }
    const manyFields = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`f${n}`, 'x']))
    const values: object[] = [
      { ...goodReview, body: 'a\0b' },
      { ...goodReview, body: '\ud800' },
      { ...goodReview, '\0': 'x' },
      { ...goodReview, body: `e${'\u0301'.repeat(40)}` },
      { ...goodReview, body: deep },
      { ...goodReview, deep },
      { ...goodReview, ...manyFields },
      { ...goodReview, constructor: 'x' },
      { ...goodReview, toString: 'x', hasOwnProperty: 'x', valueOf: 5 },
      { ...goodReview, rating: 1e308 },
      { ...goodReview, rating: '5' },
      { ...goodReview, body: ['Every morning.'] },
    ]
    await assertUnchanged(service.store, async () => {
      for (const value of values) assertFailure(await review(value), 400, 'ValidationError')
      const raw = (objectValue: string) =>
        app.inject({
          method: 'POST',
          url: submissionPath,
          headers: { authorization: group.key, 'content-type': 'application/json' },
          payload: `{"collectionId":"${reviews.id}","type":"createReview","objectValue":${objectValue}}`,
        })
      assertFailure(await raw('{"__proto__":{"rating":5}}'), 400, 'ValidationError')
      assertFailure(await raw('{"rating":1e999}'), 400, 'ValidationError')
      assertFailure(await review({ ...goodReview, body: 'x'.repeat(1_000_000) }), 413, 'PayloadTooLarge')
      assertFailure(await send({ collectionId: 'x'.repeat(101), type: 'createReview', objectValue: {} }), 400, 'ValidationError') // biome-ignore format: short
      assertFailure(await send({ collectionId: { $ne: 1 }, type: 'createReview', objectValue: {} }), 400, 'ValidationError') // biome-ignore format: short
    })
  })
})

onBothEngines('subscribing', (engine) => {
  it('needs one valid address, reported together with all other problems', async () => {
    const { service, subscribe } = await visitors(engine)
    await assertUnchanged(service.store, async () => {
      for (const email of [undefined, null, ''])
        assertFailure(await subscribe({ email }), 400, 'ValidationError', /^objectValue\.email is required\.$/)
      const bad = [
        'x',
        'a@b@c.example',
        'a@x.example, b@y.example',
        'Ada <a@x.example>',
        ' a@x.example',
        'a@x.example\n',
      ]
      for (const email of bad)
        assertFailure(
          await subscribe({ email }),
          400,
          'ValidationError',
          /objectValue\.email must be one e-mail address/,
        )
      const answer = await subscribe({ email: 'invalid', name: 5, colour: 'red' })
      for (const problem of [/email must be one/, /name must be a text/, /colour is not a field/])
        assertFailure(answer, 400, 'ValidationError', problem)
    })
  })

  it('twice, in any case, answers the existing subscriber, and stores nothing', async () => {
    const context = await visitors(engine)
    const { subscribe, service, clock, subscribers } = context
    const first = created(await subscribe({ email: 'Ada@Visitor.example', name: 'Ada' }))
    assert.equal(first.objectValue.email, undefined, 'the address is private')
    clock.now += 60_000
    await assertUnchanged(service.store, async () => {
      const again = created(await subscribe({ email: 'ada@visitor.EXAMPLE', name: 'Another person' }))
      assert.deepEqual(again, first)
    })
    assert.deepEqual(await listed(context, subscribers.id), [first])
  })

  it('twice, with the domain in Unicode and in ASCII, is one subscriber', async () => {
    const context = await visitors(engine)
    const { subscribe, service, subscribers } = context
    const first = created(await subscribe({ email: 'ada@bücher.example' }))
    await assertUnchanged(service.store, async () => {
      for (const email of ['ada@xn--bcher-kva.example', 'Ada@BÜCHER.example'])
        assert.deepEqual(created(await subscribe({ email })), first)
    })
    assert.deepEqual(await listed(context, subscribers.id), [first])
  })

  it('finds a subscriber created by an editor, and answers none of its files', async () => {
    const { group, clock, send, service } = await visitors(engine)
    const schema = { email: { type: 'text', required: true }, note: { type: 'text' }, photo: { type: 'image' } }
    const accepts = ['subscribeUser' as const]
    const members = await openCollection(group, 'Members', schema, { accepts }, clock.now)
    const key = `${group.group.id}/portrait.png`
    await createItem(group.store, key, clock.now)
    const photo = { name: 'portrait', key, type: 'image' }
    const value = { email: 'ada@visitor.example', note: `<img src="media:${key}">`, photo }
    const [member] = await createObjects(group.store, members, [{ value, archived: true }], clock.now)
    await assertUnchanged(service.store, async () => {
      const body = { collectionId: members.id, type: 'subscribeUser', objectValue: { email: 'ADA@visitor.example' } }
      const data = created(await send(body))
      assert.equal(data._id, member?.id)
      assert.deepEqual([data.objectValue.photo, data.objectValue.mediaFields], [undefined, {}])
      assert.ok(!JSON.stringify(data).includes('signature='), JSON.stringify(data))
    })
  })

  it('with one address by twenty concurrent requests creates one subscriber', async () => {
    const context = await visitors(engine)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        context.subscribe({ email: n % 2 ? 'ada@visitor.example' : 'ADA@visitor.example', name: `${n}` }),
      ),
    )
    assert.equal(new Set(answers.map((answer) => JSON.stringify(created(answer)))).size, 1)
    assert.equal((await stored(context)).length, 1)
  })

  it('to another collection, or as a review, is independent', async () => {
    const context = await visitors(engine)
    const { group, clock, subscribe, review, send } = context
    const accepts = ['subscribeUser' as const]
    const other = await openCollection(group, 'Others', { email: { type: 'text' } }, { accepts }, clock.now)
    const email = 'ada@visitor.example'
    created(await subscribe({ email }))
    created(await send({ collectionId: other.id, type: 'subscribeUser', objectValue: { email } }))
    created(await review({ ...goodReview, email }))
    created(await review({ ...goodReview, email }))
    assert.equal((await stored(context)).length, 4)
  })
})

onBothEngines('the honeypot', (engine) => {
  it('answers as if it had stored the submission, wherever it is filled in, and stores nothing', async () => {
    const { service, send, reviews, group, clock } = await visitors(engine)
    const notices = { to: 'owner@shop.example', rhythm: 'each' as const }
    const site = { name: 'Shop', domainName: '', settings: {}, privateSettings: { submissionNotices: notices } }
    await createSite(group.store, site, clock.now)
    const real = created(await send({ collectionId: reviews.id, type: 'createReview', objectValue: goodReview }))
    const body = { collectionId: reviews.id, type: 'createReview', objectValue: goodReview }
    const filled = [
      { ...body, company_website: 'https://spam.example' },
      { ...body, company_website: true },
      { ...body, objectValue: { ...goodReview, company_website: 'spam' } },
    ]
    const ids = new Set([real._id])
    await assertUnchanged(service.store, async () => {
      for (const one of filled) {
        for (const headers of [{}, { 'idempotency-key': 'one' }]) {
          const { _id, ...data } = created(await send(one, headers))
          ids.add(_id)
          const { _id: realId, ...expected } = real
          assert.deepEqual(JSON.parse(JSON.stringify(data).replaceAll(_id, realId)), expected)
        }
      }
      const wrong = { ...body, company_website: 'x', objectValue: { rating: 7 } }
      assertFailure(await send(wrong), 400, 'ValidationError', /rating must be at most 5.*body is required/)
    })
    assert.equal(ids.size, 7, 'ids are unique')
  })

  it('that is empty is removed from the submission', async () => {
    const { send, reviews } = await visitors(engine)
    const body = { collectionId: reviews.id, type: 'createReview' }
    for (const empty of ['', null, false]) {
      const inside = await send({ ...body, objectValue: { ...goodReview, company_website: empty } })
      assert.equal('company_website' in created(inside).objectValue, false)
      created(await send({ ...body, company_website: empty, objectValue: goodReview }))
    }
  })

  it('is an ordinary field if the schema has it', async () => {
    const context = await visitors(engine)
    const { group, clock, send } = context
    const schema = { company_website: { type: 'text' } }
    const leads = await openCollection(group, 'Leads', schema, { accepts: ['createReview'] }, clock.now)
    const body = { collectionId: leads.id, type: 'createReview', objectValue: { company_website: 'https://a.example' } }
    const data = created(await send(body))
    assert.deepEqual(await listed(context, leads.id), [data])
    created(await send({ ...body, company_website: 'spam' }))
    assert.equal((await listed(context, leads.id)).length, 1)
  })
})

onBothEngines('a submission under an Idempotency-Key', (engine) => {
  const underKey = { 'idempotency-key': 'review-1' }

  it('is stored once, however often it is sent, also concurrently', async () => {
    const context = await visitors(engine)
    const answers = await Promise.all(Array.from({ length: 10 }, () => context.review(goodReview, underKey)))
    assert.equal(new Set(answers.map(({ body }) => body)).size, 1)
    const { author, body, title, rating } = goodReview
    const again = created(await context.review({ author, body, title, rating }, underKey))
    assert.deepEqual((await stored(context)).map(({ id }) => id), [again._id]) // biome-ignore format: short
    created(await context.review(goodReview, { 'idempotency-key': 'review-2' }))
    assert.equal((await stored(context)).length, 2)
  })

  it('answers the same after the collection has changed or was deleted', async () => {
    const { review, group, clock, reviews } = await visitors(engine, { settings: { hourlyLimit: 1 } })
    const first = await review(goodReview, underKey)
    created(first)
    assertFailure(await review(goodReview), 429, 'RateLimited')
    assert.equal((await review(goodReview, underKey)).body, first.body)
    await write(group.store, clock.now, (writer) => deleteContainer(writer, reviews))
    const again = await review(goodReview, underKey)
    assert.deepEqual([again.statusCode, again.body], [201, first.body])
    assertFailure(await review(goodReview), 404, 'NotFound')
  })

  it('is refused for a different request, and the key can be reused after 24 hours', async () => {
    const context = await visitors(engine)
    const { review, clock, service } = context
    created(await review(goodReview, underKey))
    await assertUnchanged(service.store, async () => {
      assertFailure(await review({ ...goodReview, rating: 4 }, underKey), 422, 'IdempotencyMismatch')
    })
    clock.now += 24 * 3_600_000
    created(await review({ ...goodReview, rating: 4 }, underKey))
    assert.equal((await stored(context)).length, 2)
  })

  it('does not use up the key if it was refused', async () => {
    const { review, service } = await visitors(engine)
    await assertUnchanged(service.store, async () => {
      assertFailure(await review({ rating: 9 }, underKey), 400, 'ValidationError')
    })
    created(await review(goodReview, underKey))
  })
})

onBothEngines('the limits of submissions', (engine) => {
  const limits = { SUBMISSION_HOURLY_LIMITS: 'free=3,basic=9,pro=9,proplus=9' }

  it('are counted per group and hour, and a refusal has the time to wait', async () => {
    const context = await visitors(engine, { env: limits })
    const { review, subscribe, clock, service } = context
    clock.now += 600_000
    created(await review())
    created(await review())
    created(await subscribe({ email: 'ada@visitor.example' }))
    await assertUnchanged(service.store, async () => {
      const refused = await review()
      assertFailure(refused, 429, 'RateLimited', /^This group has reached its hourly limit of submissions\./)
      assert.equal(refused.headers['retry-after'], '3000')
      created(await subscribe({ email: 'Ada@visitor.example' })) // an existing subscriber is not counted
      created(await review({ ...goodReview, company_website: 'spam' }))
      // The submission is not even validated.
      assertFailure(await review({}), 429, 'RateLimited')
      assertFailure(await subscribe({ email: 'not an address' }), 429, 'RateLimited')
    })
    clock.now += 3_000_000
    assertFailure(await review({}), 400, 'ValidationError')
    assertFailure(await review({}), 400, 'ValidationError')
    assertFailure(await review({}), 400, 'ValidationError') // not counted
    created(await review())
    assert.equal((await stored(context)).length, 4)
  })

  it('can be lower for one collection, and hold for concurrent requests', async () => {
    const context = await visitors(engine, { env: limits, settings: { hourlyLimit: 2 } })
    const answers = await Promise.all(Array.from({ length: 6 }, () => context.review()))
    assert.deepEqual(answers.map(({ statusCode }) => statusCode).toSorted(), [201, 201, 429, 429, 429, 429])
    const refused = answers.find(({ statusCode }) => statusCode === 429)
    assert.match(refused?.json().error, /^This collection has reached its hourly limit/)
    created(await context.subscribe({ email: 'ada@visitor.example' })) // refused ones were not counted
    assert.equal((await stored(context)).length, 3)
  })

  it('depend on the tier', async () => {
    const { newGroup, clock } = await visitors(engine, { env: limits })
    const group = await newGroup({ tier: 'basic' })
    const { id } = await openCollection(group, 'Reviews', reviewSchema, { accepts: ['createReview'] }, clock.now)
    const send = () => group.post(submissionPath, { collectionId: id, type: 'createReview', objectValue: goodReview })
    for (let n = 0; n < 9; n += 1) created(await send())
    assertFailure(await send(), 429, 'RateLimited')
  })
})
