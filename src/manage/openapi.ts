import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import packageFile from '../../package.json' with { type: 'json' }
import type { ErrorCode } from '../errors.ts'
import { failureAnswers } from '../http/answer-schemas.ts'
import { serveDocs } from '../http/openapi.ts'
import { Type } from '../type.ts'
import { verbs } from './index.ts'
import { defaultBodyBytes, type Verb } from './verb.ts'

const about = `Makes and changes what the delivery API serves: groups, keys, people, sites, collections, objects, files, previews, payment accounts, mail servers; and shows what was bought, sent in and e-mailed.

Send an admin token as \`Authorization: Bearer <token>\`. The first one comes from the command line: \`npx sluice user create "Ada" --administrator\`, then \`npx sluice token create <user id>\`.

The examples take \`$BASE_URL\` for the address of the service and \`$TOKEN\` for the token.

Roles in a group: a \`viewer\` reads, an \`editor\` also writes content, an \`owner\` also manages keys, schemas, sites, members, payment accounts and mail servers. An \`administrator\` of the service may do everything in every group. A group in which you have no role looks like one that does not exist.

Updates carry the \`version\` they started from. When somebody was faster the answer is 409, with \`details.current\` and \`details.yours\`.

A body may have up to 256 KB where nothing else is said, lists and objects of up to 10,000 entries each, and 40 of them nested. Of bodies that are larger than 256 KB a group may be sent 4 at once; one more is 429.`

function parametersOf(verb: Verb): object[] {
  const { inPath: pathNames, hasBody } = verb
  return Object.entries(
    verb.input.properties as Record<string, TSchema & { description?: string; examples?: unknown[]; type?: string }>,
  )
    .filter(([name]) => pathNames.includes(name) || !hasBody)
    .map(([name, schema]) => ({
      name,
      in: pathNames.includes(name) ? 'path' : 'query',
      required: pathNames.includes(name) || (verb.input.required ?? []).includes(name),
      description: schema.description,
      schema,
      ...(schema.examples?.[0] !== undefined && { example: schema.examples[0] }),
      ...(schema.type === 'object' && { style: 'deepObject', explode: true }),
    }))
}

const fileBody = {
  required: true,
  content: {
    'multipart/form-data': {
      schema: {
        type: 'object',
        properties: {
          file: {
            type: 'string',
            format: 'binary',
            contentMediaType: 'application/octet-stream',
            description: 'One file, of any type, with its name.',
          },
        },
        required: ['file'],
      },
    },
  },
}

function bodyOf(verb: Verb): object | undefined {
  if (verb.takesFile) return fileBody
  if (!verb.hasBody) return undefined
  const pathNames = verb.inPath
  const properties = Object.fromEntries(
    Object.entries(verb.input.properties).filter(([name]) => !pathNames.includes(name)),
  )
  if (Object.keys(properties).length === 0) return undefined
  const required = (verb.input.required ?? []).filter((name) => !pathNames.includes(name))
  return {
    required: required.length > 0,
    content: { 'application/json': { schema: { type: 'object', properties, required, additionalProperties: false } } },
  }
}

const managingFailures: ErrorCode[] = ['Forbidden', 'NotFound', 'Conflict', 'QuotaExceeded']
const uploadFailures: ErrorCode[] = [...managingFailures, 'PayloadTooLarge', 'UnsupportedMediaType']

function responsesOf(verb: Verb): object {
  const schema = verb.contentType
    ? verb.answer
    : Type.Object({ success: Type.Literal(true), data: verb.answer, error: Type.Null() })
  const good = {
    description: 'Success',
    content: { [verb.contentType?.split(';')[0] ?? 'application/json']: { schema } },
  }
  const failures = verb.takesFile ? uploadFailures : managingFailures
  const bad = Object.entries(failureAnswers(failures, { isDelivery: false })).map(([status, answer]) => {
    const { description = '' } = answer as { description?: string }
    return [status, { description, content: { 'application/json': { schema: answer } } }]
  })
  return { [verb.isCreation ? 201 : 200]: good, ...Object.fromEntries(bad) }
}

function roleSentence({ needs }: Verb): string {
  if (needs === 'anonymous') return 'Needs no token.'
  return needs === 'anyone' ? 'Anybody with a token may ask.' : `Needs the role \`${needs}\`.`
}

const bodySentence = ({ maxBodyBytes }: Verb): string =>
  maxBodyBytes > defaultBodyBytes ? `The body may have up to ${maxBodyBytes / 1024 / 1024} MB.` : ''

function operationOf(verb: Verb): object {
  return {
    summary: verb.summary,
    description: [verb.description, roleSentence(verb), bodySentence(verb)].filter(Boolean).join('\n\n'),
    operationId: verb.name.replace(/[ -](\w)/g, (_, letter: string) => letter.toUpperCase()),
    tags: [verb.name.split(' ')[0]],
    ...(verb.needs === 'anonymous' && { security: [{}, { adminToken: [] }] }),
    parameters: parametersOf(verb),
    requestBody: bodyOf(verb),
    responses: responsesOf(verb),
  }
}

/** The management API's own document, made from the verbs. */
export function describeManageApi(): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const verb of verbs) {
    const path = verb.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [verb.method.toLowerCase()]: operationOf(verb) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice management API',
      version: packageFile.version,
      description: about,
      license: { name: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ adminToken: [] }],
    components: { securitySchemes: { adminToken: { type: 'http', scheme: 'bearer' } } },
    paths,
  }
}

export function registerManageDocs(app: FastifyInstance): void {
  app.get('/manage', { schema: { hide: true } }, async (_request, reply) => reply.redirect('/manage/docs'))
  serveDocs(app, {
    documentPath: '/manage/openapi.json',
    pagePath: '/manage/docs',
    authorization: 'Bearer $TOKEN',
    describe: describeManageApi,
  })
}
