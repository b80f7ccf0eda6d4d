import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BusinessInfo, createClient, type Page } from '../../client/src/index.ts'
import { demoCollections, demoSite } from '../../src/demo/content.ts'
import type { Order } from '../../src/store/commerce/orders.ts'
import { createDemoDatabase } from '../helpers/demo.ts'
import type { Data } from '../helpers/editing.ts'
import { createEmptyDatabase, onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { runCli, type ServerProcess, startServer } from '../helpers/process.ts'

const pngSignature = '89504e470d0a1a0a'

/** Asserts that all documented keys exist; others are allowed. */
function assertKeys(value: object, documented: string[]): void {
  assert.deepEqual(
    documented.filter((key) => !Object.hasOwn(value, key)),
    [],
  )
}

describe('the demo site', () => {
  const site = demoSite({ Blog: 'b', Team: 't', Reviews: 'r', FAQ: 'f', Subscribers: 's' }, (name) => ({
    name,
    key: `g/${name}.png`,
    type: 'image',
  }))
  const { businessInfo, pages } = site.settings as { businessInfo: BusinessInfo; pages: Page[] }

  it('has the documented keys of business information', () => {
    assertKeys(businessInfo, ['name', 'description', 'address', 'contactInfo', 'shipping'])
    assertKeys(businessInfo.address, ['street1', 'street2', 'city', 'state', 'zip', 'country'])
    assertKeys(businessInfo.contactInfo, ['email', 'phoneNumber'])
    assert.equal(typeof businessInfo.shipping, 'boolean')
  })

  it('has the documented keys of pages and their bindings', () => {
    for (const page of pages) {
      assertKeys(page, [
        'name',
        'slug',
        'format',
        'collections',
        'integrations',
        'labels',
        'displayOnHeader',
        'displayOnFooter',
      ])
      assertKeys(page.labels, ['title', 'subtitle', 'navLabel'])
      for (const binding of page.collections)
        assertKeys(binding, ['collectionId', 'name', 'role', 'displayAs', 'order', 'enabled'])
      for (const binding of page.integrations) assertKeys(binding, ['type', 'name', 'role', 'displayAs'])
    }
    assert.ok(pages.some((page) => page.collections.length > 0) && pages.some((page) => page.integrations.length > 0))
  })

  it('has everything a site template needs: roles, colours, and images of its pages', () => {
    const roles = pages.flatMap((page) => [...page.collections, ...page.integrations].map(({ role }) => role))
    assert.deepEqual([...new Set(roles)].toSorted(), ['primary', 'secondary', 'sidebar', 'supplemental'])
    for (const { collections, integrations, name } of pages)
      assert.ok(
        [...collections, ...integrations].some(({ role }) => role === 'primary'),
        name,
      )
    assertKeys(site.settings.colors ?? {}, [
      'primary', 'secondary', 'hover', 'surface', 'surface-alt', 'text-primary', 'text-secondary', 'text-inverse', 'border',
    ]) // biome-ignore format: short
    assert.deepEqual(pages.find(({ slug }) => slug === 'home')?.labels.heroImage, (site.settings as { heroImage: object }).heroImage) // biome-ignore format: short
    assertKeys(demoCollections.FAQ?.schema ?? {}, ['title', 'description'])
  })

  it('has a home page, and slugs without a leading slash', () => {
    assert.ok(pages.some((page) => page.format === 'home' || page.slug === 'home'))
    for (const { slug } of pages) assert.ok(!slug.startsWith('/'), slug)
  })
})

/** Deriving pictures takes 15 CPU seconds, so only `npm run prove` does it while the demo is served. */
const withoutPictures = { JOB_WORKERS: '0' }

onBothEnginesInProve('npm start on an empty data folder', (engine) => {
  it('serves the whole demo through the client, and the same after a restart', async () => {
    const testDatabase = await createEmptyDatabase(engine)
    const env = { ...testDatabase.env, ...(process.env.PROVE !== '1' && withoutPictures) }
    let server = await startServer(env, ['--demo'])
    after(async () => {
      await server.stop()
      await testDatabase.remove()
    })
    const demoFile = join(testDatabase.env.DATA_DIR, 'demo.json')
    const demo = JSON.parse(await readFile(demoFile, 'utf8'))
    assert.equal((await stat(demoFile)).mode & 0o777, 0o600)
    assert.equal(demo.baseUrl, server.baseUrl)
    assert.ok(server.output().includes(demo.apiKey) && server.output().includes('curl -H'))
    const client = createClient({ baseUrl: demo.baseUrl, apiKey: demo.apiKey })

    const site = await client.site.details(demo.siteId)
    assert.equal(site.name, 'Demo Bakery')
    for (const picture of [site.logo, site.heroImage]) {
      const answer = await fetch(picture?.currentFile.source ?? '')
      assert.equal(answer.headers.get('content-type'), 'image/png')
      assert.equal(
        Buffer.from(await answer.arrayBuffer())
          .subarray(0, 8)
          .toString('hex'),
        pngSignature,
      )
    }
    for (const page of site.pages ?? []) {
      for (const { collectionId } of page.collections)
        assert.ok(Object.values(demo.collections).includes(collectionId), page.name)
    }

    const totals: Record<string, number> = {}
    for (const [name, id] of Object.entries<string>(demo.collections))
      totals[name] = (await client.collections.list(id)).totalCount
    assert.deepEqual(totals, { Blog: 10, Team: 5, Reviews: 8, FAQ: 8, Subscribers: 3 }) // of 12 posts one is a draft, one archived

    const query = `collectionId=${demo.collections.Blog}&filters[slug]=the-starter-is-older-than-the-shop`
    const found = await fetch(
      `${demo.baseUrl}/tenant/collectionObjects?${query}&expand=author,sections.product.product`,
      {
        headers: { authorization: demo.apiKey },
      },
    )
    const { data } = (await found.json()) as { data: { items: Data[] } }
    const [post] = data.items
    assert.deepEqual(
      post.objectValue.sections.map(({ type }: { type: string }) => type),
      ['quote', 'product', 'picture', 'text'],
    )
    assert.equal(post.expanded.author.objectValue.name, 'Mara Lindqvist')
    assert.deepEqual(post.expanded['sections.1.product'].objectValue.price, { Small: '5.50', Large: '9.00' })

    const products = await client.products.list({ type: 'stripe' })
    assert.equal(products.totalCount, 8)
    assert.equal(products.items.filter((product) => product.usingVariant).length, 2)
    const prices = products.items.flatMap(({ objectValue: { default_price: price } }) =>
      typeof price === 'string' ? [price] : Object.values(price),
    )
    assert.deepEqual(prices, demo.priceIds)

    const draft = await client.preview(demo.previewToken)
    assert.ok(Date.parse(draft.publishDate ?? '') > Date.now())

    assert.equal(await server.stop(), 0)
    server = await startServer(env, ['--demo'])
    const again = createClient({ baseUrl: server.baseUrl, apiKey: demo.apiKey })
    assert.equal((await again.products.list({ type: 'stripe' })).totalCount, 8)
    assert.equal(JSON.parse(await readFile(demoFile, 'utf8')).groupId, demo.groupId)
  })
})

type DemoOrder = Pick<Order, 'status' | 'total' | 'currency' | 'email' | 'accountHandle' | 'lines'>

interface OpenDemo {
  server: ServerProcess
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  facts: any
  close(): Promise<void>
}
const openDemos = new Map<TestEngine, OpenDemo>()

/** A server of the demo on each engine, which the tests share. */
async function openDemo(engine: TestEngine): Promise<OpenDemo> {
  const known = openDemos.get(engine)
  if (known) return known
  const testDatabase = await createDemoDatabase(engine)
  const server = await startServer(testDatabase.env, ['--demo'])
  const facts = JSON.parse(await readFile(join(testDatabase.env.DATA_DIR, 'demo.json'), 'utf8'))
  const close = async () => {
    await server.stop()
    await testDatabase.remove()
  }
  const opened = { server, facts, close }
  openDemos.set(engine, opened)
  return opened
}

after(async () => {
  for (const { close } of openDemos.values()) await close()
})

onBothEnginesInProve('the demo', (engine) => {
  it('has a checkout, a payment page, and the order in the list', async () => {
    const { facts: demo } = await openDemo(engine)
    const client = createClient({ baseUrl: demo.baseUrl, apiKey: demo.apiKey })
    const url = await client.checkout.create({
      products: [{ price: 'price_demo_sourdough_large', quantity: 2 }],
      requiresShipping: false,
      originUrl: 'https://demo.example',
    })
    const page = await (await fetch(url)).text()
    assert.ok(page.includes('Sourdough loaf, large') && page.includes('no money moves'))
    const typed = new URLSearchParams({ email: 'ada@people.example', name: 'Ada' })
    const paid = await fetch(`${url}/pay`, { method: 'POST', body: typed, redirect: 'manual' })
    assert.equal(paid.status, 303)
    assert.match(paid.headers.get('location') ?? '', /^https:\/\/demo\.example\/checkoutsuccess\?session_id=cs_test_/)
    const orders = async () => {
      const headers = { authorization: `Bearer ${demo.adminToken}` }
      const answer = await fetch(`${demo.baseUrl}/manage/groups/${demo.groupId}/orders`, { headers })
      const { data } = (await answer.json()) as { data: { items: DemoOrder[] } }
      return data.items
    }
    // Both the sandbox's webhook call and the order are jobs.
    for (const endMs = Date.now() + 60_000; (await orders()).length === 0 && Date.now() < endMs; ) await sleep(200)
    const [order] = await orders()
    assert.deepEqual(
      [order?.status, order?.total, order?.currency, order?.email, order?.accountHandle],
      ['paid', '18.00', 'cad', 'ada@people.example', 'demo'],
    )
    const lines = order?.lines.map(({ quantity, priceId }) => [quantity, priceId])
    assert.deepEqual(lines, [[2, 'price_demo_sourdough_large']])
  })
})

describe('a first start on a port that is in use', () => {
  it('names the port and what to do, and the next start still creates the demo', async () => {
    const testDatabase = await createEmptyDatabase('sqlite')
    const blocker = createServer().listen(0, '127.0.0.1')
    await once(blocker, 'listening')
    after(async () => {
      blocker.close()
      await testDatabase.remove()
    })
    const { port } = blocker.address() as AddressInfo
    const { code, output } = await runCli(['serve', '--demo'], { ...testDatabase.env, PORT: String(port) })
    assert.equal(code, 1)
    assert.match(output, new RegExp(`address already in use 127.0.0.1:${port}.*set PORT`))
    const server = await startServer({ ...testDatabase.env, ...withoutPictures }, ['--demo'])
    assert.match(server.output(), /API key +slc_live_/)
    await server.stop()
  })
})

describe('the README', () => {
  it('shows a request and its actual answer', async () => {
    const readme = await readFile(join(import.meta.dirname, '../../README.md'), 'utf8')
    const path = /curl -H "Authorization: \$KEY" 'http:\/\/127\.0\.0\.1:4000(\/[^']+)'/.exec(readme)?.[1] ?? ''
    const shown = JSON.parse(/```json\n([\s\S]+?)\n```/.exec(readme)?.[1] ?? '')
    const { server, facts } = await openDemo('sqlite')
    const ask = async () => (await fetch(server.baseUrl + path, { headers: { authorization: facts.apiKey } })).json()
    let given = await ask()
    for (const endMs = Date.now() + 240_000; !JSON.stringify(given).includes('srcset') && Date.now() < endMs; ) {
      await sleep(500)
      given = await ask()
    }
    // Ids, times and signatures differ between demos, and URLs are shortened; everything else is the same.
    const settled = (value: unknown) =>
      JSON.parse(
        JSON.stringify(value, (name, part) => {
          if (typeof part !== 'string') return part
          if (name === 'srcset') return part.match(/-\d+w\.webp| \d+w/g)
          if (name === 'avifSrcset' || name === 'placeholder') return 'shortened'
          return part
            .replace(/^http:\/\/[^/]+/, '')
            .replace(/\/\d{4}\/\d{2}\//, '/*/')
            .replace(/[0-9a-f]{24}|\?.*|^\d{4}-.*Z$/g, '*')
        }),
      )
    assert.deepEqual(settled(given), settled(shown))
  })
})
