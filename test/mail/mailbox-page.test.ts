import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import PostalMime from 'postal-mime'
import { findPageUrl } from '../../src/mail/mailbox-page.ts'
import { renderFrame } from '../../src/mail/mailbox-view.ts'
import type { RenderedMessage } from '../../src/mail/types.ts'
import { findMessage, type NewMessage } from '../../src/store/mail/messages.ts'
import { createSite } from '../helpers/authoring.ts'
import { openPage, startBrowser } from '../helpers/browser.ts'
import { type Harness, harness, onBothEnginesInProve, type TestEngine, type TestGroup } from '../helpers/harness.ts'
import { putMessage } from '../helpers/outbox.ts'

const hostile = '"><script>alert(1)</script><img src=x onerror=alert(2)>'

async function withMailbox(engine: TestEngine, env: Record<string, string> = {}) {
  const created = await harness(engine, { env })
  const { app, clock } = created
  const group = await created.newGroup({ name: 'Bakery' })
  const put = (more: Partial<NewMessage> = {}, to: TestGroup = group) => putMessage(to.store, clock.now, more)
  const { pathname: root = '' } = URL.parse(findPageUrl(created.config, 4000) ?? '') ?? {}
  const get = (path: string, headers: Record<string, string> = {}, remoteAddress = '127.0.0.1') =>
    app.inject({ url: path, headers: { host: 'localhost:4000', ...headers }, remoteAddress })
  const pathOf = (id: string, { group: { id: groupId } } = group) => `${root}${groupId}/${id}/`
  return { ...created, group, put, root, get, pathOf }
}

/** Everything a caller sees of an answer except its request id and the time. */
function seen({ statusCode, headers, body }: Awaited<ReturnType<Harness['app']['inject']>>): object {
  const { 'x-request-id': _id, date: _date, ratelimit: _limit, ...rest } = headers
  return { statusCode, rest, body }
}

onBothEnginesInProve('the page of the local mailbox', (engine) => {
  it('lists the latest e-mails of all groups, including waiting and failed ones', async () => {
    const { service, group, newGroup, put, root, get, pathOf } = await withMailbox(engine)
    assert.match((await get(root)).body, /Nothing yet/)
    const other = await newGroup({ name: 'Café', database: 'second' })
    const first = await put()
    const second = await put({ subject: 'Your order – Café', kind: 'order' }, other)
    await service.worker.runDue()
    const third = await put({ subject: 'Later' })
    const { body, headers, statusCode } = await get(root)
    assert.equal(statusCode, 200)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    const links = [...body.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, link]) => `${root}${link}`)
    assert.deepEqual(links, [pathOf(third), pathOf(second, other), pathOf(first, group)])
    assert.match(body, /waiting<\/span><span class="subject">Later/)
    assert.match(body, /sent<\/span><span class="subject">Your order – Café/)
    assert.match(body, /Café to owner@shop\.example/)
    assert.match(body, /<script>/)
  })

  it('shows one e-mail: its headers, its text, why it was not delivered, and the sent file', async () => {
    const { service, group, put, get, pathOf } = await withMailbox(engine)
    const id = await put()
    assert.match((await get(pathOf(id))).body, /waiting[\s\S]+<script>/)
    assert.equal((await get(`${pathOf(id)}message.eml`)).statusCode, 404)
    await service.worker.runDue()
    const { body } = await get(pathOf(id))
    for (const part of [
      '<h1>New message from Ann</h1>',
      'Bakery &lt;mail@localhost&gt;',
      'owner@shop.example',
      'ann@people.example',
      `&lt;${id}@mail.example&gt;`,
      'Is there rye bread today?',
      'href="message.eml"',
    ])
      assert.ok(body.includes(part), part)
    assert.doesNotMatch(body, /<script>/)
    const file = await get(`${pathOf(id)}message.eml`)
    assert.equal(file.headers['content-type'], 'message/rfc822')
    assert.equal(file.headers['content-disposition'], `attachment; filename="${id}.eml"`)
    assert.deepEqual(file.rawPayload, await service.mail.mailbox?.read(group.group.id, id))
    assert.equal((await PostalMime.parse(file.rawPayload)).subject, 'New message from Ann')
    await group.store.database.write((db) =>
      db.updateTable('messages').set({ state: 'failed', problem: '550 <b>no' }).where('id', '=', id).execute(),
    )
    assert.match((await get(pathOf(id))).body, /failed<[\s\S]+550 &lt;b&gt;no/)
  })

  it('exists with the right key only, for requests from this machine, by a loopback name, not through a proxy', async () => {
    const { put, root, get, pathOf, app } = await withMailbox(engine, { TRUST_PROXY: '127.0.0.0/8' })
    const id = await put()
    for (const path of [root, pathOf(id), `${pathOf(id)}html`, `${pathOf(id)}message.eml`]) {
      const unknown = seen(await get('/nothing/of/this/kind'))
      const wrongKey = path.replace(root, `${root.slice(0, -2)}${root.at(-2) === 'a' ? 'b' : 'a'}/`)
      for (const [what, answer] of Object.entries({
        'another key': await get(wrongKey),
        'a shorter key': await get(path.replace(root, '/mailbox/x/')),
        'a key that is no text': await get(path.replace(root, '/mailbox/%00/')),
        'another machine': await get(path, {}, '203.0.113.7'),
        'a neighbour': await get(path, {}, '192.168.1.5'),
        'a site whose name leads here': await get(path, { host: 'evil.example' }),
        'a name that begins alike': await get(path, { host: '127.0.0.1.evil.example' }),
        'a name that ends alike': await get(path, { host: 'evil.localhost' }),
        'a proxy': await get(path, { 'x-forwarded-for': '127.0.0.1' }),
        'a proxy by another header': await get(path, { 'x-forwarded-proto': 'http' }),
        'a proxy by the standard': await get(path, { forwarded: 'for=127.0.0.1' }),
        nginx: await get(path, { 'x-real-ip': '127.0.0.1' }),
        'a proxy with a Via header': await get(path, { via: '1.1 proxy' }),
      })) {
        assert.deepEqual(seen(answer), unknown, `${path}: ${what}`)
      }
    }
    for (const [host, peer] of [
      ['localhost', '127.0.0.1'],
      ['127.0.0.1:4000', '127.0.0.1'],
      ['127.0.0.2', '127.0.0.9'],
      ['[::1]:4000', '::1'],
      ['LOCALHOST:80', '::ffff:127.0.0.1'],
    ] as const)
      assert.equal((await get(root, { host }, peer)).statusCode, 200, `${host} ${peer}`)
    for (const method of ['POST', 'HEAD', 'DELETE'] as const)
      assert.equal((await app.inject({ method, url: root })).statusCode, 404, method)
  })

  it('shows no e-mail under another group, and no missing one', async () => {
    const { newGroup, put, get, pathOf, root } = await withMailbox(engine)
    const other = await newGroup()
    const id = await put()
    for (const path of [
      pathOf(id, other),
      pathOf('66f0c0ffee0123456789abcd'),
      `${root}unknown/${id}/`,
      `${root}%00/%00/`,
    ]) {
      for (const part of ['', 'html', 'message.eml'])
        assert.equal((await get(path + part)).statusCode, 404, path + part)
    }
  })

  it('is not stored by caches, runs its own script only, loads nothing from elsewhere, and escapes foreign markup', async () => {
    const { service, put, root, get, pathOf, log } = await withMailbox(engine)
    const id = await put({
      subject: hostile,
      replyTo: 'ann@people.example',
      content: { siteName: hostile, title: hostile, visitor: { name: hostile, message: `${hostile} {{x}} \${y}` } },
    })
    await service.worker.runDue()
    for (const path of [root, pathOf(id), `${pathOf(id)}html`]) {
      const { body, headers } = await get(path)
      const own = /<script>setInterval\(async [^<]*<\/script>(?=<\/body><\/html>$)/
      assert.doesNotMatch(body.replace(own, ''), /<script|<img src=x/)
      assert.equal(headers['cache-control'], 'no-store')
      assert.equal(headers['referrer-policy'], 'no-referrer')
      const policy = String(headers['content-security-policy'])
      assert.match(policy, /^default-src 'none';/)
      const ofPage = path.endsWith('html')
        ? policy
        : policy.replace(/script-src 'sha256-[^']+'; connect-src 'self';/, '')
      assert.doesNotMatch(ofPage, /script-src|connect-src|https?:|\*/)
    }
    assert.match(String((await get(`${pathOf(id)}html`)).headers['content-security-policy']), /; sandbox allow-popups/)
    assert.ok(!log().includes(root.slice(9, -1)), 'the key is in no log')
  })

  it('is rate-limited by address, like everything without a key', async () => {
    const { root, get } = await withMailbox(engine, {
      RATE_LIMITS: 'anonymous=1/3,free=50/100,basic=100/200,pro=500/1000,proplus=2000/4000',
    })
    const statuses = []
    for (let n = 0; n < 4; n += 1) statuses.push((await get(root)).statusCode)
    assert.deepEqual(statuses, [200, 200, 200, 429])
  })

  it('does not exist when a mail server is set', async () => {
    const { config, get } = await withMailbox(engine, { SMTP_URL: 'smtp://127.0.0.1:1' })
    assert.equal(findPageUrl(config, 4000), undefined)
    assert.equal((await get('/mailbox/key/')).statusCode, 404)
  })

  it('is in no API document', async () => {
    const { app } = await withMailbox(engine)
    for (const url of ['/openapi.json', '/manage/openapi.json'])
      assert.ok(!(await app.inject(url)).body.includes('mailbox/'), url)
  })
})

describe('the frame of an e-mail', () => {
  it('contains the logo, and opens links in another window', () => {
    const html =
      '<html><head lang="en"><title>x</title></head><body><img src="cid:logo"><a href="https://a.example">a</a>'
    const logo = { content: Buffer.from('picture'), contentType: 'image/png', width: 1, height: 1 }
    const frame = (rest: Pick<RenderedMessage, 'logo'>) =>
      renderFrame({ from: { name: '', address: '' }, html, text: '', raw: Buffer.alloc(0), ...rest })
    assert.match(frame({ logo }), /<img src="data:image\/png;base64,cGljdHVyZQ==">/)
    assert.match(frame({ logo }), /<head lang="en"><base target="_blank"><title>/)
    assert.doesNotMatch(frame({ logo: undefined }), /cid:/)
  })
})

describe('the URL of the page', () => {
  it('leads to this machine, for any public URL', () => {
    const settings = { mailServer: undefined, dataDir: '', masterKey: Buffer.alloc(32) }
    const urlOf = (host: string) => findPageUrl({ ...settings, host }, 4000)?.replace(/[\w-]{22}/, 'k')
    assert.equal(urlOf('127.0.0.1'), 'http://127.0.0.1:4000/mailbox/k/')
    assert.equal(urlOf('localhost'), 'http://localhost:4000/mailbox/k/')
    assert.equal(urlOf('0.0.0.0'), 'http://127.0.0.1:4000/mailbox/k/')
    assert.equal(urlOf('::'), 'http://[::1]:4000/mailbox/k/')
    assert.equal(urlOf('::1'), 'http://[::1]:4000/mailbox/k/')
  })
})

describe('the page of the local mailbox in a browser', () => {
  it('shows the e-mail in its frame, at phone and desktop width, light and dark', async () => {
    const created = await withMailbox('sqlite', { PUBLIC_URL: 'https://content.example.com' })
    const { service, put, group, clock } = created
    const settings = { colors: { primary: '#a3431f' } }
    await createSite(group.store, { name: 'Bakery', domainName: 'bakery.example', settings }, clock.now)
    const id = await put()
    await put({ subject: 'Your order – Bakery', kind: 'order', recipient: 'a.rather.long.address@people.example' })
    await service.worker.runDue()
    await put({
      subject: 'A message that waits, and whose subject is so long that it cannot stand on one line of a phone',
    })
    const { mailboxUrl: url = '' } = await service.listen()
    assert.match(url, /^http:\/\/127\.0\.0\.1:[1-9]\d*\/mailbox\//)
    const browser = await startBrowser()
    after(() => browser.close())
    for (const width of [375, 1280])
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page, problems } = await openPage(browser, { viewport: { width, height: 900 }, colorScheme })
        await page.goto(url)
        assert.equal(await page.getByRole('listitem').count(), 3)
        const overflow = () => page.evaluate('document.documentElement.scrollWidth - innerWidth')
        assert.ok(Number(await overflow()) <= 0, `${width} ${colorScheme}`)
        await picture(page, `list-${width}-${colorScheme}`)
        await page.getByRole('link', { name: 'New message from Ann' }).click()
        await page.getByRole('heading', { name: 'New message from Ann' }).waitFor()
        const frame = page.frameLocator('iframe')
        await frame.getByText('Is there rye bread today?').last().waitFor() // the first is what lists show
        assert.ok(Number(await overflow()) <= 0, `${width} ${colorScheme}`)
        await picture(page, `letter-${width}-${colorScheme}`)
        assert.deepEqual(problems, [])
        await page.close()
      }
    assert.equal((await findMessage(group.store, id))?.state, 'sent')
  })
})

/** Saves a screenshot for visual inspection. */
async function picture(page: Awaited<ReturnType<typeof openPage>>['page'], name: string): Promise<void> {
  const folder = process.env.MAILBOX_PICTURES
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` })
}
