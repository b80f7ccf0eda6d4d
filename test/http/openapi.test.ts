import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Schema from 'typebox/schema'
import { ProviderFailure } from '../../src/payments/provider.ts'
import { createPreviewToken, createSite } from '../helpers/authoring.ts'
import { createHarness, type Harness, type TestGroup } from '../helpers/harness.ts'
import { goodReview, openCollection, reviewSchema } from '../helpers/visitors.ts'
import { connectAccount, oneLoaf } from '../payments/shop.ts'

interface Content {
  content: { 'application/json': { schema: { properties?: object; required?: string[] }; example?: unknown } }
}

interface Operation {
  parameters: { name: string; in: string; required?: boolean; style?: string; schema: object }[]
  requestBody?: Content & { required?: boolean }
  responses: Record<string, Content>
}

interface Document {
  openapi: string
  paths: Record<string, Partial<Record<'get' | 'post', Operation>>>
}

describe('the OpenAPI document', () => {
  let created: Harness
  let document: Document
  let group: TestGroup
  before(async () => {
    created = await createHarness('sqlite')
    group = await created.newGroup()
    document = (await created.app.inject('/openapi.json')).json()
  })

  after(() => created.close())

  /** Each path has one method. */
  const operation = (path: string): Operation | undefined => {
    const { get, post } = document.paths[path] ?? {}
    return get ?? post
  }

  it('is OpenAPI 3.1 and lists the endpoints in the order of the specification, and no others', () => {
    assert.match(document.openapi, /^3\.1\./)
    assert.deepEqual(Object.keys(document.paths), [
      '/tenant/siteDetails',
      '/tenant/collectionObjects',
      '/tenant/integrationObjects',
      '/tenant/preview',
      '/tenant/createCheckoutSession',
      '/tenant/definedCollectionObject',
      '/tenant/sendContactEmail',
      '/tenant/sendOrderPlacedEmail',
    ])
  })

  it('names every parameter of the specification, and marks required ones', () => {
    const parameters = (path: string) =>
      operation(path)?.parameters.map(({ name, required }) => (required ? `${name}!` : name))
    assert.deepEqual(parameters('/tenant/siteDetails'), ['siteId!', 'preview'])
    assert.deepEqual(parameters('/tenant/collectionObjects'), [
      'collectionId!',
      'limit',
      'skip',
      'after',
      'sort',
      'filters',
      'search',
      'fields',
      'expand',
      'preview',
    ])
    assert.deepEqual(parameters('/tenant/integrationObjects'), [
      'type!',
      'accountHandle',
      'groupBy',
      'filters',
      'search',
      'limit',
      'skip',
      'after',
      'sort',
      'fields',
      'expand',
      'preview',
    ])
    assert.deepEqual(parameters('/tenant/preview'), ['token!', 'expand'])
    for (const name of ['filters', 'groupBy']) {
      const parameter = operation('/tenant/integrationObjects')?.parameters.find((candidate) => candidate.name === name)
      assert.equal(parameter?.style, 'deepObject')
    }
  })

  it('describes the body of a POST, and the Idempotency-Key header', () => {
    const { parameters = [], requestBody } = operation('/tenant/createCheckoutSession') ?? {}
    assert.deepEqual(
      parameters.map(({ name, in: location, required }) => [name, location, required ?? false]),
      [['Idempotency-Key', 'header', false]],
    )
    const { properties = {}, required } = requestBody?.content['application/json'].schema ?? {}
    assert.equal(requestBody?.required, true)
    assert.deepEqual(Object.keys(properties), [
      'products',
      'requiresShipping',
      'originUrl',
      'businessName',
      'contactEmail',
    ])
    assert.deepEqual(required, ['products', 'requiresShipping'])
  })

  it('documents every failure an endpoint can answer', () => {
    const statuses = (path: string) => Object.keys(operation(path)?.responses ?? {})
    assert.deepEqual(statuses('/tenant/siteDetails'), ['200', '400', '401', '404', '410', '429', '500', '503'])
    assert.deepEqual(statuses('/tenant/integrationObjects'), ['200', '400', '401', '404', '410', '429', '500', '503'])
    assert.deepEqual(statuses('/tenant/preview'), ['200', '400', '401', '404', '410', '429', '500', '503'])
    assert.deepEqual(statuses('/tenant/createCheckoutSession'), [
      '200', '400', '401', '403', '409', '413', '415', '422', '429', '500', '502', '503',
    ]) // biome-ignore format: one line reads better
    assert.deepEqual(statuses('/tenant/definedCollectionObject'), [
      '201', '400', '401', '404', '409', '413', '415', '422', '429', '500', '503',
    ]) // biome-ignore format: one line reads better
  })

  const schemaOf = (path: string, status: number) => {
    const schema = operation(path)?.responses[status]?.content['application/json'].schema
    assert.ok(schema, `${path} ${status} is documented`)
    return schema
  }

  it('has an example of every answer, good and bad, that fits its schema', () => {
    for (const path of Object.keys(document.paths)) {
      for (const [status, answer] of Object.entries(operation(path)?.responses ?? {})) {
        const { schema, example } = answer.content['application/json']
        assert.ok(example, `${path} ${status}`)
        assert.ok(Schema.Check(schema, example), `${path} ${status}`)
      }
    }
  })

  it('describes the actual answers, successes and failures', async () => {
    const site = await createSite(
      group.store,
      { name: 'Site', domainName: 'x', settings: { colors: { primary: '#111' } } },
      created.clock.now,
    )
    const media = { name: 'x', key: `${group.group.id}/x.png`, type: 'image' }
    const posts = await group.collection('Posts', { title: { type: 'text' }, cover: { type: 'image' } })
    const [post] = await group.add(posts, { value: { title: 'One', cover: media }, publishMs: created.clock.now })
    const products = await group.integration('stripe', { name: { type: 'variant', of: { type: 'text' } } })
    await group.add(products, { value: { name: { S: 'Small', L: 'Large' } }, externalId: 'p', accountHandle: 'a' })
    const { token } = await createPreviewToken(group.store, { objectId: post?.id ?? '' }, created.clock.now)
    const requests = [
      `/tenant/siteDetails?siteId=${site.id}`,
      '/tenant/siteDetails?siteId=nothing',
      '/tenant/siteDetails',
      `/tenant/collectionObjects?collectionId=${posts.id}`,
      `/tenant/collectionObjects?collectionId=${posts.id}&limit=0`,
      '/tenant/integrationObjects?type=stripe',
      '/tenant/integrationObjects?type=stripe&groupBy[key]=name',
      '/tenant/integrationObjects?type=none',
      `/tenant/preview?token=${token}`,
      '/tenant/preview?token=nothing',
    ]
    for (const url of requests) {
      for (const headers of [{ authorization: group.key }, {}]) {
        const answer = await created.app.inject({ url, headers })
        const [path = ''] = url.split('?')
        const schema = schemaOf(path, answer.statusCode)
        assert.ok(Schema.Check(schema, answer.json()), `${url}: ${answer.body}`)
      }
    }
  })

  it('describes the actual answers to a POST, successes and failures', async () => {
    const url = '/tenant/createCheckoutSession'
    const { sell, provider } = await connectAccount(created, group, 'main')
    await sell('price_loaf')
    const loaf = { ...oneLoaf, originUrl: 'https://x' } // the domain of the group's site
    const products = (price: string) => ({ products: [{ price, quantity: 1 }] })
    const send = async (payload: object | string, headers: Record<string, string> = {}) => {
      const answer = await created.app.inject({
        method: 'POST',
        url,
        headers: { authorization: group.key, 'content-type': 'application/json', ...headers },
        payload,
      })
      assert.ok(Schema.Check(schemaOf(url, answer.statusCode), answer.json()), answer.body)
      return answer.statusCode
    }
    const key = { 'idempotency-key': 'one' }
    const statuses = [
      await send(loaf, key),
      await send({}),
      await send(loaf, { authorization: '' }),
      await send({ ...loaf, requiresShipping: true }, key),
      await send('x'.repeat(300_000)),
      await send('x', { 'content-type': 'text/plain' }),
      await send({ ...loaf, ...products('price_unknown') }),
    ]
    provider.findProductOfPrice = async () => 'prod_gone'
    statuses.push(await send({ ...loaf, ...products('price_gone') }))
    provider.before = async () => {
      throw new ProviderFailure('refused', 'Not accepted.')
    }
    statuses.push(await send(loaf))
    provider.before = async () => {
      throw new ProviderFailure('limited', 'Slow down.')
    }
    statuses.push(await send(loaf))
    assert.deepEqual(statuses, [200, 400, 401, 422, 413, 415, 400, 409, 502, 503])
  })

  it('describes the answers to a submission, successes and failures', async () => {
    const url = '/tenant/definedCollectionObject'
    const settings = { accepts: ['createReview' as const], hourlyLimit: 1 }
    const { id } = await openCollection(group, 'Reviews', reviewSchema, settings, created.clock.now)
    const review = { collectionId: id, type: 'createReview', objectValue: goodReview }
    const headers = { authorization: group.key, 'idempotency-key': 'review' }
    const statuses: number[] = []
    for (const payload of [review, {}, { ...review, objectValue: {} }, { ...review, collectionId: 'nothing' }]) {
      const answer = await created.app.inject({ method: 'POST', url, headers, payload })
      assert.ok(Schema.Check(schemaOf(url, answer.statusCode), answer.json()), answer.body)
      statuses.push(answer.statusCode)
    }
    const further = await created.app.inject({
      method: 'POST',
      url,
      headers: { authorization: group.key },
      payload: review,
    })
    assert.ok(Schema.Check(schemaOf(url, further.statusCode), further.json()), further.body)
    assert.deepEqual([...statuses, further.statusCode], [201, 400, 422, 422, 429])
  })

  it('has a readable page without scripts that names every endpoint', async () => {
    const page = await created.app.inject('/docs')
    assert.equal(page.statusCode, 200)
    assert.match(String(page.headers['content-type']), /^text\/html/)
    assert.ok(!page.body.includes('<script'))
    for (const path of Object.keys(document.paths)) assert.ok(page.body.includes(`<code>${path}</code>`))
  })
})

describe('the documentation pages', () => {
  let created: Harness
  before(async () => {
    created = await createHarness('sqlite')
  })
  after(() => created.close())

  /** CPU time of this thread. HEAD, so that no body is copied. */
  async function cpuMsOf(url: string): Promise<number> {
    const ask = () => created.app.inject({ method: 'HEAD', url })
    for (let warmUp = 0; warmUp < 5; warmUp += 1) await ask()
    const before = process.threadCpuUsage()
    for (let round = 0; round < 50; round += 1) assert.equal((await ask()).statusCode, 200)
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1000
  }

  it('are rendered once: requesting them costs about as much as a health check', async () => {
    const least = Math.max(await cpuMsOf('/healthz'), 10)
    for (const url of ['/docs', '/openapi.json', '/manage/docs', '/manage/openapi.json']) {
      const ratio = (await cpuMsOf(url)) / least
      assert.ok(ratio < 8, `${url} costs ${ratio.toFixed(1)} times as much`)
    }
  })
})
