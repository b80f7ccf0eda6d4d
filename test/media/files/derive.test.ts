import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import sharp from 'sharp'
import { canDerive, type Derived, deriveImage, PictureProblem } from '../../../src/media/files/derive.ts'
import {
  animatedPng,
  animation,
  gpsExif,
  page,
  phonePhoto,
  photo,
  plainPng,
  pngChunk,
  scriptedSvg,
  smallFormats,
  smallPicture,
  temporaryFile,
  temporaryFolder,
  textPolyglot,
  withPngChunks,
} from '../../helpers/pictures.ts'

const sources = join(import.meta.dirname, '../../../src/media/files')
/** The time limit allows for a busy machine. */
const limits = { maxPixels: 100_000_000, maxSeconds: 600 }

async function derive(t: TestContext, bytes: Buffer | string, options: object = {}): Promise<Derived> {
  const folder = await temporaryFolder(t)
  try {
    return await deriveImage(await temporaryFile(t, bytes), folder, { ...limits, ...options })
  } catch (error) {
    assert.deepEqual(await readdir(folder), [], 'a failure leaves no files')
    assert.deepEqual(await processesWith(folder), [], 'and no process')
    throw error
  }
}

/** The processes started for this folder, if the system has /proc. */
async function processesWith(folder: string): Promise<string[]> {
  const found: string[] = []
  for (const id of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(id)) continue
    const line = await readFile(join('/proc', id, 'cmdline'), 'utf8').catch(() => '')
    if (line.includes(folder)) found.push(id)
  }
  return found
}

async function until<Item>(look: () => Promise<Item[]>): Promise<Item[]> {
  for (;;) {
    const found = await look()
    if (found.length > 0) return found
    await sleep(5)
  }
}

let photograph: Promise<Buffer> | undefined
/** Made once, as its 12 megapixels take long. Scaling them takes long enough to be interrupted. */
const largePhoto = (): Promise<Buffer> => (photograph ??= phonePhoto())

const problem = (message: RegExp) => (error: unknown) => error instanceof PictureProblem && message.test(error.message)
const sizes = ({ derivatives }: Derived): string[] => derivatives.map(({ width, format }) => `${width} ${format}`)

describe('deriveImage', () => {
  it('makes three widths of a photograph in WebP and AVIF, upright and without its location', async (t) => {
    const derived = await derive(t, await phonePhoto(2000, 1500))
    assert.deepEqual([derived.width, derived.height], [1500, 2000])
    assert.deepEqual(sizes(derived), ['320 webp', '640 webp', '1280 webp', '320 avif', '640 avif', '1280 avif'])
    for (const { width, format, path, bytes } of derived.derivatives) {
      const file = await readFile(path)
      const found = await sharp(file).metadata()
      assert.equal(file.length, bytes)
      assert.deepEqual([found.width, found.height], [width, Math.round((width * 4) / 3)])
      assert.equal(found.format, format === 'avif' ? 'heif' : 'webp')
      assert.deepEqual([found.exif, found.xmp, found.iptc, found.icc], [undefined, undefined, undefined, undefined])
      assert.equal(found.space, 'srgb')
    }
  })

  it('applies the Exif orientation', async (t) => {
    const left = { width: 100, height: 100, channels: 3, background: '#ff0000' } as const
    const half = await sharp({ create: { ...left, width: 200 } })
      .composite([{ input: { create: { ...left, background: '#0000ff' } }, left: 100, top: 0 }])
      .png()
      .toBuffer()
    const sideways = await sharp(half).withMetadata({ orientation: 6 }).png().toBuffer()
    const { derivatives } = await derive(t, sideways)
    const { data, info } = await sharp(derivatives[0]?.path).raw().toBuffer({ resolveWithObject: true })
    assert.deepEqual([info.width, info.height], [100, 200])
    const [red = 0, , blue = 0] = data.subarray(info.channels * 50, info.channels * 51)
    assert.ok(red > 200 && blue < 60, 'the left side is on top')
  })

  it('makes nothing wider than the original', async (t) => {
    for (const [width, expected] of [
      [1, [1]],
      [200, [200]],
      [320, [320]],
      [1000, [320, 640, 1000]],
      [1280, [320, 640, 1280]],
    ] as const) {
      const derived = await derive(t, await photo(width, 40).png().toBuffer())
      assert.deepEqual([...new Set(derived.derivatives.map((each) => each.width))], expected)
    }
  })

  it('reads every format, and returns the color and a short blurred placeholder', async (t) => {
    for (const format of smallFormats) {
      const derived = await derive(t, await smallPicture(format))
      assert.deepEqual(sizes(derived), ['40 webp', '40 avif'], format)
      assert.match(derived.color, /^#[0-9a-f]{6}$/)
      assert.match(derived.placeholder ?? '', /^data:image\/webp;base64,/)
    }
    const noise = Buffer.from(
      Array.from({ length: 64 * 64 * 3 }, (_, index) => Math.imul(index + 1, 2_654_435_761) >>> 24),
    )
    const restless = sharp(noise, { raw: { width: 64, height: 64, channels: 3 } })
    const { placeholder } = await derive(t, await restless.png().toBuffer())
    assert.ok(placeholder && placeholder.length <= 400, String(placeholder))
    const shown = await sharp(Buffer.from(placeholder.split(',')[1] ?? '', 'base64')).metadata()
    assert.deepEqual([shown.width, shown.height], [16, 16])
  })

  it('returns no placeholder for a transparent picture, behind which it would remain visible', async (t) => {
    const background = { r: 200, g: 20, b: 20, alpha: 0.5 }
    const glass = sharp({ create: { width: 64, height: 64, channels: 4, background } })
    assert.equal((await derive(t, await glass.png().toBuffer())).placeholder, null)
  })

  it('finds the predominant color', async (t) => {
    const create = { width: 90, height: 60, channels: 3, background: '#c81e1e' } as const
    const sign = await sharp({ create })
      .composite([{ input: { create: { ...create, width: 30, background: '#ffffff' } }, left: 0, top: 0 }])
      .png()
      .toBuffer()
    assert.equal((await derive(t, sign)).color, '#c81e1e')
  })

  it('keeps transparency, and converts other colors to sRGB', async (t) => {
    const create = { width: 50, height: 50, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } as const
    const clear = await derive(t, await sharp({ create }).png().toBuffer())
    assert.equal((await sharp(clear.derivatives[0]?.path).metadata()).hasAlpha, true)
    assert.equal(clear.color, '#ffffff')
    const print = await photo(60, 40).toColourspace('cmyk').jpeg().toBuffer()
    const wide = await photo(60, 40).withIccProfile('p3').jpeg().toBuffer()
    const deep = await photo(60, 40).toColourspace('rgb16').png().toBuffer()
    const gray = await photo(60, 40).grayscale().png().toBuffer()
    for (const picture of [print, wide, deep, gray]) {
      const { derivatives } = await derive(t, picture)
      assert.equal((await sharp(derivatives[0]?.path).metadata()).space, 'srgb')
    }
  })

  it('leaves an animation unchanged', async (t) => {
    for (const moving of [await animation('gif'), await animation('webp'), await animatedPng()]) {
      const derived = await derive(t, moving)
      assert.deepEqual([derived.width, derived.height, derived.derivatives], [40, 30, []])
      assert.match(derived.placeholder ?? '', /^data:image\/webp/)
    }
  })

  it('makes only sizes of a very tall picture that the format supports', async (t) => {
    const derived = await derive(t, plainPng(650, 17_000))
    assert.deepEqual([derived.width, derived.height], [650, 17_000])
    assert.deepEqual(sizes(derived), ['320 webp', '320 avif'])
    assert.deepEqual(sizes(await derive(t, plainPng(10, 40_000))), [])
  })

  it('never passes anything but a picture to a decoder', async (t) => {
    const tiff = await photo(40, 30).tiff().toBuffer()
    for (const file of [scriptedSvg, page, tiff, '%PDF-1.4', '']) {
      await assert.rejects(derive(t, file), problem(/^The file is not a picture that can be scaled\.$/))
    }
  })

  it('reports what is wrong with a picture that is truncated, damaged or too large', async (t) => {
    for (const format of smallFormats) {
      const whole = await photo(120, 90).toFormat(format).toBuffer()
      const cut = whole.subarray(0, Math.floor(whole.length / 2))
      await assert.rejects(derive(t, cut), problem(/^The picture is damaged: /), format)
    }
    await assert.rejects(derive(t, textPolyglot), problem(/^The picture is damaged: /))
    await assert.rejects(derive(t, plainPng(10_001, 10_000)), problem(/^The picture has more pixels than are allowed/))
  })

  it('never discloses a path of the server', async (t) => {
    const path = await temporaryFile(t, (await smallPicture('png')).subarray(0, 100))
    await assert.rejects(
      deriveImage(path, await temporaryFolder(t), limits),
      (error) => error instanceof PictureProblem && !error.message.includes(path),
    )
  })

  it('reads a picture of almost as many pixels as are allowed in bounded memory', async (t) => {
    const derived = await derive(t, plainPng(10_000, 9_000), { maxMemoryBytes: 512 * 1024 * 1024 })
    assert.deepEqual([derived.width, derived.height, derived.color], [10_000, 9_000, '#c81e1e'])
  })

  it('kills the process at the time limit, and leaves no files', async (t) => {
    await assert.rejects(
      derive(t, await largePhoto(), { maxSeconds: 0.3 }),
      problem(/^Scaling the picture took longer than 0\.3 seconds\.$/),
    )
  })

  it('kills the process when the signal aborts, and removes its files', async (t) => {
    const path = await temporaryFile(t, await largePhoto())
    const folder = await temporaryFolder(t)
    const stop = new AbortController()
    const options = { ...limits, signal: stop.signal }
    const ended = assert.rejects(deriveImage(path, folder, options), /shutting down/)
    await until(() => readdir(folder))
    stop.abort(new Error('shutting down'))
    await ended
    assert.deepEqual([await readdir(folder), await processesWith(folder)], [[], []])
    await assert.rejects(deriveImage(path, folder, options), /shutting down/)
  })

  it('kills the process when it uses too much memory', async (t) => {
    const options = { maxMemoryBytes: 100 * 1024 * 1024 }
    await assert.rejects(derive(t, await largePhoto(), options), problem(/^The picture needs too much memory\./))
  })

  it('blames the picture for a crash, but not when the process is killed from outside', async (t) => {
    const path = await temporaryFile(t, await largePhoto())
    for (const [signal, isProblem] of [
      ['SIGSEGV', true],
      ['SIGTERM', false],
    ] as const) {
      const folder = await temporaryFolder(t)
      const ended = assert.rejects(
        deriveImage(path, folder, limits),
        (error) => error instanceof PictureProblem === isProblem,
      )
      const [id] = await until(() => processesWith(folder))
      process.kill(Number(id), signal)
      await ended
    }
  })

  it('ends the process when its parent has exited', async (t) => {
    const folder = await temporaryFolder(t)
    const task = {
      path: await temporaryFile(t, await largePhoto()),
      outputFolder: folder,
      ...limits,
      maxMemoryBytes: 1e9,
    }
    const child = spawn(process.execPath, [join(sources, 'derive-process.ts'), JSON.stringify(task)])
    const closed = once(child, 'close')
    child.stdin.end() // like the operating system when the parent has exited
    assert.deepEqual(await closed, [null, 'SIGKILL'])
  })

  it('does not blame the picture for a missing folder', async (t) => {
    const path = await temporaryFile(t, await smallPicture('png'))
    const missing = join(await temporaryFolder(t), 'missing')
    await assert.rejects(deriveImage(path, missing, limits), (error) => !(error instanceof PictureProblem))
    const folder = await temporaryFolder(t)
    await assert.rejects(
      deriveImage(join(folder, 'gone'), folder, limits),
      (error) => !(error instanceof PictureProblem),
    )
  })

  it('omits metadata hidden in a chunk', async (t) => {
    const secret = pngChunk('tEXt', Buffer.from('Comment\0where I live', 'latin1'))
    const picture = await photo(40, 30).withExif(gpsExif).png().toBuffer()
    for (const { path } of (await derive(t, withPngChunks(picture, secret))).derivatives) {
      assert.doesNotMatch(await readFile(path, 'latin1'), /where I live|Bakery/)
    }
  })
})

describe('canDerive', () => {
  it('is true if sharp can be loaded', async () => {
    assert.equal(await canDerive(), true)
  })

  it('is false if sharp is not installed', async (t) => {
    const elsewhere = await temporaryFolder(t)
    await cp(sources, elsewhere, { recursive: true })
    await writeFile(join(elsewhere, 'package.json'), '{ "type": "module" }')
    const there = (await import(
      pathToFileURL(join(elsewhere, 'derive.ts')).href
    )) as typeof import('../../../src/media/files/derive.ts')
    assert.equal(await there.canDerive(), false)
    const path = await temporaryFile(t, await smallPicture('png'))
    await assert.rejects(there.deriveImage(path, await temporaryFolder(t), limits), ({ cause }: Error) =>
      /Cannot find package 'sharp'/.test(String(cause)),
    )
  })
})
