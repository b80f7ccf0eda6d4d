import { open, writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import type { Derivative, Derived } from './derive.ts'
import { dominantColor } from './dominant-color.ts'
import { boxes, pngChunks } from './parts.ts'
import { createReader } from './reader.ts'
import type { Size } from './size.ts'

/**
 * Runs as a process of its own, once for each picture, so that a picture that crashes, stalls or bloats the decoder
 * takes nothing with it. Its argument is a task, its output an answer; without a task it says that it could be loaded.
 */
export interface Task {
  path: string
  outputFolder: string
  maxPixels: number
  maxMemoryBytes: number
}

export type Answer = { derived: Derived } | { problem: string }

const widths = [320, 640, 1280]
const formats = ['webp', 'avif'] as const
/** What WebP and AVIF can hold. */
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

/** libvips knows animation in GIF and WebP only; of the others it would show the first picture. */
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

/**
 * A few bytes that show where light and dark will be, for the moment before the picture is there. It lies behind the
 * picture, so one that can be seen through has none.
 */
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
    const address = `data:image/webp;base64,${webp.toString('base64')}`
    if (address.length <= maxPlaceholderLength) return address
  }
  return null
}

async function findColor(pixels: Pixels): Promise<string> {
  const small = from(pixels).resize(64, 64, { fit: 'inside' }).flatten({ background: '#ffffff' })
  return dominantColor(await small.toColourspace('srgb').removeAlpha().raw().toBuffer())
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
  /** Those that the picture gets, and its pixels in the largest of them. */
  sizes: Size[]
  pixels: Pixels
}

function sizesOf({ width, height }: Size): Size[] {
  const distinct = [...new Set(widths.map((wanted) => Math.min(wanted, width)))]
  return distinct
    .map((wanted) => ({ width: wanted, height: Math.max(1, Math.round((height * wanted) / width)) }))
    .filter((size) => size.height <= maxSide)
}

/** The only step that reads the file. It is read once: the smaller pictures are made from the largest. */
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

/** A sentence for the owner of the site, who can do something about the picture but not about libvips. */
function describe(error: unknown, path: string): string {
  const [reason = ''] = (error instanceof Error ? error.message : String(error))
    .replaceAll(path, 'the file')
    .split('\n')
  if (/pixel limit/i.test(reason)) return 'The picture has more pixels than are allowed.'
  if (/unsupported image format|blocked/i.test(reason)) return 'The file is no picture that can be made smaller.'
  return `The picture is damaged: ${reason}`
}

async function derive({ path, outputFolder, maxPixels }: Task): Promise<Answer> {
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

/** The decoder works in threads of its own, so this one is free to watch it. */
function watchMemory(maxMemoryBytes: number): void {
  const check = (): void => {
    if (process.memoryUsage.rss() > maxMemoryBytes) process.kill(process.pid, 'SIGKILL')
  }
  setInterval(check, 25).unref()
}

/** Whoever started us holds the other end of our input; when it is gone, nobody waits for the answer. */
function endWithParent(): void {
  process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL')).resume()
  process.stdin.unref()
}

const [argument] = process.argv.slice(2)
if (argument !== undefined) {
  const task: Task = JSON.parse(argument)
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  sharp.cache(false)
  sharp.concurrency(1)
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: pictureLoaders })
  watchMemory(task.maxMemoryBytes)
  endWithParent()
  process.stdout.write(JSON.stringify(await derive(task)))
}
