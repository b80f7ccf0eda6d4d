import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Schema from 'typebox/schema'
import { makeId } from '../../src/core/ids.ts'
import { verbs } from '../../src/manage/index.ts'
import type { Verb } from '../../src/manage/verb.ts'
import { verbTable } from '../../src/manage/verb-table.ts'
import { createManaging, type Managing } from '../helpers/manage.ts'
import { inputFor, namesInPath, requestOf, type Scene, setScene, takesBody } from '../helpers/verb-cases.ts'

interface Operation {
  operationId: string
  summary: string
  parameters: { name: string; in: string; required: boolean; schema: object; style?: string }[]
  requestBody?: { required: boolean; content: Record<string, { schema: object }> }
  responses: Record<string, { description: string; content: Record<string, { schema: object }> }>
}

interface Document {
  openapi: string
  security: object[]
  paths: Record<string, Record<string, Operation>>
}

describe('the OpenAPI document of the management API', () => {
  let created: Managing
  let scene: Scene
  let document: Document
  before(async () => {
    created = await createManaging('sqlite')
    scene = await setScene(created)
    document = (await created.app.inject('/manage/openapi.json')).json()
  })
  after(() => created.close())

  const operationOf = ({ path, method }: Verb): Operation => {
    const operation = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
    assert.ok(operation, `${method} ${path} is documented`)
    return operation
  }

  it('is OpenAPI 3.1 and lists every verb once, with a unique name', () => {
    assert.match(document.openapi, /^3\.1\./)
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
    assert.equal(operations.length, verbs.length)
    assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, verbs.length)
    for (const { operationId } of operations) assert.match(operationId, /^[a-z][A-Za-z]+$/)
    for (const verb of verbs) assert.equal(operationOf(verb).summary, verb.summary)
    assert.deepEqual(
      verbs.map(({ name }) => name),
      Object.keys(verbTable),
      'each verb of the table is defined, in its order',
    )
  })

  it('requires a bearer token for every request', () => {
    assert.deepEqual(document.security, [{ adminToken: [] }])
    const { components } = document as unknown as { components: { securitySchemes: { adminToken: object } } }
    assert.deepEqual(components.securitySchemes.adminToken, { type: 'http', scheme: 'bearer' })
  })

  it('documents each input once: in the path, in the query string or in the body', () => {
    for (const verb of verbs) {
      const { parameters, requestBody } = operationOf(verb)
      const inPath = parameters.filter((parameter) => parameter.in === 'path')
      assert.deepEqual(inPath.map(({ name }) => name).toSorted(), namesInPath(verb).toSorted(), verb.name)
      assert.ok(
        inPath.every(({ required }) => required),
        verb.name,
      )
      const inQuery = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name)
      const { properties: inBody = {} } = (requestBody?.content['application/json']?.schema ?? {}) as {
        properties?: object
      }
      const documented = [...namesInPath(verb), ...inQuery, ...Object.keys(inBody)]
      assert.deepEqual(documented.toSorted(), Object.keys(verb.input.properties).toSorted(), verb.name)
      assert.equal((takesBody(verb) ? inQuery : Object.keys(inBody)).length, 0, verb.name)
    }
  })

  it('describes the accepted bodies, and the actual answers', async () => {
    for (const verb of verbs) {
      const [method, path, body] = requestOf(verb, await inputFor(verb, scene))
      const { requestBody, responses } = operationOf(verb)
      if (body && !verb.takesFile)
        assert.ok(Schema.Check(requestBody?.content['application/json']?.schema ?? { not: {} }, body), verb.name)
      if (!body && requestBody) assert.equal(requestBody.required, false, verb.name)
      const answer = await created.call(method, path, body)
      const content = responses[answer.statusCode]?.content
      assert.ok(content && answer.statusCode < 300, `${verb.name}: ${answer.statusCode} ${answer.body}`)
      const [type = ''] = String(answer.headers['content-type']).split(';')
      const given = type === 'application/json' ? answer.json() : answer.body
      const [fits, problems] = Schema.Errors(content[type]?.schema ?? { not: {} }, given)
      assert.ok(fits, `${verb.name}: ${JSON.stringify(problems)} ${answer.body}`)
    }
  })

  it('documents the form of a verb with a file, and its 413', () => {
    for (const verb of verbs.filter(({ takesFile }) => takesFile)) {
      const { requestBody, responses } = operationOf(verb)
      assert.equal(requestBody?.required, true, verb.name)
      assert.deepEqual(Object.keys(requestBody.content), ['multipart/form-data'], verb.name)
      const schema = requestBody.content['multipart/form-data']?.schema as Shape & { required: string[] }
      assert.deepEqual(schema.required, ['file'], verb.name)
      assert.equal(schema.properties?.file?.format, 'binary', verb.name)
      assert.ok(responses[413], verb.name)
    }
  })

  it('names everything that an answer contains', async () => {
    for (const verb of verbs.filter(({ contentType }) => contentType === undefined)) {
      const answer = await created.call(...requestOf(verb, await inputFor(verb, scene)))
      assert.deepEqual(unnamed(verb.answer, answer.json().data), [], verb.name)
    }
  })

  it('documents every failure, and describes the actual ones', async () => {
    const { groupId, tokens } = scene.group
    for (const verb of verbs) {
      const input = await inputFor(verb, scene)
      const [method, path, body] = requestOf(verb, input)
      const elsewhere = requestOf(verb, { ...input, ...(verb.inGroup && { groupId: makeId() }) })
      const failures = [
        await created.call(method, path, body, null),
        await created.call(...elsewhere, tokens.owner),
        await created.call(...requestOf(verb, { ...input, ...(verb.inGroup && { groupId }) }), tokens.viewer),
        await created.call(method, `${path}${path.includes('?') ? '&' : '?'}nothing=1`, body),
      ].filter(({ statusCode }) => statusCode >= 300)
      assert.ok(failures.length >= 2, verb.name)
      for (const answer of failures) {
        const content = operationOf(verb).responses[answer.statusCode]?.content
        assert.ok(content, `${verb.name}: ${answer.statusCode} is documented`)
        assert.ok(Schema.Check(content['application/json']?.schema ?? { not: {} }, answer.json()), verb.name)
      }
      const statuses = Object.keys(operationOf(verb).responses)
      for (const status of ['400', '401', '403', '404', '409', '429', '500', '503'])
        assert.ok(statuses.includes(status))
    }
  })

  it('has a readable page without scripts that names every path', async () => {
    const page = await created.app.inject('/manage/docs')
    assert.equal(page.statusCode, 200)
    assert.match(String(page.headers['content-type']), /^text\/html/)
    assert.match(String(page.headers['content-security-policy']), /default-src 'none'/)
    assert.doesNotMatch(page.body, /<script|javascript:|\son\w+=/i)
    for (const path of Object.keys(document.paths)) assert.ok(page.body.includes(`<code>${path}</code>`), path)
    for (const verb of verbs) assert.ok(page.body.includes(verb.summary.replaceAll('"', '&quot;')), verb.summary)
    assert.match(
      page.body,
      /curl -X POST [^$]+\$TOKEN&quot; \\\n {2}-F file=@… \\\n[^$]+\$BASE_URL\/manage\/groups\/\$groupId\/media&quot;/,
    )
    assert.equal((await created.app.inject('/manage')).headers.location, '/manage/docs')
  })

  it('is separate: the delivery API’s lists nothing of it', async () => {
    for (const url of ['/openapi.json', '/docs']) {
      const { body } = await created.app.inject(url)
      for (const { path } of verbs) assert.ok(!body.includes(path.replace(/:(\w+)/g, '{$1}')), `${url}: ${path}`)
    }
    const delivery: Document = (await created.app.inject('/openapi.json')).json()
    assert.deepEqual(
      Object.keys(delivery.paths).filter((path) => !path.startsWith('/tenant/')),
      [],
    )
  })
})

interface Shape {
  type?: string
  format?: string
  properties?: Record<string, Shape>
  items?: Shape
  anyOf?: Shape[]
}

/** The names in a value that are not in its schema, except in open objects. */
function unnamed(shape: Shape, value: unknown, path = ''): string[] {
  if (shape.anyOf) return value === null ? [] : unnamed(shape.anyOf[0] ?? {}, value, path)
  if (Array.isArray(value)) return value.flatMap((item) => unnamed(shape.items ?? {}, item, `${path}[]`))
  if (typeof value !== 'object' || value === null || !shape.properties) return []
  const { properties } = shape
  return Object.entries(value).flatMap(([name, inner]) =>
    properties[name] ? unnamed(properties[name], inner, `${path}.${name}`) : [`${path}.${name}`],
  )
}
