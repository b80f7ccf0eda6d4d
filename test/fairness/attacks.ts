import { makeId } from '../../src/core/ids.ts'
import { verbs } from '../../src/manage/index.ts'
import { fileForm } from '../helpers/manage.ts'
import { plainPng } from '../helpers/pictures.ts'
import { inputFor, namesInPath, requestOf } from '../helpers/verb-cases.ts'
import type { Operation } from './operations.ts'
import type { World } from './world.ts'
import { alphabets, type Filling, holds, openObjects, rawBodies, type ValueSchema, worstValue } from './worst-values.ts'

/** A request designed to be as expensive as possible. */
export interface Attack {
  what: string
  method: string
  path: string
  headers: Record<string, string>
  body?: Buffer
  /** Sends requests on many connections without reading the answers. */
  readsNothing?: boolean
}

/** Creates the attack for each time it is sent, including subjects that were deleted. */
export interface PlannedAttack {
  what: string
  make(): Promise<Attack> | Attack
  /** Whether it may fail: success needs something that an attacker does not have. */
  mayFail?: boolean
}

const json = { 'content-type': 'application/json' }
/** The request line and headers together. */
const maxUrlBytes = 15_000
/** Sizes of bodies to try, the largest first, because a body over the limit is refused unread. */
const bodySizes = [8 * 2 ** 20 - 64, 4 * 2 ** 20 - 64, 2 ** 20 - 64, 256 * 1024 - 64, 64 * 1024 - 64]

/** How many of the largest objects fit into an answer. */
const mostLargeItems = 8

interface Caller {
  who: string
  headers: Record<string, string>
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** The caller with the lowest sufficient role. */
function callerOf({ attacker, created }: World, { path, verb }: Operation): Caller {
  if (verb) {
    const { needs } = verb
    if (needs === 'administrator') return { who: needs, headers: bearer(created.admin) }
    if (needs === 'anonymous') return { who: needs, headers: {} }
    const role = needs === 'anyone' ? 'viewer' : needs
    return { who: role, headers: bearer(attacker.tokens[role]) }
  }
  if (path.startsWith('/tenant/')) return { who: 'API key', headers: { authorization: attacker.key } }
  return { who: 'anonymous', headers: {} }
}

export const callerName = (world: World, operation: Operation): string => callerOf(world, operation).who

const asQuery = (input: Record<string, unknown>): string =>
  Object.entries(input)
    .flatMap(([name, value]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).flatMap(([key, inner]) =>
            [inner].flat().map((one) => [`${name}[${key}]`, String(one)] as const),
          )
        : [[name, String(value)] as const],
    )
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&')
    .slice(0, maxUrlBytes)

type Input = Record<string, unknown>

/** Input of each tenant route and page, as expensive as the stored content allows. */
function tenantInputs(world: World): Record<string, Input[]> {
  const { stored, size } = world
  const search = `${'a'.repeat(199)}b`
  const lists = [stored.wall, stored.gallery, stored.tagged, stored.many].flatMap(({ id }): Input[] => [
    { collectionId: id, limit: 100 },
    { collectionId: id, limit: 100, search },
    { collectionId: id, limit: 1, search },
  ])
  const fields = Array.from({ length: 12 }, (_, index) => `field${index}`)
  const values = Array.from({ length: 50 }, (_, index) => (index === 0 ? 'x' : `x${index}`))
  const many = stored.many.id
  const preview = stored.sitePreviewToken
  return {
    '/tenant/siteDetails': [{ siteId: stored.siteId }, { siteId: stored.siteId, preview }],
    '/tenant/collectionObjects': [
      ...lists,
      { collectionId: many, limit: 100, preview, sort: 'field0:asc,title:desc', skip: size.manyObjects - 100 },
      { collectionId: many, limit: 100, preview, search: 'x', filters: { field0: values } },
      { collectionId: stored.wall.id, limit: 100, preview },
      { collectionId: many, limit: 100, sort: 'field0:asc,field1:desc,field2:asc,field3:desc,title:desc' },
      { collectionId: many, limit: 100, skip: size.manyObjects - 100, sort: 'title:desc' },
      { collectionId: many, limit: 100, filters: Object.fromEntries(fields.map((name) => [name, 'x'])) },
      { collectionId: many, limit: 1, search: 'x', filters: { field0: values, field1: values, field2: values } },
      {
        collectionId: many,
        limit: 100,
        sort: 'field1:desc',
        filters: Object.fromEntries(fields.map((name) => [`${name}][gte`, ''])),
      },
      { collectionId: many, limit: 1, sort: 'field1:desc', filters: { 'field0][ne': values } },
      {
        collectionId: many,
        limit: 1,
        filters: { 'title][lt': 'zzzz', 'createdAt][gt': '0001-01-01', 'field0][gt': '' },
      },
      { collectionId: stored.linked.id, limit: 100, expand: 'next' },
      { collectionId: stored.linked.id, limit: 4, expand: 'next.next' },
      { collectionId: stored.linked.id, limit: 100, expand: 'next.next.next' },
      { collectionId: stored.tagged.id, limit: 100, filters: { tags: values.map((_, index) => `tag ${index}`) } },
    ],
    '/tenant/integrationObjects': [
      { type: 'stripe', limit: 100 },
      { type: 'stripe', limit: 100, search },
      { type: 'stripe', limit: 1, search: 'a' },
      { type: 'stripe', limit: 100, groupBy: { key: 'productType' } },
      { type: 'stripe', limit: 100, groupBy: { key: 'name' } },
      { type: 'stripe', limit: 100, sort: 'objectValue.name:desc', accountHandle: 'main' },
    ],
    '/tenant/preview': [{ token: stored.previewToken }],
    '/tenant/createCheckoutSession': [
      { products: [{ price: stored.priceId, quantity: 1 }], requiresShipping: true, originUrl: 'https://shop.example' },
    ],
    '/tenant/definedCollectionObject': [
      { collectionId: stored.reviews.id, type: 'createReview', objectValue: { title: 'x', body: 'x' } },
    ],
    '/tenant/sendContactEmail': [
      { name: 'Ann', to: 'hello@shop.example', message: 'x', siteName: 'Large', customHtml: '<p>x</p>' },
      { name: 'Ann', to: 'hello@shop.example', message: 'x', siteName: 'Large', htmlInfo: { whiteBoxText: 'x' } },
    ],
    '/tenant/sendOrderPlacedEmail': [
      { to: 'ann@people.example', htmlInfo: { title: 'x', subtitle: 'x', whiteBoxText: 'x', signature: 'x' } },
    ],
  }
}

/** An object value with the longest text. */
const heaviestValue = (text: Filling['text'], bytes: number): object => ({
  title: 'x',
  body: text(Math.min(980_000, Math.floor(bytes * 0.9))),
})

/** Those of former attacks: all together may be 16 MB. The working copies of the world are of older objects. */
async function forgetLaterCopies({ attacker, stored }: World): Promise<void> {
  await attacker.store.database.write((db) =>
    db
      .deleteFrom('working_copies')
      .where('group_id', '=', attacker.groupId)
      .where('id', '>', stored.lastCopiedId)
      .execute(),
  )
}

/** The ids of the largest subject of each kind, newly created if the verb may change it. */
async function heaviestSubjects(world: World, verb: NonNullable<Operation['verb']>): Promise<Input> {
  const { attacker, stored, scene, size } = world
  const changes = verb.method !== 'GET'
  const found: Input = {}
  const { properties } = verb.input
  if (verb.name.startsWith('object draft')) await forgetLaterCopies(world)
  if ('objectId' in properties) {
    const [object] = await attacker.add(stored.wall, { value: { title: 'x', body: 'a'.repeat(size.largeCharacters) } })
    found.objectId = object?.id
  }
  if ('objectId' in properties && 'objectValue' in properties) found.objectValue = { title: 'y' }
  if (['object diff', 'object restore-version'].includes(verb.name)) {
    const path = `/manage/groups/${attacker.groupId}/objects/${found.objectId}`
    await scene.created.ask('PATCH', path, { version: 1, objectValue: { title: 'y' } })
  }
  if (/^object draft (show|diff|discard|publish|schedule)$/.test(verb.name)) {
    const path = `/manage/groups/${attacker.groupId}/objects/${found.objectId}/draft`
    await scene.created.ask('PATCH', path, { objectValue: { title: 'y' } })
  }
  if (/^site draft (show|diff)$/.test(verb.name))
    await scene.created.ask('PATCH', `/manage/groups/${attacker.groupId}/sites/${stored.siteId}/draft`, {
      settings: {},
    })
  if (verb.name === 'object draft schedule') found.publishAt = '2099-01-01T00:00:00Z'
  if (verb.name.startsWith('submission')) delete found.objectId
  if (verb.name === 'object schedule') found.publishDate = '2099-01-01T00:00:00Z'
  if ('collectionId' in properties && !changes) found.collectionId = stored.wall.id
  if ('limit' in properties) found.limit = mostLargeItems
  if ('siteId' in properties && !changes) found.siteId = stored.siteId
  if ('type' in properties && verb.name.startsWith('product')) found.type = scene.stripe.name
  return found
}

const asBody = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

/** Variants of a body: every text in every alphabet, lists and open objects at their maximum size. */
function* bodies(schema: ValueSchema, bytes: number): Generator<[what: string, make: (given: Input) => Input]> {
  const worst = (given: Input, filling: Filling) => worstValue(schema, given, Math.floor(bytes * 0.9), filling) as Input
  const plain = (length: number) => 'a'.repeat(Math.min(length, 20))
  const fields = (given: Input, text: Filling['text']) => (room: number) => ({
    ...(given.objectValue as object | undefined),
    ...heaviestValue(text, room),
  })
  if (holds(schema, 'text') || holds(schema, 'open'))
    for (const [what, text] of Object.entries(alphabets))
      yield [
        `texts: ${what}`,
        (given) => worst(given, { text, openObject: 'objectValue' in given ? fields(given, text) : undefined }),
      ]
  if (holds(schema, 'list')) yield ['longest lists', (given) => worst(given, { text: plain, isLong: true })]
  if (holds(schema, 'open'))
    for (const [what, openObject] of Object.entries(openObjects))
      yield [`open object: ${what}`, (given) => worst(given, { text: plain, openObject })]
}

/** Values for a query string, which is short but may cause expensive work. */
function* queries(query: Record<string, ValueSchema>, given: Input): Generator<[what: string, input: Input]> {
  yield ['largest answer', given]
  const schema: ValueSchema = { type: 'object', properties: query }
  if (!holds(schema, 'text') && !holds(schema, 'open')) return
  for (const [what, text] of Object.entries(alphabets))
    yield [`texts: ${what}`, worstValue(schema, given, 4000, { text }) as Input]
  const names = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, 'x']))
  yield ['most parameters', worstValue(schema, given, 4000, { text: () => 'x', openObject: () => names }) as Input]
}

/** Files of about the given size that are expensive to inspect. */
const files: Record<string, (bytes: number) => Buffer> = {
  'picture of 100 megapixels': () => plainPng(10_000, 10_000),
  'long text': (bytes) => Buffer.alloc(bytes, 'a'),
  'nested SVG': (bytes) => Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${'<g>'.repeat(bytes / 3)}`),
  'PNG of small chunks': (bytes) => Buffer.concat([plainPng(10, 10).subarray(0, 33), Buffer.alloc(bytes)]),
  'JPEG of small segments': (bytes) => Buffer.from(`ffd8${'ffe10004aaaa'.repeat(bytes / 6)}`, 'hex'),
  'MP4 of small boxes': (bytes) =>
    Buffer.from(`00000018667479706d703432000000006d70343269736f6d${'0000000866726565'.repeat(bytes / 8)}`, 'hex'),
  'HTML of comments': (bytes) => Buffer.from('<!--'.repeat(bytes / 4)),
  blanks: (bytes) => Buffer.alloc(bytes, ' '),
}

const partHead = (more: string): string => `--x\r\ncontent-disposition: form-data; ${more}\r\n\r\n`

/** Forms that are expensive to parse. */
const forms: Record<string, (bytes: number) => string> = {
  'form of many parts': (bytes) => `${`${partHead('name="a"')}b\r\n`.repeat(bytes / 50)}--x--\r\n`,
  'long file name': () => `${partHead(`name="file"; filename="${'a.'.repeat(8000)}"`)}b\r\n--x--\r\n`,
  'almost boundaries': (bytes) => partHead('name="file"; filename="a"') + '\r\n--'.repeat(bytes / 4),
}

async function encodeFile(content: Buffer): Promise<Pick<Attack, 'headers' | 'body'>> {
  const form = new Response(fileForm('file', content))
  const headers = { 'content-type': form.headers.get('content-type') ?? '' }
  return { headers, body: Buffer.from(await form.arrayBuffer()) }
}

function uploads(bytes: number): [what: string, make: () => Promise<Pick<Attack, 'headers' | 'body'>>][] {
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  return [
    ['plain', () => encodeFile(Buffer.from(`a note, ${makeId()}`))],
    ...Object.entries(files).map(([what, make]) => [what, () => encodeFile(make(bytes))] as const),
    ...Object.entries(forms).map(
      ([what, make]) => [what, async () => ({ headers, body: Buffer.from(make(bytes)) })] as const,
    ),
  ].map(([what, make]) => [what as string, make as () => Promise<Pick<Attack, 'headers' | 'body'>>])
}

/** Bodies that are expensive to parse, also from unauthorised callers. */
function rawAttacks(operation: Operation, path: string, callers: Caller[], bytes: number): PlannedAttack[] {
  const { method } = operation
  return callers.flatMap(({ who, headers }) =>
    Object.entries(rawBodies).map(([what, make]) => ({
      what: `body: ${what} (${who})`,
      make: () => ({ what, method, path, headers: { ...headers, ...json }, body: Buffer.from(make(bytes)) }),
    })),
  )
}

/** All verbs refuse unauthorised callers with the same code, so each verb gets two different attacks. */
function oneOfEach({ path }: Operation, attacks: PlannedAttack[]): PlannedAttack[] {
  const count = Object.keys(rawBodies).length
  const at = verbs.findIndex((verb) => verb.path === path) % count
  return attacks.filter((_, position) => position % count === at)
}

async function largestBody(
  world: World,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<number> {
  const sizes = bodySizes.filter((bytes) => bytes <= world.size.bodyBytes)
  if (sizes.length === 1) return sizes[0] ?? 0
  for (const bytes of sizes) {
    const body = `{"x":"${'a'.repeat(bytes - 8)}"}`
    const status = await fetch(world.server.baseUrl + path, { method, headers: { ...headers, ...json }, body }).then(
      async (answer) => {
        await answer.arrayBuffer()
        return answer.status
      },
      () => 413, // refused before the whole body was sent
    )
    if (status !== 413) return bytes
  }
  return 1024
}

async function verbAttacks(world: World, operation: Operation): Promise<PlannedAttack[]> {
  const { scene, attacker } = world
  const { verb, method, body } = operation
  if (!verb) return []
  const caller = callerOf(world, operation)
  const stranger: Caller = { who: 'stranger', headers: bearer(scene.created.admin.replace(/.$/, 'x')) }
  const viewer: Caller = { who: 'viewer', headers: bearer(attacker.tokens.viewer) }
  const base = async (): Promise<Input> => ({
    ...(await inputFor(verb, scene)),
    ...(await heaviestSubjects(world, verb)),
  })
  const send = (what: string, input: Input, more: Partial<Attack> = {}): Attack => {
    const [, path, sent] = requestOf(verb, input)
    const plain = sent && !(sent instanceof FormData)
    return {
      what,
      method,
      path,
      headers: { ...caller.headers, ...(plain && json) },
      ...(plain && { body: asBody(sent) }),
      ...more,
    }
  }
  const given = await base()
  const { path: plainPath } = send('', given)
  const plain: PlannedAttack = { what: 'heaviest subject', make: async () => send('', await base()) }
  if (verb.takesFile)
    return uploads(world.size.uploadBytes).map(([what, make]) => ({
      what,
      async make() {
        const { headers, body: content = Buffer.alloc(0) } = await make()
        return send(what, await base(), { headers: { ...caller.headers, ...headers }, body: content })
      },
    }))
  if (!verb.hasBody) {
    const inPath = namesInPath(verb)
    const own = (input: Input): Input =>
      Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.includes(name)))
    const [bare = ''] = plainPath.split('?')
    const limits = operation.query.limit ? { limit: 100 } : {}
    const asked = [...queries(operation.query, { ...own(given), ...limits })].map(([what, input]) => ({
      what,
      make: () => ({ what, method, path: `${bare}?${asQuery(input)}`, headers: caller.headers }),
    }))
    const slow = {
      what: 'reads nothing',
      make: async () => ({ ...(await asked[0]?.make()), readsNothing: true }) as Attack,
    }
    return [plain, ...asked, ...(method === 'GET' ? [slow] : [])]
  }
  const schema = body ?? { type: 'object', properties: {} }
  const bytes = await largestBody(world, method, plainPath, caller.headers)
  const inPath = namesInPath(verb)
  const inBody = (input: Input): Input =>
    Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.includes(name)))
  return [
    plain,
    ...[...bodies(schema, bytes)].map(([what, make]) => ({
      what,
      async make() {
        const fresh = await base()
        return send(what, { ...fresh, ...make(inBody(fresh)) })
      },
    })),
    ...rawAttacks(operation, plainPath, [caller], bytes),
    ...oneOfEach(operation, rawAttacks(operation, plainPath, [viewer, stranger], bytes)),
  ]
}

async function tenantAttacks(world: World, operation: Operation): Promise<PlannedAttack[]> {
  const { method, path, query, body } = operation
  const inputs = tenantInputs(world)[path] ?? []
  const caller = callerOf(world, operation)
  if (method === 'GET') {
    const asked = inputs.flatMap((input, position) =>
      (position === 0 ? [...queries(query, input)] : [['', input] as const]).map(([what, filled]) => ({
        what:
          what ||
          asQuery(filled)
            .replace(/[0-9a-f]{24}/g, '…')
            .slice(0, 60),
        make: () => ({ what, method, path: `${path}?${asQuery(filled)}&fresh=${makeId()}`, headers: caller.headers }),
      })),
    )
    const slow = inputs.map((input) => ({
      what: `reads nothing: ${asQuery(input)
        .replace(/[0-9a-f]{24}/g, '…')
        .slice(0, 40)}`,
      make: () => ({
        what: '',
        method,
        path: `${path}?${asQuery(input)}`,
        headers: caller.headers,
        readsNothing: true,
      }),
    }))
    return [...asked, ...slow]
  }
  const anonymous: Caller = { who: 'anonymous', headers: {} }
  const bytes = await largestBody(world, method, path, caller.headers)
  const plain = inputs.map((input) => ({
    what: 'plain',
    make: () => ({ what: 'plain', method, path, headers: { ...caller.headers, ...json }, body: asBody(input) }),
  }))
  const filled = inputs.flatMap((input) =>
    [...bodies(body ?? {}, bytes)].map(([what, make]) => ({
      what,
      make: () => ({ what, method, path, headers: { ...caller.headers, ...json }, body: asBody(make(input)) }),
    })),
  )
  return [...plain, ...filled, ...rawAttacks(operation, path, [caller, anonymous], bytes)]
}

/** Pages and routes without a schema, each with specific attacks. */
async function pageAttacks(world: World, { method, path }: Operation): Promise<PlannedAttack[]> {
  const { stored, mailboxPath, attacker } = world
  const { pathname: checkout } = new URL(stored.checkoutUrl || 'http://none/none')
  const media = new URL(stored.mediaUrl || 'http://none/none')
  const get = (what: string, url: string, headers: Record<string, string> = {}): PlannedAttack => ({
    what,
    make: () => ({ what, method, path: url, headers }),
  })
  const withSlow = (url: string): PlannedAttack[] => [
    get('plain', url),
    get('longest query', `${url}${url.includes('?') ? '&' : '?'}${'a=b&'.repeat(3500)}`),
    { what: 'reads nothing', make: () => ({ what: '', method, path: url, headers: {}, readsNothing: true }) },
  ]
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const size = 256 * 1024 - 64
  const letter = `${mailboxPath}${attacker.groupId}/${stored.mailId}/`
  const signed = (signature: string) => ({ ...json, 'stripe-signature': signature })
  const webhook = `/webhooks/stripe/${stored.sandboxId}`
  const pages: Record<string, () => PlannedAttack[]> = {
    '/*': () => [
      get('plain', '/nowhere'),
      get('longest path', `/${'a/'.repeat(7000)}`),
      get('most escapes', `/${'%61'.repeat(4500)}`),
      get('dots', `/${'../'.repeat(4500)}`),
    ],
    '/media/:bucket/*': () => [
      ...withSlow(media.pathname + media.search),
      get('many ranges', media.pathname + media.search, { range: `bytes=${'0-,'.repeat(2500)}0-` }),
      get('longest key', `/media/media/${'a/'.repeat(6000)}?expires=1&signature=x`),
    ],
    '/mailbox/:key/': () => withSlow(mailboxPath),
    '/mailbox/:key/:groupId/:mailId/': () => withSlow(letter),
    '/mailbox/:key/:groupId/:mailId/html': () => withSlow(`${letter}html`),
    '/mailbox/:key/:groupId/:mailId/message.eml': () => withSlow(`${letter}message.eml`),
    '/sandbox/checkout/:integrationId/:sessionId': () => withSlow(checkout),
    '/sandbox/checkout/:integrationId/:sessionId/pay': () => [
      {
        what: 'plain',
        make: () => ({
          ...{ what: 'plain', method, path: `${checkout}/pay`, headers: form },
          body: Buffer.from('email=ann%40people.example&name=Ann&country=US&line1=x&city=x'),
        }),
      },
      ...Object.entries({ ...alphabets, pairs: (bytes: number) => 'a=b&'.repeat(bytes / 4) }).map(([what, text]) => ({
        what: `form: ${what}`,
        make: () => ({
          what,
          method,
          path: `${checkout}/pay`,
          headers: form,
          body: Buffer.from(
            what === 'pairs' ? text(size) : `email=${encodeURIComponent(text(size / 8)).slice(0, size)}`,
          ),
        }),
      })),
    ],
    '/webhooks/:type/:integrationId': () =>
      Object.entries(rawBodies).flatMap(([what, make]) =>
        Object.entries({
          'one signature': `t=${Math.floor(Date.now() / 1000)},v1=${'a'.repeat(64)}`,
          'many signatures': `t=${Math.floor(Date.now() / 1000)}${`,v1=${'a'.repeat(64)}`.repeat(200)}`,
          'empty signatures': `t=1${',v1='.repeat(3500)}`,
        }).map(([how, signature]) => ({
          what: `${what}, ${how}`,
          make: () => ({ what, method, path: webhook, headers: signed(signature), body: Buffer.from(make(size)) }),
        })),
      ),
  }
  const unreachable = ['/*', '/webhooks/:type/:integrationId'].includes(path) // not found, or requires a secret
  return (pages[path]?.() ?? withSlow(path)).map((planned) => ({ ...planned, mayFail: unreachable }))
}

/** All attacks on an operation; none if it is unknown, which fails the test. */
export async function attacksOn(world: World, operation: Operation): Promise<PlannedAttack[]> {
  if (operation.verb) return verbAttacks(world, operation)
  if (operation.path.startsWith('/tenant/')) return tenantAttacks(world, operation)
  return pageAttacks(world, operation)
}
