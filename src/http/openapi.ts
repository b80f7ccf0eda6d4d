import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import packageFile from '../../package.json' with { type: 'json' }
import { renderDocsPage } from './docs-page.ts'

const about = `Delivers a site's configuration, published content, products and previews to a website's server, makes checkout sessions for it, and takes in what visitors send.

Send the group's API key, bare, in the \`Authorization\` header. It is a server-side secret: never use it in a browser.

The examples take \`$BASE_URL\` for the address of the service and \`$API_KEY\` for the key. With curl, use \`-g\` where a parameter has brackets.

Every answer has the same envelope: \`success\`, \`data\` and \`error\`; failures also have a stable \`code\`. Only the two e-mail endpoints answer a plain \`true\` when all is well.`

interface Parameter {
  schema?: { type?: string }
  style?: string
  explode?: boolean
}

/** `filters` and `groupBy` are written \`filters[field]=value\`: what OpenAPI calls a deep object. */
function markDeepObjects(document: { paths?: Record<string, Record<string, { parameters?: Parameter[] }>> }): void {
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(path)) {
      for (const parameter of operation.parameters ?? []) {
        if (parameter.schema?.type === 'object') Object.assign(parameter, { style: 'deepObject', explode: true })
      }
    }
  }
}

/** The OpenAPI document, made from the schemas that validate, and a page to read it. */
export function registerDocs(app: FastifyInstance): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sluice delivery API',
        version: packageFile.version,
        description: about,
        license: { name: 'MIT' },
      },
      components: { securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'Authorization' } } },
      security: [{ apiKey: [] }],
      servers: [{ url: '/' }],
    },
    transformObject: (document) => {
      if (!('openapiObject' in document)) throw new Error('OpenAPI expected.')
      markDeepObjects(document.openapiObject as never)
      return document.openapiObject
    },
  })
  app.get('/', { schema: { hide: true } }, async (_request, reply) => reply.redirect('/docs'))
  serveDocs(app, {
    documentPath: '/openapi.json',
    pagePath: '/docs',
    authorization: '$API_KEY',
    describe: () => app.swagger(),
  })
}

const pagePolicy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'"

interface DocsOptions {
  documentPath: string
  pagePath: string
  authorization: string
  describe(): object
}

/** Both are made once, and sent as they are: anybody may ask for them, as often as they like. */
export function serveDocs(
  app: FastifyInstance,
  { documentPath, pagePath, authorization, describe }: DocsOptions,
): void {
  const schema = { hide: true }
  let made: { document: Buffer; page: Buffer } | undefined
  function make(): NonNullable<typeof made> {
    if (made) return made
    const document = JSON.stringify(describe())
    const page = renderDocsPage(JSON.parse(document), { documentUrl: documentPath, authorization })
    made = { document: Buffer.from(document), page: Buffer.from(page) }
    return made
  }
  app.get(documentPath, { schema }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(make().document),
  )
  app.get(pagePath, { schema }, async (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('Content-Security-Policy', pagePolicy).send(make().page),
  )
}
