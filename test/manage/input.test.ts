import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { makeId } from '../../src/core/ids.ts'
import { verbs } from '../../src/manage/index.ts'
import type { Verb } from '../../src/manage/verb.ts'
import { assertUnchanged } from '../helpers/dump.ts'
import { onBothEnginesInProve } from '../helpers/harness.ts'
import { createManaging, type Managing, type Method } from '../helpers/manage.ts'
import { inputFor, namesInPath, requestOf, type Scene, setScene, takesBody } from '../helpers/verb-cases.ts'

interface ValueSchema {
  type?: string
  enum?: string[]
  anyOf?: ValueSchema[]
  maxLength?: number
}

/** Keys that callers must not set; `__proto__` as an own key, like from JSON. */
const smuggled: Record<string, unknown> = {
  _id: makeId(),
  id: makeId(),
  groupID: makeId(),
  groupId: makeId(),
  group_id: makeId(),
  userId: makeId(),
  version: 99,
  createdAt: '2020-01-01T00:00:00.000Z',
  administrator: true,
  role: 'owner',
  review: 'approved',
  mediaFields: {},
  frozen: false,
  secret_hash: 'x',
  constructor: 'x',
  ...JSON.parse('{"__proto__": {"administrator": true}}'),
}

/** Values of the wrong type that a schema must not accept. */
function wrongValuesFor({ type, enum: words, anyOf }: ValueSchema): unknown[] {
  if (words) return ['nothing', 1, null, [words[0]], { word: words[0] }]
  if (anyOf) return [1, true, {}, ['x']]
  const wrong: Record<string, unknown[]> = {
    string: [1, true, null, {}, ['x']],
    integer: ['1', 1.5, true, null, [1], {}],
    boolean: ['false', 'true', 0, 1, null, []],
    object: [[], 'x', 1, true, null],
    array: [{}, 'x', 1, { length: 1 }],
  }
  return wrong[type ?? ''] ?? []
}

function wrongTextsFor({ type, enum: words, maxLength }: ValueSchema): string[] {
  if (words) return ['nothing', '', words[0]?.toUpperCase() ?? '']
  const wrong: Record<string, string[]> = {
    string: maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)],
    integer: ['x', '1.5', '-1', '', ' 1', '0x1', '1e1', '99999999999999999999'],
    boolean: ['1', '0', 'yes', 'TRUE', ''],
  }
  return wrong[type ?? ''] ?? []
}

const propertiesOf = ({ input }: Verb) => Object.entries(input.properties as Record<string, ValueSchema>)

/** Input that is not in the path. */
const freeProperties = (verb: Verb) => propertiesOf(verb).filter(([name]) => !namesInPath(verb).includes(name))

const withQuery = (path: string, query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`

function withoutParameter(path: string, name: string): string {
  const [bare = '', query = ''] = path.split('?')
  const others = new URLSearchParams(query)
  others.delete(name)
  return withQuery(bare, others.toString())
}

onBothEnginesInProve('input of the management API', (engine) => {
  let created: Managing
  let scene: Scene
  before(async () => {
    created = await createManaging(engine)
    scene = await setScene(created)
  })
  after(() => created.close())

  /** Sends what must be refused with 400, and asserts that nothing was changed. */
  async function refusing(work: (refuse: typeof assertRefused) => Promise<void>): Promise<void> {
    await assertUnchanged(created.service.store, () => work(assertRefused))
  }

  async function assertRefused(what: string, request: Promise<LightMyRequestResponse>, message?: RegExp) {
    const answer = await request
    assert.equal(answer.statusCode, 400, `${what}: ${answer.statusCode} ${answer.body}`)
    assert.equal(answer.json().code, 'ValidationError', what)
    if (message) assert.match(answer.json().error, message, what)
  }

  const named = (name: string) => new RegExp(`(^|[ ;.])${name.replace('$', '\\$')}\\b`)

  for (const verb of verbs.filter(takesBody)) {
    it(`"${verb.name}" refuses unknown keys and wrong types`, async () => {
      const [method, path, body] = requestOf(verb, await inputFor(verb, scene))
      await refusing(async (refuse) => {
        for (const [key, value] of Object.entries(smuggled)) {
          if (freeProperties(verb).some(([name]) => name === key)) continue
          const answer = created.call(method, path, { ...body, ...entry(key, value) })
          await refuse(key, answer, key === '__proto__' ? undefined : named(key))
        }
        for (const name of namesInPath(verb))
          await refuse(name, created.call(method, path, { ...body, [name]: makeId() }), named(name))
        for (const [name, schema] of freeProperties(verb)) {
          for (const wrong of wrongValuesFor(schema))
            await refuse(
              `${name}: ${JSON.stringify(wrong)}`,
              created.call(method, path, { ...body, [name]: wrong }),
              named(name),
            )
        }
        for (const name of (verb.input.required ?? []).filter((one) => !namesInPath(verb).includes(one)))
          await refuse(`without ${name}`, created.call(method, path, { ...body, [name]: undefined }), named(name))
        await refuse('a parameter', created.call(method, withQuery(path, 'name=x'), body), /name/)
      })
    })
  }

  for (const verb of verbs.filter((one) => !takesBody(one))) {
    it(`"${verb.name}" refuses unknown, repeated and malformed parameters`, async () => {
      const [method, path] = requestOf(verb, await inputFor(verb, scene))
      const free = freeProperties(verb)
      await refusing(async (refuse) => {
        for (const key of [...Object.keys(smuggled), ...namesInPath(verb)]) {
          if (free.some(([name]) => name === key)) continue
          await refuse(key, created.call(method, withQuery(path, `${key}=x`)), new RegExp(`^${key} is not a parameter`))
        }
        for (const [name, schema] of free) {
          const ask = (query: string) => created.call(method, withQuery(withoutParameter(path, name), query))
          for (const wrong of wrongTextsFor(schema))
            await refuse(`${name}=${wrong}`, ask(`${name}=${encodeURIComponent(wrong)}`), named(name))
          if (schema.type === 'object') {
            for (const query of [`${name}=x`, `${name}[]=x`, `${name}[a][b]=x`, `${name}[=x`, `${name}[a`])
              await refuse(query, ask(query), named(name))
          } else {
            await refuse(`${name} twice`, ask(`${name}=1&${name}=1`), named(name))
            await refuse(`${name}[x]`, ask(`${name}[x]=1`), named(name))
            await refuse(`${name}[]`, ask(`${name}[]=1`), named(name))
          }
        }
      })
    })
  }

  for (const verb of verbs.filter(({ method }) => method === 'DELETE')) {
    it(`"${verb.name}" refuses a body instead of ignoring it`, async () => {
      const [method, path] = requestOf(verb, await inputFor(verb, scene))
      await refusing((refuse) => refuse('a body', created.call(method, path, { version: 99 }), /body/))
    })
  }

  it('stores only fields of the schema in an object, through every verb', async () => {
    const { groupId } = scene.group
    const good = { title: 'x' }
    const object = await inputFor(verbs.find(({ name }) => name === 'object show') as Verb, scene)
    const ways: [method: Method, path: string, body: (objectValue: object) => object][] = [
      ['POST', `collections/${scene.posts.id}/objects`, (objectValue) => ({ objectValue })],
      [
        'POST',
        `collections/${scene.posts.id}/objects/bulk`,
        (objectValue) => ({ items: [{ objectValue: good }, { objectValue }] }),
      ],
      ['PUT', `objects/${object.objectId}`, (objectValue) => ({ version: 1, objectValue })],
      ['PATCH', `objects/${object.objectId}`, (objectValue) => ({ version: 1, objectValue })],
      [
        'POST',
        'objects/bulk',
        (objectValue) => ({ action: 'patch', items: [{ objectId: object.objectId, version: 1, objectValue }] }),
      ],
    ]
    const wrong = [
      ...['_id', 'mediaFields', 'status', 'publishDate', 'constructor', '__proto__', 'toString'].map((key) => entry(key, 'x')),
      { title: 1 }, { title: ['x'] }, { title: { en: 'x' } }, { done: 'false' }, { done: 0 }, { cover: 'x.png' },
      { cover: { name: 'x', key: `${makeId()}/x.png`, type: 'image' } }, { title: 'a\0b' }, { title: '\ud800' },
    ] // biome-ignore format: two lines read better
    await refusing(async (refuse) => {
      for (const [method, path, body] of ways) {
        for (const value of wrong) {
          const call = created.call(method, `/manage/groups/${groupId}/${path}`, body({ ...good, ...value }))
          await refuse(`${method} ${path} ${JSON.stringify(value)}`, call)
        }
      }
    })
  })

  it('refuses unknown keys in the items of a list, with their path', async () => {
    const { groupId } = scene.group
    const bulk = `/manage/groups/${groupId}/objects/bulk`
    const many = `/manage/groups/${groupId}/collections/${scene.posts.id}/objects/bulk`
    const item = { objectId: makeId() }
    await refusing(async (refuse) => {
      for (const key of ['_id', 'review', 'collectionId', 'groupId', 'createdAt', 'constructor']) {
        const first = { objectValue: { title: 'x' } }
        const path = new RegExp(`items\\[1\\]\\.${key}`)
        await refuse(key, created.call('POST', many, { items: [first, { ...first, [key]: 'x' }] }), path)
        await refuse(
          key,
          created.call('POST', bulk, { action: 'publish', items: [item, { ...item, [key]: 'x' }] }),
          path,
        )
      }
    })
  })
})

function entry(key: string, value: unknown): object {
  return Object.fromEntries([[key, value]])
}
