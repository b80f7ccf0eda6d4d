import type { FastifyInstance, RouteOptions } from 'fastify'
import type { TSchema } from 'typebox'
import packageFile from '../../package.json' with { type: 'json' }
import { renderDocsPage } from './docs-page.ts'

declare module 'fastify' {
  /** Routes with a summary are in the document of the delivery API. */
  interface FastifySchema {
    summary?: string
    description?: string
  }
}

/** The parts of a JSON schema that the document repeats. */
export type Schema = TSchema & { type?: string; description?: string; examples?: unknown[] }

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  schema: Schema
}

export interface Operation {
  method: string
  /** In the router's notation, with `:name`. */
  path: string
  summary: string
  description: string
  operationId?: string
  tags?: string[]
  security?: object[]
  parameters: Parameter[]
  requestBody?: object | undefined
  responses: Record<number, object>
}

interface Api {
  title: string
  description: string
  /** The authentication scheme and its name. */
  securitySchemes: Record<string, object>
  operations: readonly Operation[]
  /** Adapts the schema of a parameter. */
  schemaOf?(schema: Schema): object
}

/** An OpenAPI 3.1 document; TypeBox schemas are JSON schemas and need no conversion. */
export function describeApi(api: Api): object {
  const { title, description, securitySchemes, operations, schemaOf = (schema) => schema } = api
  const describeParameter = ({ schema, ...parameter }: Parameter): object => ({
    ...parameter,
    description: schema.description,
    schema: schemaOf(schema),
    example: schema.examples?.[0],
    ...(schema.type === 'object' && { style: 'deepObject', explode: true }), // written `filters[field]=value`
  })
  const paths: Record<string, Record<string, object>> = {}
  for (const { method, path, parameters, ...operation } of operations) {
    const template = path.replace(/:(\w+)/g, '{$1}')
    paths[template] ??= {}
    paths[template][method.toLowerCase()] = { ...operation, parameters: parameters.map(describeParameter) }
  }
  return {
    openapi: '3.1.0',
    info: { title, version: packageFile.version, description, license: { name: 'MIT' } },
    servers: [{ url: '/' }],
    security: [Object.fromEntries(Object.keys(securitySchemes).map((name) => [name, []]))],
    components: { securitySchemes },
    paths,
  }
}

const deliveryAbout = `Delivers a site's configuration, published content, products and previews to a website's server, creates checkout sessions for it, and accepts what visitors submit.

Send the group's API key, bare, in the \`Authorization\` header. It is a server-side secret: never use it in a browser.

The examples use \`$BASE_URL\` for the address of the service and \`$API_KEY\` for the key. With curl, use \`-g\` where a parameter has brackets.

Every answer has the same envelope: \`success\`, \`data\` and \`error\`; failures also have a stable \`code\`. Only the two e-mail endpoints answer a plain \`true\` on success.`

/** The delivery document keeps to the dialect that more code generators support: no `const`, no patterns. */
const widelyRead = (schema: Schema): Schema =>
  JSON.parse(
    JSON.stringify(schema, (_name, part) => {
      if (typeof part !== 'object' || part === null) return part
      const { const: constant, patternProperties, ...others } = part
      if (constant !== undefined) others.enum = [constant]
      if (patternProperties) [others.additionalProperties] = Object.values(patternProperties)
      return Array.isArray(part) ? part : others
    }),
  )

function withoutNotes(schema: Schema): object {
  const { description: _, examples: __, ...others } = widelyRead(schema)
  return others
}

const parametersIn = (where: Parameter['in'], schema: unknown): Parameter[] => {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: object; required?: string[] }
  return Object.entries(properties).map(([name, part]) => ({
    name,
    in: where,
    required: required.includes(name),
    schema: part,
  }))
}

function jsonContent(given: unknown): object {
  const { examples, ...schema } = widelyRead(given as Schema)
  return { content: { 'application/json': { schema, example: examples?.[0] } } }
}

/** Undefined for routes that are not part of the API, such as pages and health checks. */
function operationOf({ method, url, schema }: RouteOptions): Operation | undefined {
  const { summary, description = '', querystring, headers, body, response = {} } = schema ?? {}
  if (summary === undefined || method === 'HEAD') return undefined
  const responses = Object.entries(response as Record<number, Schema>).map(([status, answer]) => [
    status,
    { description: answer.description, ...jsonContent(answer) },
  ])
  return {
    method: String(method),
    path: url,
    summary,
    description,
    parameters: [...parametersIn('query', querystring), ...parametersIn('header', headers)],
    requestBody: body ? { required: true, ...jsonContent(body) } : undefined,
    responses: Object.fromEntries(responses),
  }
}

/** Documents routes registered later, from the schemas that validate their requests. */
export function registerDocs(app: FastifyInstance): void {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  app.get('/', async (_request, reply) => reply.redirect('/docs'))
  serveDocs(app, {
    documentPath: '/openapi.json',
    pagePath: '/docs',
    authorization: '$API_KEY',
    describe: () =>
      describeApi({
        title: 'Sluice delivery API',
        description: deliveryAbout,
        securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'Authorization' } },
        operations: routes.map(operationOf).filter((operation) => operation !== undefined),
        schemaOf: withoutNotes,
      }),
  })
}

const pagePolicy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'"

interface DocsOptions {
  documentPath: string
  pagePath: string
  authorization: string
  describe(): object
}

/** Document and page are built on the first request and cached, because they are public and not rate limited. */
export function serveDocs(
  app: FastifyInstance,
  { documentPath, pagePath, authorization, describe }: DocsOptions,
): void {
  let built: { document: Buffer; page: Buffer } | undefined
  function build(): NonNullable<typeof built> {
    if (built) return built
    const document = JSON.stringify(describe())
    const page = renderDocsPage(JSON.parse(document), { documentUrl: documentPath, authorization })
    built = { document: Buffer.from(document), page: Buffer.from(page) }
    return built
  }
  app.get(documentPath, async (_request, reply) => reply.type('application/json; charset=utf-8').send(build().document))
  app.get(pagePath, async (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('Content-Security-Policy', pagePolicy).send(build().page),
  )
}
