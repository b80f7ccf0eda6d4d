import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { maxTargets } from '../../src/content/answer-limit.ts'
import { maxLimit } from '../../src/content/list-query.ts'
import type { Container } from '../../src/content/model.ts'
import { makeId } from '../../src/core/ids.ts'
import { findPageUrl } from '../../src/mail/mailbox-page.ts'
import type { NewObject } from '../../src/store/content/objects.ts'
import { iterateObjects } from '../../src/store/content/objects.ts'
import type { TestEngine } from '../helpers/harness.ts'
import { createManaging, fileForm, type ManagedGroup, type Managing } from '../helpers/manage.ts'
import { photo } from '../helpers/pictures.ts'
import { type ServerProcess, startServer } from '../helpers/process.ts'
import { parseMetrics, readValue } from '../helpers/prometheus.ts'
import { type Scene, setScene } from '../helpers/verb-cases.ts'
import type { VictimTarget } from './victim.ts'

/** Working copies: half of what a group may have, so that attacks can add some. */
const copiedBytes = 8 * 1024 ** 2
const copiedObjects = 500

/** How much the attacker has stored, and how many requests it sends. */
export interface Size {
  largeObjects: number
  largeCharacters: number
  manyObjects: number
  /** Concurrent requests of each attack. */
  atOnce: number
  /** The largest bodies and files. */
  bodyBytes: number
  uploadBytes: number
  /** Connections that request large answers without reading them. */
  slowReaders: number
  slowReaderMs: number
  /** Of the picture in every gallery. */
  pictureWidth: number
}

export const sizes: Record<'small' | 'full', Size> = {
  small: {
    largeObjects: 5,
    largeCharacters: 100_000,
    manyObjects: 100,
    atOnce: 1,
    bodyBytes: 64 * 1024,
    uploadBytes: 64 * 1024,
    slowReaders: 3,
    slowReaderMs: 100,
    pictureWidth: 400,
  },
  full: {
    largeObjects: 100,
    largeCharacters: 990_000,
    manyObjects: 5000,
    atOnce: 8,
    bodyBytes: 8 * 2 ** 20,
    uploadBytes: 20 * 2 ** 20,
    slowReaders: 50,
    slowReaderMs: 3000,
    pictureWidth: 2000,
  },
}

/** Below the limit, so that one attack can add more. */
const manyAccounts = 60
const scrapeToken = 'token-of-the-fairness-harness'

/** The contents of the attacker's group, by the work they make expensive. */
export interface Stored {
  /** Texts of a megabyte. */
  wall: Container
  /** Thousands of pictures. */
  gallery: Container
  /** Lists of 900 entries, each of which is a row of the index. */
  tagged: Container
  /** Many small objects. */
  many: Container
  /** Small objects that refer to each other. */
  linked: Container
  /** Accepts submissions. */
  reviews: Container
  siteId: string
  previewToken: string
  /** Of the whole site, with as many working copies as there may be. */
  sitePreviewToken: string
  /** The latest of the objects with a working copy. */
  lastCopiedId: string
  priceId: string
  checkoutUrl: string
  sandboxId: string
  mediaUrl: string
  /** An e-mail in the local mailbox. */
  mailId: string
}

/** By cause: work if the main thread computed for at least half of the time, else wait (for a CPU or a disk). */
export interface StallCounts {
  work: number
  wait: number
}

/** A service in a separate process, an attacker with a full group, and another tenant in the same database. */
export interface World {
  engine: TestEngine
  size: Size
  created: Managing
  attacker: ManagedGroup
  scene: Scene
  stored: Stored
  victim: VictimTarget
  mailboxPath: string
  server: ServerProcess
  /** Disconnects the payment accounts of earlier attacks, because their number per group is limited. */
  forgetAccounts(): Promise<void>
  /** Restarts the process if it has died. */
  revive(): Promise<void>
  /** Stalls over 100 ms, counted by the service. */
  countStalls(): Promise<StallCounts>
  /** CPU time of the process's main thread. */
  mainCpuMs(): number
  /** Resident memory of the process, in bytes. */
  rss(): number
  close(): Promise<void>
}

const large = (size: Size, more: object = {}): NewObject => ({
  value: { title: 'large', body: 'a'.repeat(size.largeCharacters), ...more },
})

/** In batches, to limit memory. */
async function fill(
  group: ManagedGroup,
  container: Container,
  count: number,
  atOnce: number,
  make: (n: number) => NewObject,
) {
  for (let done = 0; done < count; done += atOnce) {
    const length = Math.min(atOnce, count - done)
    await group.add(container, ...Array.from({ length }, (_, index) => make(done + index)))
  }
}

const manyFields = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`field${index}`, { type: 'text' }]))
const galleryFields = Object.fromEntries(
  Array.from({ length: 4 }, (_, index) => [`pictures${index}`, { type: 'list', of: { type: 'image' } }]),
)

async function fillCollections(group: ManagedGroup, size: Size, picture: object) {
  const wall = await group.collection('wall', {
    title: { type: 'text' },
    body: { type: 'longText' },
    tags: { type: 'list', of: { type: 'text' } },
  })
  await fill(group, wall, size.largeObjects, 10, () => large(size))
  const tagged = await group.collection('tagged', {
    title: { type: 'text' },
    tags: { type: 'list', of: { type: 'text' } },
  })
  const tags = Array.from({ length: 900 }, (_, index) => `tag ${index}`)
  await fill(group, tagged, size.largeObjects, 10, () => ({ value: { title: 'tagged', tags } }))
  const gallery = await group.collection('gallery', { title: { type: 'text' }, ...galleryFields })
  const pictures = Array.from({ length: 500 }, () => picture)
  const fields = Object.fromEntries(Object.keys(galleryFields).map((name) => [name, pictures]))
  await fill(group, gallery, size.largeObjects, 10, () => ({ value: { title: 'gallery', ...fields } }))
  const many = await group.collection('many', { title: { type: 'text' }, ...manyFields })
  await fill(group, many, size.manyObjects, 500, (n) => ({
    value: {
      title: `${'a'.repeat(150)}${n}`,
      ...Object.fromEntries(Object.keys(manyFields).map((name) => [name, 'x'])),
    },
  }))
  return { wall, gallery, tagged, many, linked: await fillLinked(group, size) }
}

/** As many as one answer may expand, each with references to the next ones. */
async function fillLinked(group: ManagedGroup, size: Size): Promise<Container> {
  const linked = await group.collection('linked', {
    body: { type: 'longText' },
    next: { type: 'list', of: { type: 'reference' } },
  })
  const ids = Array.from({ length: Math.min(size.manyObjects, maxTargets) }, () => makeId())
  const referencesEach = maxTargets / maxLimit
  await fill(group, linked, ids.length, 500, (n) => ({
    id: ids[n] ?? '',
    value: {
      body: 'a'.repeat(1000),
      next: Array.from({ length: referencesEach }, (_, step) => ids[(n * referencesEach + step + 1) % ids.length]),
    },
  }))
  return linked
}

/** Products with the size and number of the collection's objects. */
async function fillProducts(group: ManagedGroup, stripe: Container, size: Size): Promise<void> {
  const product = (n: number, characters: number): NewObject => ({
    value: { name: 'a'.repeat(characters), productType: `type ${n % 50}` },
    externalId: `prod_${characters}_${n}`,
    accountHandle: 'main',
  })
  await fill(group, stripe, size.largeObjects, 10, (n) => product(n, size.largeCharacters / 2))
  await fill(group, stripe, size.manyObjects, 500, (n) => product(n, 100))
}

async function poll<Value>(what: string, look: () => Promise<Value | undefined>): Promise<Value> {
  const endMs = Date.now() + 60_000
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > endMs) throw new Error(`${what} did not come.`)
    await sleep(100)
  }
}

export async function createWorld(engine: TestEngine, size: Size): Promise<World> {
  const created = await createManaging(engine)
  created.clock.now = Date.now()
  const { config, service } = created
  const scene = await setScene(created)
  const { group: attacker, stripe } = scene
  await created.ask('POST', `/manage/groups/${attacker.groupId}/tier`, { tier: 'proplus' })
  const bytes = await photo(size.pictureWidth, (size.pictureWidth * 3) / 4)
    .jpeg()
    .toBuffer()
  const { name, key, type } = await created.ask(
    'POST',
    `/manage/groups/${attacker.groupId}/media`,
    fileForm('big.jpg', bytes),
  )
  const ask = (method: 'POST' | 'GET' | 'PATCH' | 'DELETE', path: string, body?: object) =>
    created.ask(method, `/manage/groups/${attacker.groupId}${path}`, body)
  const { _id: sandboxId } = await ask('POST', '/integrations/sandbox', { type: 'stripe', accountHandle: 'shop' })
  await service.worker.runDue()
  const collections = await fillCollections(attacker, size, { name, key, type })
  await fillProducts(attacker, stripe, size)
  const site = await ask('POST', '/sites', {
    name: 'Large',
    domainName: 'shop.example',
    allowedRecipients: ['hello@shop.example'],
    allowedOrigins: ['https://shop.example'],
    settings: {
      motto: 'a'.repeat(100_000),
      pages: Array.from({ length: 200 }, (_, index) => ({
        name: `Page ${index}`,
        slug: `page-${index}`,
        collections: [{ collectionId: collections.many.id }],
      })),
      heroImage: { name, key, type },
    },
  })
  const reviewsSchema = { title: { type: 'text' }, email: { type: 'text' }, body: { type: 'longText' } }
  const reviewsOf = {
    name: 'reviews',
    schema: reviewsSchema,
    accepts: ['createReview', 'subscribeUser'],
    moderation: true,
  }
  const { _id: reviewsId } = await ask('POST', '/collections', reviewsOf)
  const [heavy] = await attacker.add(collections.wall, large(size))
  const preview = await ask('POST', '/previews', { objectId: heavy?.id, lifeSeconds: 86_400 })
  const sitePreview = await ask('POST', '/previews/site', { lifeSeconds: 86_400 })
  let lastCopiedId = ''
  const mostLarge = Math.floor(copiedBytes / size.largeCharacters)
  for (const [{ id }, most] of [[collections.wall, mostLarge], [collections.many, copiedObjects]] as const) {
    const ids = (await Array.fromAsync(iterateObjects(attacker.store, id))).slice(0, most).map((object) => object.id)
    for (const objectId of ids) await ask('PATCH', `/objects/${objectId}/draft`, { objectValue: { title: 'draft' } })
    lastCopiedId = [lastCopiedId, ...ids].toSorted().at(-1) ?? ''
  } // biome-ignore format: one line for each collection

  const other = await created.newManagedGroup({ name: 'victim', tier: 'pro', database: attacker.group.database })
  const posts = await other.collection('Posts', { title: { type: 'text' }, body: { type: 'longText' } })
  await fill(other, posts, 50, 50, (n) => ({ value: { title: `Post ${n}`, body: 'x'.repeat(1000) } }))
  const reviews = await created.ask('POST', `/manage/groups/${other.groupId}/collections`, reviewsOf)

  const settings = {
    ...{ DATA_DIR: config.dataDir, DATABASE_URL: config.databaseUrl ?? '' },
    ...{ STRIPE_URL: created.stripe.url, MAIL_GROUP_HOSTS: 'any', METRICS_TOKEN: scrapeToken },
    SIGNED_URL_TTL_SECONDS: '86400',
  }
  const start = () => startServer(settings)
  const server = await start()
  const world: World = {
    ...{ engine, size, created, attacker, scene, server },
    stored: {
      ...collections,
      ...{ reviews: { ...collections.wall, id: reviewsId }, siteId: site._id, previewToken: preview.token, sandboxId },
      sitePreviewToken: sitePreview.token,
      lastCopiedId,
      ...{ priceId: '', checkoutUrl: '', mediaUrl: '', mailId: '' },
    },
    victim: { baseUrl: server.baseUrl, key: other.key, collectionId: posts.id, reviewsId: reviews._id },
    mailboxPath: new URL(findPageUrl(config, 80) ?? 'http://none/').pathname,
    async forgetAccounts() {
      const { items } = await ask('GET', '/integrations')
      if (items.length < manyAccounts) return
      for (const { _id } of items) {
        if (_id === sandboxId) continue
        const path = `/manage/groups/${attacker.groupId}/integrations/${_id}`
        const { statusCode, body } = await created.call('DELETE', path) // an attack in progress may have deleted it
        assert.ok(statusCode < 300 || statusCode === 404, `${path}: ${statusCode} ${body}`)
      }
    },
    async revive() {
      if (world.server.child.exitCode === null && world.server.child.signalCode === null) return
      const port = new URL(world.server.baseUrl).port
      world.server = await startServer({ ...settings, PORT: port })
    },
    async countStalls() {
      const answer = await fetch(`${world.server.baseUrl}/metrics`, {
        headers: { authorization: `Bearer ${scrapeToken}` },
      })
      const metrics = parseMetrics(await answer.text())
      const count = (cause: string) => readValue(metrics, 'sluice_event_loop_stalls_total', { cause }) ?? 0
      return { work: count('work'), wait: count('wait') }
    },
    mainCpuMs() {
      if (process.platform !== 'linux') return 0
      const { pid } = world.server.child
      const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')
      return (Number(stat[11]) + Number(stat[12])) * 10 // ticks of 10 ms
    },
    rss() {
      if (process.platform !== 'linux') return 0
      const status = readFileSync(`/proc/${world.server.child.pid}/status`, 'utf8')
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024
    },
    async close() {
      await world.server.stop()
      await created.close()
    },
  }
  try {
    await learn(world)
    await settle(world)
  } catch (error) {
    await world.close()
    throw error
  }
  return world
}

/** Triggers one-time work, such as loading the Stripe SDK or rendering documents, before the attacks. */
async function settle({ server, countStalls }: World): Promise<void> {
  for (const path of ['/docs', '/manage/docs']) await (await fetch(server.baseUrl + path)).arrayBuffer()
  const sum = async (): Promise<number> => {
    const { work, wait } = await countStalls()
    return work + wait
  }
  for (let before = -1, now = 0; now !== before; ) {
    before = await sum()
    await sleep(1500)
    now = await sum()
  }
}

/** Requests what only the service can create: signed URLs, prices, a checkout. */
async function learn(world: World): Promise<void> {
  const { server, created, attacker, stored } = world
  const ask = async (path: string, body?: object) => {
    const answer = await fetch(server.baseUrl + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: attacker.key, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: looked into as needed
    return (await answer.json()) as any
  }
  const site = await ask(`/tenant/siteDetails?siteId=${stored.siteId}`)
  stored.mediaUrl = site.data.heroImage.currentFile.source
  const letter = {
    name: 'Ann',
    to: 'hello@shop.example',
    message: 'x',
    siteName: 'Large',
    customHtml: '<p>x</p>'.repeat(1000),
  }
  await ask('/tenant/sendContactEmail', letter)
  stored.mailId = await poll('An e-mail in the mailbox', async () => {
    const { items } = await created.ask('GET', `/manage/groups/${attacker.groupId}/mail?limit=10&state=sent`)
    return items[0]?._id
  })
  stored.priceId = 'price_shop_mug'
  stored.checkoutUrl = await poll('A checkout', async () => {
    const { data } = await ask('/tenant/createCheckoutSession', {
      products: [{ price: stored.priceId, quantity: 1 }],
      requiresShipping: true,
      originUrl: 'https://shop.example',
    })
    return data ?? undefined
  })
}
