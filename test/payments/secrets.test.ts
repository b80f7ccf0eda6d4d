import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import Stripe from 'stripe'
import { webhookSecretField } from '../../src/payments/payments.ts'
import { type DistantShop, distantShop, manyProducts } from '../helpers/distant-shop.ts'
import { dumpTables } from '../helpers/dump.ts'
import { onBothEnginesInProve } from '../helpers/harness.ts'
import type { Method } from '../helpers/manage.ts'
import { temporaryFolder } from '../helpers/pictures.ts'
import { runCli } from '../helpers/process.ts'
import { commandsOn } from '../helpers/terminal.ts'

const webhookSecret = 'whsec_canary0Kd83hfQx72LmPz5Wv9TgYb4Rn1Js6'
const wrongKey = 'sk_test_canary1Zt46vbNq83MwEx7Uc2RhYk9Fj5Ld'
const wrongWebhookSecret = 'whsec_canary2Gp57cmAo94NvDy8Ib3SiXl0Ge6Kf'

/** All forms of a stored secret: plain, without its prefix, in hex, in base64 at any offset. */
function formsOf(secret: string): string[] {
  const rare = secret.replace(/^(sk_test|whsec)_(canary\d|sandbox_)?/, '')
  const base64 = [0, 1, 2].map((offset) => {
    const text = Buffer.from('x'.repeat(offset) + rare).toString('base64')
    return text.slice(offset === 0 ? 0 : 4, -4) // its ends depend on the adjacent bytes
  })
  const hex = Buffer.from(rare).toString('hex')
  return [
    rare,
    hex,
    hex.toUpperCase(),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

const findIn = (hay: string | Buffer, secrets: readonly string[]): string[] =>
  secrets.filter((secret) => formsOf(secret).some((form) => hay.includes(form)))

/** Every file below a folder. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}

/** Calls of all kinds, and their answers. */
function createCaller({ shop, group }: DistantShop) {
  const recorded: string[] = []
  const counts = new Map<number, number>()
  const record = (
    what: string,
    { statusCode, headers, body }: { statusCode: number; headers: object; body: string },
  ) => {
    recorded.push(`${what} ${statusCode} ${JSON.stringify(headers)} ${body}`)
    counts.set(statusCode, (counts.get(statusCode) ?? 0) + 1)
    return statusCode
  }
  return {
    recorded,
    counts,
    async manage(method: Method, path: string, body?: object) {
      const answer = await shop.call(method, `/manage/groups/${group.groupId}${path}`, body)
      record(`${method} ${path}`, answer)
      return answer
    },
    async checkOut(idempotencyKey: string) {
      const payload = {
        products: [{ price: 'price_0_Small', quantity: 1 }],
        requiresShipping: false,
        originUrl: 'https://shop.example',
      }
      const headers = { authorization: group.key, 'idempotency-key': idempotencyKey }
      const url = '/tenant/createCheckoutSession'
      return record('checkout', await shop.app.inject({ method: 'POST', url, headers, payload }))
    },
    /** Sends an event like the provider, signed with a secret. */
    async sendEvent(integrationId: string, event: object, secret: string, agoMs = 0) {
      const payload = JSON.stringify(event, null, 2)
      const timestamp = Math.floor((shop.clock.now - agoMs) / 1000)
      const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp })
      const url = `/webhooks/stripe/${integrationId}`
      const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
      return record('webhook', await shop.app.inject({ method: 'POST', url, headers, payload }))
    },
  }
}

const eventAbout = (type: string, object: object) => ({
  id: `evt_${type}`,
  object: 'event',
  api_version: '2026-10-28.endive',
  created: 1,
  livemode: false,
  type,
  data: { object },
})

describe('the search for secrets', () => {
  it('finds one in each of its forms', () => {
    const wrap = (form: string) => `{"a":"..${form}.."}`
    for (const offset of [0, 1, 2, 3])
      for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const) {
        const text = Buffer.from(`${'?'.repeat(offset)}${wrongKey}?~`).toString(encoding)
        assert.deepEqual(findIn(wrap(text), [wrongKey, webhookSecret]), [wrongKey], `${encoding} at ${offset}`)
      }
    assert.deepEqual(findIn(Buffer.from(wrap(webhookSecret)), [wrongKey, webhookSecret]), [webhookSecret])
  })
})

onBothEnginesInProve('the secrets of a payment provider', (engine) => {
  it('are in no log, answer, output, export or database, on success or failure', async (t) => {
    const distant = await distantShop(engine, { PUBLIC_URL: 'https://content.shop.example' })
    const { shop, group, proxy, secretKey, seed, env } = distant
    const { worker, payments, store } = shop.service
    const { recorded, counts, manage, checkOut, sendEvent } = createCaller(distant)
    const run = commandsOn(shop)
    const soon = async () => {
      shop.clock.now += 3 * 3_600_000 // when all failed jobs are retried
      await worker.runDue()
    }
    const dumps: string[] = []
    const dumpAll = async () => void dumps.push(...(await dumpTables(store)))
    seed(manyProducts(3))

    assert.equal((await manage('POST', '/integrations', { type: 'stripe', secretKey: wrongKey })).statusCode, 400)
    const connected = await manage('POST', '/integrations', { type: 'stripe', secretKey })
    const id: string = connected.json().data._id
    assert.equal(connected.json().data.webhook, 'registered')
    const registered = await payments.vault.read(group.store, id, webhookSecretField)
    assert.ok(registered, 'the provider has returned a secret')
    await manage('POST', '/integrations', { type: 'stripe', accountHandle: 'again', secretKey })
    await worker.runDue()
    assert.equal(await checkOut('good'), 200)
    const product = eventAbout('product.updated', { id: 'prod_00000', object: 'product' })
    assert.equal(await sendEvent(id, product, registered), 200)
    await manage('PUT', `/integrations/${id}/webhookSecret`, { webhookSecret })
    const session = eventAbout('checkout.session.completed', { id: 'cs_test_gone', object: 'checkout.session' })
    assert.equal(await sendEvent(id, session, webhookSecret), 200)
    for (const [secret, agoMs] of [[registered, 0], [wrongWebhookSecret, 0], [webhookSecret, 3_600_000]] as const) // biome-ignore format: short
      assert.equal(await sendEvent(id, product, secret, agoMs), 400)

    for (const fault of ['refused', 'failed', 'resetAfter'] as const) {
      proxy.chooseFault = () => fault
      assert.equal(await checkOut(fault), fault === 'refused' ? 502 : 503)
      await manage('POST', `/integrations/${id}/sync`)
      await manage('PUT', `/integrations/${id}/secretKey`, { secretKey })
      await manage('POST', `/integrations/${id}/webhook`)
      await soon()
      await manage('GET', `/integrations/${id}`)
      await dumpAll()
    }
    const inProcess = async (key: string, ...argv: string[]) =>
      (await runCli(argv, { ...env, LOG_LEVEL: 'trace', STRIPE_SECRET_KEY: key })).output
    proxy.chooseFault = () => 'refused'
    const doctored = await inProcess('', 'doctor')
    assert.ok(doctored.includes('Stripe does not accept the secret key'), doctored)
    proxy.chooseFault = () => undefined
    const again = await inProcess(secretKey, 'integration', 'connect', group.groupId, 'stripe', '--account-handle', 'b')
    assert.ok(again.includes('already connected'), 'the command had the key')
    const rotated = await inProcess(wrongKey, 'integration', 'rotate', group.groupId, id)
    assert.ok(rotated.includes('Stripe does not accept the secret key'), 'the command had the key')
    await soon()

    const folder = await temporaryFolder(t)
    const printed = [
      ...[doctored, again, rotated],
      await run('integration', 'list', group.groupId),
      await run('integration', 'show', group.groupId, id, '--json'),
      await run('integration', 'sync', group.groupId, id, '--json'),
      await run('job', 'list', group.groupId, '--json'),
      await run('export', 'group', group.groupId, join(folder, 'export'), '--json'),
    ]
    for (const path of ['/integrations', `/integrations/${id}`, '/orders', '/jobs', '/audit', '/events'])
      await manage('GET', path)
    await dumpAll()
    const dump = dumps.join('\n')

    for (const status of [200, 201, 400, 409, 502, 503])
      assert.ok(counts.has(status), `a request was answered with ${status}`)
    assert.ok(/main\.secrets .*"v1\./.test(dump), 'the secrets are stored, sealed')
    assert.ok(/main\.jobs .*"problem":"Stripe/.test(dump), 'and jobs with the reason of their failure')
    assert.ok(shop.log().includes('"route":"/webhooks/:type/:integrationId","status":400'), 'and what was refused')
    const secrets = [secretKey, registered, webhookSecret, wrongKey, wrongWebhookSecret]
    const hays = {
      'the log': shop.log(),
      'an answer': recorded.join('\n'),
      'an output': printed.join('\n'),
      'a table': dump,
    }
    for (const [where, hay] of Object.entries(hays)) assert.deepEqual(findIn(hay, secrets), [], `in ${where}`)
    const files = [...(await filesIn(folder)), ...(await filesIn(shop.config.dataDir))]
    for (const name of ['group.ndjson', ...(engine === 'sqlite' ? ['main.sqlite', 'main.sqlite-wal'] : [])])
      assert.ok(files.some((path) => path.endsWith(`/${name}`)), `${name} is among them`) // biome-ignore format: short
    for (const path of files) assert.deepEqual(findIn(await readFile(path), secrets), [], path)
  })
})
