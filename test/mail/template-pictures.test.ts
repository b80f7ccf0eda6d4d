import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import sharp from 'sharp'
import type { MessageContent } from '../../src/content/mail.ts'
import { demoSite, readPicture } from '../../src/demo/content.ts'
import { renderMessage } from '../../src/mail/render.ts'
import { sanitiseBox, sanitiseCustom } from '../../src/mail/sanitise.ts'
import type { SiteLook } from '../../src/mail/site-look.ts'
import { openPage, startBrowser } from '../helpers/browser.ts'
import { hostileMarkup } from '../helpers/hostile-markup.ts'

/** Set this to redraw the pictures of the documentation. */
const drawsPictures = process.env.DRAW_MAIL_PICTURES === '1'
const docs = join(import.meta.dirname, '../../docs')

const logo = { content: readPicture('logo'), contentType: 'image/png', width: 64, height: 64 }
const { colors: demoColors } = demoSite({}, (name) => ({ name, key: name, type: 'image' })).settings as {
  colors: Record<'primary' | 'surface' | 'text-primary', string>
}
const bakery: SiteLook = {
  name: 'Demo Bakery',
  domainName: 'demo.example',
  colors: {
    primary: demoColors.primary,
    surface: demoColors.surface,
    'text-primary': demoColors['text-primary'],
  },
  logo,
}

const contact: MessageContent = {
  siteName: 'Demo Bakery',
  title: 'A new message from your website',
  subtitle: 'Ann Lee has filled in the contact form.',
  signature: 'Your website',
  visitor: {
    name: 'Ann Lee',
    email: 'ann.lee@example.com',
    message: `Hello,

could you bake a cake for twelve people for Saturday, the 14th? It is for my mother, who turns seventy & loves plums.

We would collect it at nine in the morning. Please tell me what it costs.

Many thanks,
Ann`,
  },
}

const order: MessageContent = {
  siteName: 'Demo Bakery',
  title: 'Thank you for your order',
  subtitle: 'We have it, and the oven is already warm.',
  whiteBoxHtml: sanitiseBox(`<p>Hello Ann,</p>
<p>We begin to bake at four in the morning; you can collect it <b>from seven o’clock</b> on.</p>
<table>
<thead><tr><th>Order 1042</th><th>Quantity</th><th>Price</th></tr></thead>
<tbody>
<tr><td>Country sourdough, large</td><td>2</td><td>CA$ 17.00</td></tr>
<tr><td>Butter croissant</td><td>6</td><td>CA$ 22.50</td></tr>
<tr><td>House espresso, 250 g, ground for a moka pot</td><td>1</td><td>CA$ 14.00</td></tr>
<tr><td colspan="2">Shipping</td><td>CA$ 6.00</td></tr>
<tr><td colspan="2"><b>Total</b></td><td><b>CA$ 59.50</b></td></tr>
</tbody>
</table>
<p>Something not right? <a href="mailto:hello@demo.example">Write to us</a>.</p>`),
  signature: 'Warm regards,\nMara and everyone at Demo Bakery',
}

const notice: MessageContent = {
  siteName: 'Demo Bakery',
  submissions: [
    {
      collection: 'Reviews',
      createdMs: Date.UTC(2026, 2, 1, 12),
      waits: true,
      fields: [
        { name: 'title', text: 'Best rye in town' },
        { name: 'body', text: `A word that does not end: ${'rye'.repeat(200)}` },
      ],
    },
  ],
  furtherSubmissions: 2,
}

const mails = { contact, order, notice }
const sizes = { phone: { width: 375, height: 800 }, desktop: { width: 1280, height: 900 } }
const schemes = ['light', 'dark'] as const

let browser: Browser
before(async () => {
  browser = await startBrowser()
})
after(() => browser.close())

/** Opens the e-mail as a mail client would show it. */
async function show(page: Page, kind: keyof typeof mails): Promise<void> {
  const { html } = renderMessage({ subject: 'A subject', content: mails[kind] }, bakery)
  await page.setContent(html.replaceAll('cid:logo', `data:image/png;base64,${logo.content.toString('base64')}`))
}

interface SeenText {
  text: string
  contrast: number
}

/** Each visible text with its contrast to the background. Runs in the browser. */
const readContrasts = `(() => {
  const parts = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number)
  const luminance = (color) => {
    const [red, green, blue] = parts(color).map((part) => {
      const share = part / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const groundOf = (element) => {
    if (!element) return 'rgb(255, 255, 255)'
    const { backgroundColor } = getComputedStyle(element)
    return parts(backgroundColor)[3] === 0 ? groundOf(element.parentElement) : backgroundColor
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const found = []
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement
    const text = walker.currentNode.textContent.trim()
    if (text === '' || !element.checkVisibility({ opacityProperty: true })) continue
    const lights = [luminance(getComputedStyle(element).color), luminance(groundOf(element))]
    found.push({ text, contrast: (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05) })
  }
  return found
})()`

/** Measures whether the layout of an e-mail is intact. Runs in the browser. */
const readForm = `({
  hits: globalThis.hits,
  footerIsInside: [...document.querySelectorAll('.box')].some((box) => box.textContent.includes('demo.example')),
  footers: [...document.querySelectorAll('.muted')].filter((each) => each.textContent.includes('demo.example')).length,
})`

describe('rendered e-mails', () => {
  /** One for all, as each new page starts a process of the browser. */
  let opened: Awaited<ReturnType<typeof openPage>>
  before(async () => {
    opened = await openPage(browser)
  })
  after(() => opened.page.close())

  for (const kind of ['contact', 'order', 'notice'] as const)
    for (const [device, viewport] of Object.entries(sizes))
      for (const colorScheme of schemes)
        it(`${kind}, ${device}, ${colorScheme}: fits the screen, is readable, shows the logo`, async () => {
          const { page, problems } = opened
          await page.setViewportSize(viewport)
          await page.emulateMedia({ colorScheme })
          await show(page, kind)
          assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth'), viewport.width)
          const contrasts = await page.evaluate<SeenText[]>(readContrasts)
          assert.ok(contrasts.length >= 6)
          assert.deepEqual(
            contrasts.filter(({ contrast }) => contrast < 4.5),
            [],
          )
          assert.ok(await page.evaluate<boolean>("document.querySelector('img.logo').naturalWidth > 0"))
          const ground = await page.evaluate<string>("getComputedStyle(document.querySelector('.box')).backgroundColor")
          assert.equal(ground === 'rgb(255, 255, 255)', colorScheme === 'light')
          assert.deepEqual(problems.splice(0), [])
        })

  it('execute nothing, load nothing and keep their layout with any content', async () => {
    const { page, problems } = await openPage(browser)
    const asked: string[] = []
    await page.route('**/*', (route) => {
      asked.push(route.request().url())
      return route.abort()
    })
    await page.addInitScript('globalThis.hits = 0; globalThis.hit = () => { globalThis.hits += 1 }')
    await page.goto('about:blank')
    for (const markup of hostileMarkup) {
      const content = { ...order, whiteBoxHtml: sanitiseBox(`<p>a</p>${markup}<td>b</td></table></div>`) }
      const mail = renderMessage({ subject: 'x', content }, { ...bakery, logo: undefined })
      const custom = renderMessage(
        { subject: 'x', content: { siteName: 'x', customHtml: sanitiseCustom(markup) } },
        bakery,
      )
      await page.setContent(custom.html, { waitUntil: 'load' })
      await page.setContent(mail.html, { waitUntil: 'load' })
      const seen = await page.evaluate(readForm)
      assert.deepEqual(seen, { hits: 0, footerIsInside: false, footers: 1 }, markup)
    }
    assert.deepEqual([asked, problems], [[], []])
    await page.close()
  })

  if (drawsPictures)
    it('are drawn for the documentation', async () => {
      for (const kind of ['contact', 'order'] as const) {
        const sheet = await drawSheet([await shoot(kind, 760, 'light'), await shoot(kind, 375, 'dark')])
        assert.ok(sheet.length < 300 * 1024)
        await writeFile(join(docs, `mail-${kind}.png`), sheet)
      }
    })
})

async function shoot(kind: keyof typeof mails, width: number, colorScheme: 'light' | 'dark'): Promise<Buffer> {
  const { page } = await openPage(browser, { viewport: { width, height: 400 }, colorScheme, deviceScaleFactor: 1.5 })
  await show(page, kind)
  const shot = await page.screenshot({ fullPage: true })
  await page.close()
  return shot
}

/** Side by side, with rounded corners, on a transparent background. */
async function drawSheet(shots: Buffer[]): Promise<Buffer> {
  const gap = 36
  const rounded = await Promise.all(
    shots.map(async (shot) => {
      const { width, height } = await sharp(shot).metadata()
      const corners = Buffer.from(
        `<svg width="${width}" height="${height}"><rect width="100%" height="100%" rx="24"/></svg>`,
      )
      const input = await sharp(shot)
        .ensureAlpha()
        .composite([{ input: corners, blend: 'dest-in' }])
        .png()
        .toBuffer()
      return { input, width, height }
    }),
  )
  const height = Math.max(...rounded.map((each) => each.height))
  const width = rounded.reduce((sum, each) => sum + each.width + gap, -gap)
  let left = 0
  const positioned = rounded.map((each) => {
    const at = left
    left += each.width + gap
    return { input: each.input, left: at, top: 0 }
  })
  return sharp({ create: { width, height, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } })
    .composite(positioned)
    .png({ palette: true, quality: 90 })
    .toBuffer()
}
