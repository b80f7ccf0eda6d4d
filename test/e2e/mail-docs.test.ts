import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { settings } from '../../src/config/config.ts'
import { deliverHandler } from '../../src/mail/deliver.ts'
import { blocksOf, type Guide, readDocument, root, sectionOf, startGuide } from '../helpers/guide.ts'
import { onBothEnginesInProve } from '../helpers/harness.ts'

const readme = readDocument('README.md')
const guide = readDocument('docs/mail.md')
const awaitedMs = 60_000

/** Repeats the request until the expected answer. */
async function eventually<Answer>(ask: () => Promise<Answer>, isRight: (answer: Answer) => boolean): Promise<Answer> {
  for (const endMs = Date.now() + awaitedMs; ; await sleep(200)) {
    const answer = await ask()
    if (isRight(answer)) return answer
    assert.ok(Date.now() < endMs, `Still not right: ${JSON.stringify(answer)}`)
  }
}

const pageAt = async (url: string): Promise<string> => (await fetch(url)).text()

onBothEnginesInProve('the guide to submissions and e-mail', (engine) => {
  let demo: Guide
  before(async () => {
    demo = await startGuide(engine)
  })
  after(() => demo.close())

  /** Calls the management API below the group. */
  async function manage<Data>(path: string): Promise<Data> {
    const { adminToken, groupId } = demo.facts
    const headers = { authorization: `Bearer ${adminToken}` }
    const answer = await fetch(`${demo.server.baseUrl}/manage/groups/${groupId}/${path}`, { headers })
    const { data } = (await answer.json()) as { data: Data }
    return data
  }

  interface Mail {
    _id: string
    state: string
    subject: string
    recipient: string
    replyTo: string | null
    text?: string
  }
  const mails = async (filter = '') => (await manage<{ items: Mail[] }>(`mail${filter}`)).items

  const awaitMail = (subject: string, state = 'sent') =>
    eventually(
      async () => (await mails()).filter((mail) => mail.subject === subject),
      (found) => found.length > 0 && found.every((mail) => mail.state === state),
    )

  it('covers the tour of the README, from an invalid review to the mailbox in the browser', async () => {
    const [keyLine = ''] = /^KEY=.*$/m.exec(readme) ?? []
    const blocks = blocksOf(readme, 'Hear from visitors')
    assert.equal(blocks.length, 3, 'mistakes, none, an e-mail')
    const commands = [keyLine, ...blocks].join('\necho\n').replaceAll('http://127.0.0.1:4000', demo.server.baseUrl)
    const printed = (await demo.run(commands)).split('\n').filter((line) => line !== '')
    const [refused = '', stored = '', list = '', accepted, url = ''] = printed

    const [shown = ''] = blocksOf(readme, 'Hear from visitors', 'json')
    assert.deepEqual(JSON.parse(refused), JSON.parse(shown))
    const { data: review } = JSON.parse(stored)
    assert.equal(review.objectValue.title, 'Good bread')
    assert.deepEqual(JSON.parse(list).data.items, [review])
    assert.equal(accepted, 'true')
    assert.equal(demo.server.output().includes(url), true, 'the banner shows the same address')
    await eventually(
      () => pageAt(url),
      (page) => page.includes('New message from Ada – Demo Bakery') && page.includes('class="state sent"'),
    )
  })

  it('shows a subscriber, a contact e-mail and an order confirmation with its commands', async () => {
    const [setting = '', subscribe = '', contact = '', order = '', look = ''] = blocksOf(
      guide,
      'From a form to the mailbox',
    )
    const first = await demo.run(setting + subscribe)
    assert.equal(JSON.parse(first).data.objectValue.name, 'Ada')
    assert.equal(await demo.run(setting + subscribe), first)
    assert.equal(await demo.run(setting + contact), 'true\n')
    assert.equal(await demo.run(setting + order), 'true\n')
    const [sent] = await awaitMail('Thank you for your order – Demo Bakery')
    assert.equal(sent?.recipient, 'ada@example.com')
    assert.equal(sent?.replyTo, 'hello@demo.example')
    const printed = await demo.run(look)
    assert.match(printed, /contact +hello@demo\.example +New message from Ada – Demo Bakery/)
    const [url = ''] = /^http:.*$/m.exec(printed) ?? []
    assert.match(await pageAt(url), /Thank you for your order/)
    assert.equal(await demo.run(blocksOf(guide, 'The local mailbox').join('')), `${url}\n`)
  })

  it('covers the owner’s tasks: accepting, notifications, allowed recipients, failed e-mails', async () => {
    const { siteId } = demo.facts
    const fill = (commands: string[], words: Record<string, string>) =>
      commands.join('').replace(/<([a-z ]+)>/g, (_, name: string) => words[name] ?? assert.fail(name))

    const [take = '', ...review] = blocksOf(guide, 'Accepting submissions')
    await demo.run(take)
    const { items } = await manage<{ items: { _id: string; name: string }[] }>('collections')
    const collectionId = items.find(({ name }) => name === 'Testimonials')?._id
    const send = (author: string) => {
      const objectValue = { author, body: 'Good bread.' }
      return demo.post('definedCollectionObject', { collectionId, type: 'createReview', objectValue })
    }
    const { data: sent } = (await (await send('Ada')).json()) as { data: { _id: string; archived: boolean } }
    assert.equal(sent.archived, true)
    const reviewed = await demo.run(fill(review, { 'object id': sent._id }))
    assert.match(reviewed, new RegExp(`${sent._id} +pending +archived`))
    assert.match(reviewed, /^_id,review,createdAt,email,name$/m)
    const shown = await fetch(`${demo.server.baseUrl}/tenant/collectionObjects?collectionId=${collectionId}`, {
      headers: { authorization: demo.facts.apiKey },
    })
    const { data: listed } = (await shown.json()) as { data: { totalCount: number } }
    assert.equal(listed.totalCount, 1)

    await demo.run(fill(blocksOf(guide, 'Notifications'), { 'site id': siteId, version: '1' }))
    assert.equal((await send('Grace')).status, 201)
    const [notice] = await awaitMail('New review – Demo Bakery')
    assert.equal(notice?.recipient, 'hello@demo.example')

    await demo.run(fill(blocksOf(guide, 'Allowed recipients'), { 'site id': siteId, version: '2' }))
    const letter = { name: 'Ada', message: 'Hello', siteName: 'Demo Bakery', htmlInfo: {} }
    assert.equal((await demo.post('sendContactEmail', { ...letter, to: 'other@demo.example' })).status, 403)
    assert.equal((await demo.post('sendContactEmail', { ...letter, to: 'hello@demo.example' })).status, 201)

    const [suppress = '', list = '', remove = ''] = blocksOf(guide, 'Suppressed addresses').join('').split('\n')
    await demo.run(suppress)
    assert.match(await demo.run(list), /gone@people\.example +No longer works here/)
    const htmlInfo = { title: 'Lost', subtitle: 'a', whiteBoxText: 'b', signature: 'c' }
    await demo.post('sendOrderPlacedEmail', { to: 'gone@people.example', htmlInfo })
    const [failed] = await awaitMail('Lost – Demo Bakery', 'failed')
    const outbox = await demo.run(fill(blocksOf(guide, 'The outbox'), { 'mail id': failed?._id ?? '' }))
    assert.match(outbox, /this address is suppressed \(No longer works here\)/)
    await demo.run(remove)
    await demo.run(`npx sluice mail retry "Demo Bakery" ${failed?._id}`)
    await awaitMail('Lost – Demo Bakery')
  })

  it('has code for Next.js that type-checks and works', async () => {
    const path = join(demo.folder, 'actions.ts')
    const client = join(root, 'client/src/index.ts')
    const code = blocksOf(guide, 'In Next.js', 'ts').join('\n').replace("'@sluice/client'", `'${client}'`)
    await writeFile(path, code)
    await symlink(join(root, 'node_modules'), join(demo.folder, 'node_modules'))
    const config = { extends: join(root, 'tsconfig.json'), include: ['actions.ts'] }
    await writeFile(join(demo.folder, 'tsconfig.json'), JSON.stringify(config))
    await writeFile(join(demo.folder, 'package.json'), '{"type": "module"}')
    const types = spawn(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', demo.folder])
    let errors = ''
    types.stdout.setEncoding('utf8').on('data', (text) => (errors += text))
    await once(types, 'close')
    assert.equal(errors, '')

    const { facts, server } = demo
    const environment = {
      SLUICE_URL: server.baseUrl,
      SLUICE_KEY: facts.apiKey,
      SLUICE_GROUP: facts.groupId,
      SLUICE_VIEWER_TOKEN: facts.adminToken,
      REVIEWS_ID: facts.collections.Reviews,
      SUBSCRIBERS_ID: facts.collections.Subscribers,
      CONTACT_EMAIL: 'hello@demo.example',
      SITE_NAME: 'Demo Bakery',
    }
    Object.assign(process.env, environment)
    after(() => {
      for (const name of Object.keys(environment)) delete process.env[name]
    })
    const { sendReview, subscribe, contact, confirmOrder } = await import(pathToFileURL(path).href)
    const form = (fields: Record<string, string>) => {
      const data = new FormData()
      for (const [name, text] of Object.entries(fields)) data.set(name, text)
      return data
    }
    const bob = {
      name: 'Bob',
      author: 'Bob',
      email: 'bob@example.com',
      rating: '4',
      body: 'Fine.',
      message: 'Hi there',
    }

    assert.equal(await sendReview('', form(bob)), 'Thank you for your review.')
    assert.equal(await subscribe('', form(bob)), 'You are on the list.')
    const thanks = 'Thank you. We will write to you.'
    assert.equal(await contact('', form({ ...bob, company_website: 'https://spam.example' })), thanks)
    for (const _twice of [1, 2]) assert.equal(await contact('', form({ ...bob, formId: 'one-page' })), thanks)
    const [letter, ...more] = await awaitMail('New message from Bob – Demo Bakery')
    assert.deepEqual([letter?.replyTo, more], ['bob@example.com', []])

    const checkout = await demo.post('createCheckoutSession', {
      products: [{ price: 'price_demo_croissant', quantity: 2 }],
      requiresShipping: false,
      originUrl: 'https://demo.example',
    })
    const { data: url } = (await checkout.json()) as { data: string }
    const sessionId = url.split('/').at(-1) ?? ''
    assert.equal(await confirmOrder(sessionId), false)
    const body = new URLSearchParams({ email: 'bob@example.com' })
    assert.equal((await fetch(`${url}/pay`, { method: 'POST', body, redirect: 'manual' })).status, 303)
    await eventually(() => confirmOrder(sessionId), Boolean)
    assert.equal(await confirmOrder(sessionId), true)
    const confirmed = await eventually(
      () => mails('?kind=order&to=bob@example.com'),
      (found) => found.length > 0 && found.every(({ state }) => state === 'sent'),
    )
    assert.equal(confirmed.length, 1)
    const { text } = await manage<Mail>(`mail/${confirmed[0]?._id}`)
    assert.match(text ?? '', /2 × Butter croissant +7\.20 CAD\n+Total +7\.20 CAD/)
  })
})

describe('the reference of the e-mail guide', () => {
  it('has the actual retry schedule', () => {
    const unit: Record<string, number> = { second: 1, minute: 60, hour: 3600 }
    const rows = [...sectionOf(guide, 'Retries and failures').matchAll(/^\| [2-8] \| (\d+) (second|minute|hour)s /gm)]
    const printed = rows.map(([, count, name = '']) => Number(count) * (unit[name] ?? 0))
    const nothing = () => assert.fail('nothing is delivered here')
    const { retryDelaysSeconds } = deliverHandler({ resolveTransport: nothing, render: nothing })
    assert.deepEqual(printed, retryDelaysSeconds)
  })

  it('has the actual limits', () => {
    for (const { name, default: limits } of [settings.submissionHourlyLimits, settings.mailDailyLimits]) {
      const words = limits
        .split(',')
        .map((limit) => limit.split('='))
        .map(([tier, count]) => `${tier} ${Number(count).toLocaleString('en')}`)
      assert.ok(guide.includes(`\`${name}\`: ${words.join(', ')}`), name)
    }
  })

  it('generates a DKIM key, and prints the record to publish', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-dkim-'))
    t.after(() => rm(folder, { recursive: true }))
    const commands = blocksOf(guide, 'Setting up a mail server').find((block) => block.includes('openssl')) ?? ''
    const printed = execFileSync('sh', ['-eu', '-c', commands], { cwd: folder, encoding: 'utf8', stdio: 'pipe' })
    const published = createPublicKey({ key: Buffer.from(printed, 'base64'), format: 'der', type: 'spki' })
    const own = createPublicKey(await readFile(join(folder, 'dkim.pem'), 'utf8'))
    assert.ok(published.equals(own))
    assert.equal(own.asymmetricKeyDetails?.modulusLength, 2048)
  })
})
