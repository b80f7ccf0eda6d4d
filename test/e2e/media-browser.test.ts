import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import sharp from 'sharp'
import { imageAttributes, type MediaValue, pictureHtml } from '../../client/src/index.ts'
import { openPage, startBrowser } from '../helpers/browser.ts'
import { type ManagedByCurl, manageByCurl } from '../helpers/by-curl.ts'
import { phonePhoto } from '../helpers/pictures.ts'

const derivedWithinMs = 120_000
const green = [0, 160, 0]
const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100">
  <style>rect { fill: rgb(${green}) }</style>
  <script>alert(document.domain)</script>
  <rect width="200" height="100"/>
</svg>`

let folder: string
let bakery: ManagedByCurl
let browser: Browser
let website: Server
let websiteUrl: string
let photo: MediaValue
let logo: MediaValue

/** An origin other than the service's, like a website. */
async function startWebsite(pages: Record<string, string>): Promise<void> {
  website = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://website')
    const head =
      '<!doctype html><link rel="icon" href="data:,"><style>* { margin: 0 } img { max-width: 100%; height: auto }</style>'
    response.setHeader('Content-Type', 'text/html; charset=utf-8').end(head + pages[pathname])
  }).listen(0, '127.0.0.1')
  await once(website, 'listening')
  websiteUrl = `http://127.0.0.1:${(website.address() as AddressInfo).port}`
}

/** The first file of the delivered item, once its derivatives exist. */
async function deliveredItem(collectionId: string): Promise<{ photo: MediaValue; logo: MediaValue }> {
  const deadline = Date.now() + derivedWithinMs
  for (;;) {
    const { items } = await bakery.deliver(`/tenant/collectionObjects?collectionId=${collectionId}`)
    const { objectValue } = items[0]
    if (objectValue.photo.currentFile.srcset) return objectValue
    assert.ok(Date.now() < deadline, `No smaller pictures were made:\n${bakery.server.output()}`)
    await sleep(200)
  }
}

/** The files of a srcset by their width. */
const candidates = (srcset = ''): Map<number, string> =>
  new Map(srcset.split(', ').map((one) => [Number(/ (\d+)w$/.exec(one)?.[1]), one.replace(/ \d+w$/, '')]))

interface ShownImage {
  currentSrc: string
  complete: boolean
  naturalWidth: number
  naturalHeight: number
}

/** The loaded picture of a page. */
async function shownImage(page: Page): Promise<ShownImage> {
  const image = page.locator('img')
  await image.evaluate((element) => (element as unknown as { decode(): Promise<void> }).decode())
  return image.evaluate((element) => {
    const { currentSrc, complete, naturalWidth, naturalHeight } = element as unknown as ShownImage
    return { currentSrc, complete, naturalWidth, naturalHeight }
  })
}

/** The rendered color in the middle of the page's picture. */
async function middleOf(page: Page): Promise<number[]> {
  const screenshot = sharp(await page.locator('img').screenshot())
  const { width, height } = await screenshot.metadata()
  const spot = { left: Math.floor(width / 2), top: Math.floor(height / 2), width: 1, height: 1 }
  return [...(await screenshot.extract(spot).removeAlpha().raw().toBuffer())]
}

/** The box of the page's picture, in whole pixels. */
async function boxOf(page: Page): Promise<number[]> {
  const box = await page.locator('img').boundingBox()
  assert.ok(box)
  return [box.x, box.y, box.width, box.height].map(Math.round)
}

const isNear = (one: number[], other: number[]): boolean =>
  one.every((part, index) => Math.abs(part - (other[index] ?? 0)) <= 24)

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-browser-'))
  browser = await startBrowser()
  bakery = await manageByCurl()
  await writeFile(join(folder, 'IMG_0001.jpg'), await phonePhoto())
  await writeFile(join(folder, 'logo.svg'), drawing)
  const [uploadedPhoto, uploadedLogo] = [
    await bakery.upload(join(folder, 'IMG_0001.jpg')),
    await bakery.upload(join(folder, 'logo.svg')),
  ]
  const { _id: collectionId } = await bakery.manage('POST', '/collections', {
    name: 'Cakes',
    schema: { photo: { type: 'image' }, logo: { type: 'image' } },
  })
  const asValue = ({ name, key, type }: MediaValue) => ({ name, key, type })
  await bakery.manage('POST', `/collections/${collectionId}/objects`, {
    objectValue: { photo: asValue(uploadedPhoto), logo: asValue(uploadedLogo) },
  })
  const item = await deliveredItem(collectionId)
  photo = item.photo
  logo = item.logo
  const plainImage = Object.entries(imageAttributes(photo, { alt: 'A cake' }))
    .map(([name, value]) => `${name}='${value}'`)
    .join(' ')
  await startWebsite({
    '/picture': pictureHtml(photo, { alt: 'A cake' }),
    '/image': `<img ${plainImage}>`,
    '/logo': pictureHtml(logo),
  })
})

after(async () => {
  await browser.close()
  website.close()
  await bakery.close()
  await rm(folder, { recursive: true, force: true })
})

describe('a photo of 12 megapixels uploaded with curl, in a browser', () => {
  const screens = [
    { screen: 'a small telephone', width: 320, deviceScaleFactor: 1, takes: 320 },
    { screen: 'a telephone with a fine display', width: 320, deviceScaleFactor: 2, takes: 640 },
    { screen: 'a desktop', width: 1280, deviceScaleFactor: 1, takes: 1280 },
  ]
  for (const { screen, width, deviceScaleFactor, takes } of screens) {
    it(`is loaded with ${takes} pixels on ${screen}: as AVIF from <picture>, as WebP from <img>`, async () => {
      const { avifSrcset, srcset } = photo.currentFile
      const { page, problems } = await openPage(browser, { viewport: { width, height: 800 }, deviceScaleFactor })
      for (const [path, files] of [
        ['/picture', avifSrcset],
        ['/image', srcset],
      ] as const) {
        await page.goto(websiteUrl + path)
        const image = await shownImage(page)
        assert.equal(image.currentSrc, candidates(files).get(takes))
        assert.ok(image.complete && image.naturalHeight > image.naturalWidth, 'it is upright')
        assert.deepEqual(problems, [])
      }
      await page.context().close()
    })
  }

  it('is loaded as WebP when AVIF is not supported', async () => {
    const { page, problems } = await openPage(browser, { viewport: { width: 320, height: 800 } })
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setDisabledImageTypes', { imageTypes: ['avif'] })
    await page.goto(`${websiteUrl}/picture`)
    assert.equal((await shownImage(page)).currentSrc, candidates(photo.currentFile.srcset).get(320))
    assert.deepEqual(problems, [])
  })

  it('opens in every size that the API lists, each as wide as stated', async () => {
    const { page, problems } = await openPage(browser)
    const { source, srcset, avifSrcset } = photo.currentFile
    const files = [[3000, source] as const, ...candidates(srcset), ...candidates(avifSrcset)]
    assert.deepEqual(
      files.map(([width]) => width),
      [3000, 320, 640, 1280, 320, 640, 1280],
    )
    for (const [width, url] of files) {
      await page.setContent(`<img src="${url.replaceAll('&', '&amp;')}">`)
      const image = await shownImage(page)
      assert.deepEqual([image.naturalWidth, image.naturalHeight], [width, Math.round((width * 4) / 3)], url)
    }
    assert.deepEqual(problems, [])
  })

  it('has its space and a blurred placeholder before it loads, and causes no layout shift', async () => {
    const { page, problems } = await openPage(browser, { viewport: { width: 640, height: 900 } })
    const release = Promise.withResolvers<void>()
    await page.route('**/media/**', (route) => release.promise.then(() => route.continue()))
    await page.goto(`${websiteUrl}/picture`, { waitUntil: 'commit' })
    const boxBefore = await boxOf(page)
    const middleBefore = await middleOf(page)
    release.resolve()
    await shownImage(page)
    const middleAfter = await middleOf(page)
    assert.ok(isNear(middleBefore, middleAfter), `${middleBefore} is not near ${middleAfter}`)
    assert.deepEqual(boxBefore, [0, 0, 640, 853])
    assert.deepEqual(await boxOf(page), boxBefore)
    assert.deepEqual(problems, [])
  })
})

describe('an SVG with a script, in a browser', () => {
  it('is shown by <img>, and its script does not run', async () => {
    const { page, problems } = await openPage(browser)
    await page.goto(`${websiteUrl}/logo`)
    assert.equal((await shownImage(page)).currentSrc, logo.currentFile.source)
    assert.deepEqual(await middleOf(page), green)
    assert.deepEqual(problems, [])
  })

  it('is a download when its URL is opened, and its script does not run', async () => {
    const { page, problems } = await openPage(browser)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.goto(logo.currentFile.source).catch((error: Error) => assert.match(error.message, /Download is starting/)),
    ])
    assert.equal(await readFile(await download.path(), 'utf8'), drawing)
    assert.equal(page.url(), 'about:blank')
    assert.deepEqual(
      problems.filter((problem) => !problem.endsWith('net::ERR_ABORTED')),
      [],
    )
  })
})
