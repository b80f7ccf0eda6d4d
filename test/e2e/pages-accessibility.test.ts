import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import type { AxeResults } from 'axe-core'
import type { Browser } from 'playwright-core'
import { startBrowser } from '../helpers/browser.ts'
import { createDemoDatabase } from '../helpers/demo.ts'
import { runCli, type ServerProcess, startServer } from '../helpers/process.ts'

const axePath = createRequire(import.meta.url).resolve('axe-core')

const screens = [
  { name: 'a phone by day', viewport: { width: 375, height: 740 }, colorScheme: 'light' },
  { name: 'a wide screen at night', viewport: { width: 1400, height: 900 }, colorScheme: 'dark' },
] as const

interface Demo {
  apiKey: string
  priceIds: string[]
}

let testDatabase: Awaited<ReturnType<typeof createDemoDatabase>>
let server: ServerProcess
let browser: Browser
const urls = new Map<string, () => string>()

async function send(demo: Demo, endpoint: string, body: object): Promise<string> {
  const answer = await fetch(`${server.baseUrl}/tenant/${endpoint}`, {
    method: 'POST',
    headers: { authorization: demo.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.ok(answer.ok, await answer.clone().text())
  return answer.text()
}

before(async () => {
  testDatabase = await createDemoDatabase('sqlite')
  server = await startServer(testDatabase.env, ['--demo'])
  browser = await startBrowser()
  const { default: demo } = (await import(`${testDatabase.env.DATA_DIR}/demo.json`, { with: { type: 'json' } })) as {
    default: Demo
  }
  const { output } = await runCli(['mail', 'page'], { ...testDatabase.env, PORT: new URL(server.baseUrl).port })
  const mailbox = /http\S+/.exec(output)?.[0] ?? ''
  await send(demo, 'sendContactEmail', {
    name: 'Ada',
    to: 'hello@demo.example',
    message: 'Do you bake without rye?',
    siteName: 'Demo Bakery',
    htmlInfo: { title: 'A message from your website' },
  })
  const session = await send(demo, 'createCheckoutSession', {
    products: [{ price: demo.priceIds[0], quantity: 2 }],
    requiresShipping: true,
  })
  const [letter = ''] = /href="[0-9a-f]{24}\/[0-9a-f]{24}\//.exec(await (await fetch(mailbox)).text()) ?? []
  urls.set('/docs', () => `${server.baseUrl}/docs`)
  urls.set('/manage/docs', () => `${server.baseUrl}/manage/docs`)
  urls.set('the mailbox', () => mailbox)
  urls.set('an e-mail in the mailbox', () => `${mailbox}${letter.slice('href="'.length)}`)
  urls.set('the checkout of the sandbox', () => JSON.parse(session).data)
})

after(async () => {
  await browser?.close()
  await server?.stop()
  await testDatabase?.remove()
})

describe('every page of the service', () => {
  for (const page of [
    '/docs',
    '/manage/docs',
    'the mailbox',
    'an e-mail in the mailbox',
    'the checkout of the sandbox',
  ]) {
    for (const { name, viewport, colorScheme } of screens) {
      it(`${page} passes axe, has an icon, and does not scroll sideways on ${name}`, async () => {
        const context = await browser.newContext({ viewport, colorScheme, bypassCSP: true }) // to inject axe
        try {
          const opened = await context.newPage()
          const missing: string[] = []
          opened.on('response', (response) => {
            if (response.status() >= 400) missing.push(response.url())
          })
          const answer = await opened.goto(urls.get(page)?.() ?? '')
          assert.equal(answer?.status(), 200)
          await opened.addScriptTag({ path: axePath })
          // Runs in the page, where `axe` exists; as text, because this file has Node's types.
          // Contrast checks of so long a page take minutes, and it has the style of /docs.
          const rules = { 'color-contrast': { enabled: page !== '/manage/docs' } }
          // Describing every element that passes would take most of the time.
          const asked = JSON.stringify({ rules, resultTypes: ['violations'] })
          const violations = (await opened.evaluate(
            `axe.run(${asked}).then(({ violations }) => violations)`,
          )) as AxeResults['violations']
          assert.deepEqual(
            violations.map(({ id, nodes }) => `${id}: ${nodes.length}, such as ${nodes[0]?.html.slice(0, 200)}`),
            [],
          )
          const sideways = await opened.evaluate(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          )
          assert.equal(sideways, 0)
          assert.equal(await opened.locator('link[rel=icon]').count(), 1)
          assert.deepEqual(missing, [])
        } finally {
          await context.close()
        }
      })
    }
  }
})
