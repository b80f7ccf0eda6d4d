import type { FastifyInstance } from 'fastify'
import type { ErrorCode } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { failureAnswers } from '../http/answer-schemas.ts'
import { describeApi, type Operation, serveDocs } from '../http/openapi.ts'
import { verbs } from './index.ts'
import { defaultBodyBytes, type Verb } from './verb.ts'

const about = `Creates and changes what the delivery API serves: groups, keys, users, sites, collections, objects, files, previews, payment accounts, mail servers; and shows orders, submissions and e-mails.

Send an admin token as \`Authorization: Bearer <token>\`. Create the first one on the command line: \`npx sluice user create "Ada" --administrator\`, then \`npx sluice token create <user id>\`.

The examples use \`$BASE_URL\` for the address of the service and \`$TOKEN\` for the token.

Roles in a group: a \`viewer\` reads, an \`editor\` also writes content, an \`owner\` also manages keys, schemas, sites, members, payment accounts and mail servers. An \`administrator\` of the service may do everything in every group. A group in which you have no role looks like one that does not exist.

Updates carry the \`version\` they started from. If the object was changed in the meantime, the answer is 409, with \`details.current\` and \`details.yours\`.

A body may have up to 256 KB unless stated otherwise, with lists and objects of up to 10,000 entries each, nested up to 40 deep. Of bodies that are larger than 256 KB a group may be sent 4 at once; one more is 429.`

function parametersOf({ inPath, hasBody, input }: Verb): Operation['parameters'] {
  return Object.entries(input.properties)
    .filter(([name]) => inPath.includes(name) || !hasBody)
    .map(([name, schema]) => ({
      name,
      in: inPath.includes(name) ? 'path' : 'query',
      required: inPath.includes(name) || (input.required ?? []).includes(name),
      schema,
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

const manageFailures: ErrorCode[] = ['Forbidden', 'NotFound', 'Conflict', 'QuotaExceeded']
const uploadFailures: ErrorCode[] = [...manageFailures, 'PayloadTooLarge', 'UnsupportedMediaType']

function responsesOf(verb: Verb): Operation['responses'] {
  const schema = verb.contentType
    ? verb.answer
    : Type.Object({ success: Type.Literal(true), data: verb.answer, error: Type.Null() })
  const good = {
    description: 'Success',
    content: { [verb.contentType?.split(';')[0] ?? 'application/json']: { schema } },
  }
  const failures = verb.takesFile ? uploadFailures : manageFailures
  const bad = Object.entries(failureAnswers(failures, { isDelivery: false })).map(([status, answer]) => {
    const { description = '' } = answer as { description?: string }
    return [status, { description, content: { 'application/json': { schema: answer } } }]
  })
  return { [verb.isCreation ? 201 : 200]: good, ...Object.fromEntries(bad) }
}

function roleSentence({ needs }: Verb): string {
  if (needs === 'anonymous') return 'Needs no token.'
  return needs === 'anyone' ? 'Needs any token.' : `Needs the role \`${needs}\`.`
}

const bodySentence = ({ maxBodyBytes }: Verb): string =>
  maxBodyBytes > defaultBodyBytes ? `The body may have up to ${maxBodyBytes / 1024 / 1024} MB.` : ''

function operationOf(verb: Verb): Operation {
  return {
    method: verb.method,
    path: verb.path,
    summary: verb.summary,
    description: [verb.description, roleSentence(verb), bodySentence(verb)].filter(Boolean).join('\n\n'),
    operationId: verb.name.replace(/[ -](\w)/g, (_, letter: string) => letter.toUpperCase()),
    tags: verb.name.split(' ').slice(0, 1),
    ...(verb.needs === 'anonymous' && { security: [{}, { adminToken: [] }] }),
    parameters: parametersOf(verb),
    requestBody: bodyOf(verb),
    responses: responsesOf(verb),
  }
}

export function registerManageDocs(app: FastifyInstance): void {
  app.get('/manage', async (_request, reply) => reply.redirect('/manage/docs'))
  serveDocs(app, {
    documentPath: '/manage/openapi.json',
    pagePath: '/manage/docs',
    authorization: 'Bearer $TOKEN',
    describe: () =>
      describeApi({
        title: 'Sluice management API',
        description: about,
        securitySchemes: { adminToken: { type: 'http', scheme: 'bearer' } },
        operations: verbs.map(operationOf),
      }),
  })
}
