import { open, writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import type { Derivative, DeriveResult, DeriveTask } from './derive.ts'
import type { Size } from './formats.ts'
import { boxes, pngChunks } from './parts.ts'
import { createReader } from './reader.ts'

/**
 * A child process, one for each picture, so that a picture that crashes, stalls or bloats the decoder harms nothing else.
 * Without a task it only shows that sharp can be loaded.
 */

const widths = [320, 640, 1280]
const formats = ['webp', 'avif'] as const
/** The limit of WebP and AVIF. */
const maxSide = 16_383
const maxPlaceholderLength = 400

const pictureLoaders = [
  'VipsForeignLoadJpegFile',
  'VipsForeignLoadPngFile',
  'VipsForeignLoadWebpFile',
  'VipsForeignLoadNsgifFile',
  'VipsForeignLoadHeifFile',
]

interface Pixels {
  data: Buffer
  info: { width: number; height: number; channels: 1 | 2 | 3 | 4 }
}

/** libvips reports animation in GIF and WebP only; of the others it decodes the first frame. */
async function hasFrames(path: string): Promise<boolean> {
  await using file = await open(path)
  const reader = await createReader(file)
  const start = await reader.read(0, 12)
  if (start.toString('latin1', 1, 4) === 'PNG') {
    for await (const { name } of pngChunks(reader)) {
      if (name === 'acTL') return true
      if (name === 'IDAT') return false
    }
  } else if (start.toString('latin1', 4, 8) === 'ftyp') {
    for await (const { name } of boxes(reader)) if (name === 'moov') return true
  }
  return false
}

const from = ({ data, info }: Pixels) => sharp(data, { raw: info })

/** A blurred preview shown until the picture has loaded; null for a transparent picture, which would not cover it. */
async function makePlaceholder(pixels: Pixels): Promise<string | null> {
  const { isOpaque } = await from(pixels).stats()
  if (!isOpaque) return null
  const small = await from(pixels)
    .resize(16, 16, { fit: 'inside' })
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  for (const quality of [60, 30, 5]) {
    const webp = await from(small).webp({ quality, effort: 6 }).toBuffer()
    const url = `data:image/webp;base64,${webp.toString('base64')}`
    if (url.length <= maxPlaceholderLength) return url
  }
  return null
}

/** The mean of the pixels in the most frequent of 512 colour ranges. */
async function findColor(pixels: Pixels): Promise<string> {
  const small = from(pixels).resize(64, 64, { fit: 'inside' }).flatten({ background: '#ffffff' })
  const rgb = await small.toColourspace('srgb').removeAlpha().raw().toBuffer()
  const ranges = new Map<number, { count: number; sum: [number, number, number] }>()
  for (let at = 0; at + 2 < rgb.length; at += 3) {
    const [red = 0, green = 0, blue = 0] = rgb.subarray(at, at + 3)
    const key = ((red >> 5) << 6) | ((green >> 5) << 3) | (blue >> 5)
    const range = ranges.get(key) ?? { count: 0, sum: [0, 0, 0] }
    range.count += 1
    range.sum[0] += red
    range.sum[1] += green
    range.sum[2] += blue
    ranges.set(key, range)
  }
  const { count, sum } = [...ranges.values()].reduce((most, range) => (range.count > most.count ? range : most))
  const hex = (total: number): string => Math.round(total / count).toString(16).padStart(2, '0') // biome-ignore format: short
  return `#${sum.map(hex).join('')}`
}

async function writeDerivatives(pixels: Pixels, sizes: Size[], folder: string): Promise<Derivative[]> {
  const derivatives: Derivative[] = []
  for (const format of formats) {
    for (const { width, height } of sizes) {
      const resized = from(pixels).resize(width, height, { fit: 'fill' })
      const file = format === 'webp' ? resized.webp({ quality: 80 }) : resized.avif({ quality: 50, effort: 2 })
      const bytes = await file.toBuffer()
      const path = join(folder, `${width}.${format}`)
      await writeFile(path, bytes)
      derivatives.push({ width, format, path, bytes: bytes.length })
    }
  }
  return derivatives
}

interface Decoded extends Size {
  /** Sizes of the derivatives, and the pixels in the largest of them. */
  sizes: Size[]
  pixels: Pixels
}

function sizesOf({ width, height }: Size): Size[] {
  const distinct = [...new Set(widths.map((wanted) => Math.min(wanted, width)))]
  return distinct
    .map((wanted) => ({ width: wanted, height: Math.max(1, Math.round((height * wanted) / width)) }))
    .filter((size) => size.height <= maxSide)
}

/** The only step that decodes the file; smaller pictures are made from the largest. */
async function decode(path: string, maxPixels: number, animated: boolean): Promise<Decoded> {
  const picture = sharp(path, { limitInputPixels: maxPixels, failOn: 'error' }).autoOrient()
  const { autoOrient, pages } = await picture.metadata()
  const fitting = sizesOf(autoOrient)
  const largest = fitting.at(-1)
  const resized = largest
    ? picture.resize(largest.width, largest.height, { fit: 'fill' })
    : picture.resize(64, 64, { fit: 'inside' })
  const pixels = await resized.toColourspace('srgb').raw().toBuffer({ resolveWithObject: true })
  const still = !animated && (pages ?? 1) === 1
  return { ...autoOrient, sizes: still ? fitting : [], pixels }
}

/** A sentence for the owner of the site. */
function describe(error: unknown, path: string): string {
  const [reason = ''] = (error instanceof Error ? error.message : String(error))
    .replaceAll(path, 'the file')
    .split('\n')
  if (/pixel limit/i.test(reason)) return 'The picture has more pixels than are allowed.'
  if (/unsupported image format|blocked/i.test(reason)) return 'The file is not a picture that can be scaled.'
  return `The picture is damaged: ${reason}`
}

async function derive({ path, outputFolder, maxPixels }: DeriveTask): Promise<DeriveResult> {
  const animated = await hasFrames(path)
  let decoded: Decoded
  try {
    decoded = await decode(path, maxPixels, animated)
  } catch (error) {
    return { problem: describe(error, path) }
  }
  const { width, height, sizes, pixels } = decoded
  const color = await findColor(pixels)
  const placeholder = await makePlaceholder(pixels)
  return {
    derived: { width, height, color, placeholder, derivatives: await writeDerivatives(pixels, sizes, outputFolder) },
  }
}

/** The decoder uses its own threads, so this timer fires. */
function watchMemory(maxMemoryBytes: number): void {
  const check = (): void => {
    if (process.memoryUsage.rss() > maxMemoryBytes) process.kill(process.pid, 'SIGKILL')
  }
  setInterval(check, 25).unref()
}

/** The parent holds the other end of stdin; when it closes, the result is no longer needed. */
function endWithParent(): void {
  process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL')).resume()
  process.stdin.unref()
}

const [argument] = process.argv.slice(2)
if (argument !== undefined) {
  const task: DeriveTask = JSON.parse(argument)
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  sharp.cache(false)
  sharp.concurrency(1)
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: pictureLoaders })
  watchMemory(task.maxMemoryBytes)
  endWithParent()
  process.stdout.write(JSON.stringify(await derive(task)))
}
