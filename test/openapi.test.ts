import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Schema from 'typebox/schema'
import { createPreviewToken, createSite } from './helpers/authoring.ts'
import { createHarness, type Harness, type TestGroup } from './helpers/harness.ts'

interface Document {
  openapi: string
  paths: Record<
    string,
    {
      get: {
        parameters: { name: string; in: string; required?: boolean; style?: string; schema: object }[]
        responses: Record<string, { content: { 'application/json': { schema: object; example?: unknown } } }>
      }
    }
  >
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

  it('is OpenAPI 3.1 and lists the endpoints in the order of the specification, and no others', () => {
    assert.match(document.openapi, /^3\.1\./)
    assert.deepEqual(Object.keys(document.paths), [
      '/tenant/siteDetails',
      '/tenant/collectionObjects',
      '/tenant/integrationObjects',
      '/tenant/preview',
    ])
  })

  it('names every parameter of the specification, required ones as such', () => {
    const parameters = (path: string) =>
      document.paths[path]?.get.parameters.map(({ name, required }) => (required ? `${name}!` : name))
    assert.deepEqual(parameters('/tenant/siteDetails'), ['siteId!'])
    assert.deepEqual(parameters('/tenant/collectionObjects'), [
      'collectionId!',
      'limit',
      'skip',
      'sort',
      'filters',
      'search',
    ])
    assert.deepEqual(parameters('/tenant/integrationObjects'), [
      'type!',
      'accountHandle',
      'groupBy',
      'filters',
      'search',
      'limit',
      'skip',
      'sort',
    ])
    assert.deepEqual(parameters('/tenant/preview'), ['token!'])
    for (const name of ['filters', 'groupBy']) {
      const parameter = document.paths['/tenant/integrationObjects']?.get.parameters.find(
        (candidate) => candidate.name === name,
      )
      assert.equal(parameter?.style, 'deepObject')
    }
  })

  it('documents every failure an endpoint can answer', () => {
    const statuses = (path: string) => Object.keys(document.paths[path]?.get.responses ?? {})
    assert.deepEqual(statuses('/tenant/siteDetails'), ['200', '400', '401', '404', '429', '500', '503'])
    assert.deepEqual(statuses('/tenant/integrationObjects'), ['200', '400', '401', '429', '500', '503'])
    assert.deepEqual(statuses('/tenant/preview'), ['200', '400', '401', '404', '410', '429', '500', '503'])
  })

  const schemaOf = (path: string, status: number) => {
    const schema = document.paths[path]?.get.responses[status]?.content['application/json'].schema
    assert.ok(schema, `${path} ${status} is documented`)
    return schema
  }

  it('has an example of every answer, good and bad, that fits its schema', () => {
    for (const [path, { get }] of Object.entries(document.paths)) {
      for (const [status, answer] of Object.entries(get.responses)) {
        const { schema, example } = answer.content['application/json']
        assert.ok(example, `${path} ${status}`)
        assert.ok(Schema.Check(schema, example), `${path} ${status}`)
      }
    }
  })

  it('fits the answers that are really given, good and bad', async () => {
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

  it('has a page to read, without scripts, that names every endpoint', async () => {
    const page = await created.app.inject('/docs')
    assert.equal(page.statusCode, 200)
    assert.match(String(page.headers['content-type']), /^text\/html/)
    assert.ok(!page.body.includes('<script'))
    for (const path of Object.keys(document.paths)) assert.ok(page.body.includes(`<code>${path}</code>`))
  })
})
