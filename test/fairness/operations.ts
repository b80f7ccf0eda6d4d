import assert from 'node:assert/strict'
import type { FastifyInstance } from 'fastify'
import { verbs } from '../../src/manage/index.ts'
import type { Verb } from '../../src/manage/verb.ts'
import type { ValueSchema } from './worst-values.ts'

/** One operation of the service over HTTP. */
export interface Operation {
  method: string
  path: string
  /** The verb, in the management API. */
  verb: Verb | undefined
  query: Record<string, ValueSchema>
  body: ValueSchema | undefined
  /** Undefined for a page that is not in an OpenAPI document. */
  statuses: Set<number> | undefined
}

export const nameOf = ({ method, path, verb }: Operation): string => (verb ? verb.name : `${method} ${path}`)

const isVerb = (method: string, path: string): boolean =>
  verbs.some((verb) => verb.method === method && verb.path === path)

/** Every route registered with the framework. */
function routesIn(app: FastifyInstance): { method: string; path: string }[] {
  const found: { method: string; path: string }[] = []
  const above: string[] = []
  for (const line of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const [, indent = '', part = '', methods = ''] = /^([│ ]*[├└]── )(\S+)(?: \(([^)]*)\))?/.exec(line) ?? []
    if (indent === '') continue
    const depth = indent.length / 4 - 1
    above.splice(depth, above.length, part)
    const joined = above.join('').replace('//', '/')
    // If two routes differ only in the name of a parameter, the tree has both names: `:one|:other`.
    const names = /:(\w+)\|:(\w+)/.exec(joined)
    const paths = names ? [1, 2].map((at) => joined.replace(names[0], `:${names[at]}`)) : [joined]
    for (const method of methods.split(', ').filter((name) => name !== ''))
      for (const path of paths) if (!names || isVerb(method, path)) found.push({ method, path })
  }
  return found
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: { name: string; in: string; schema: ValueSchema }[]
        requestBody?: { content: Record<string, { schema: ValueSchema }> }
        responses: Record<string, object>
      }
    >
  >
}

const openApiPath = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

/** Routes without own work: a copy of GET, or a refusal of other methods. */
function isCopy(method: string, path: string, all: readonly { method: string; path: string }[]): boolean {
  if (method === 'GET') return false
  const hasGet = all.some((route) => route.path === path && route.method === 'GET')
  return hasGet && (method === 'HEAD' || path.startsWith('/mailbox/'))
}

/** All operations, from the route table, the verbs and their OpenAPI documents. */
export async function listOperations(app: FastifyInstance): Promise<Operation[]> {
  await app.ready()
  const documents: Document[] = []
  for (const url of ['/openapi.json', '/manage/openapi.json']) documents.push((await app.inject({ url })).json())
  const routes = routesIn(app)
  const operations = routes
    .filter(({ method, path }) => !isCopy(method, path, routes))
    .map(({ method, path }): Operation => {
      const described = documents
        .map(({ paths }) => paths[openApiPath(path)]?.[method.toLowerCase()])
        .find((found) => found !== undefined)
      const parameters = (described?.parameters ?? []).filter((parameter) => parameter.in === 'query')
      return {
        method,
        path,
        verb: verbs.find((verb) => verb.method === method && verb.path === path),
        query: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
        body: described?.requestBody?.content['application/json']?.schema,
        statuses: described && new Set(Object.keys(described.responses).map(Number)),
      }
    })
  const missing = verbs.filter((verb) => !operations.some((operation) => operation.verb === verb))
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
    'every verb is a route',
  )
  return operations
}
