import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import sharp, { type Sharp } from 'sharp'

/** A folder that is removed after the test. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pictures-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A file with these bytes, and a name without an extension. */
export async function temporaryFile(t: TestContext, bytes: Buffer | string, name = 'upload'): Promise<string> {
  const path = join(await temporaryFolder(t), name)
  await writeFile(path, bytes)
  return path
}

/** Counts the bytes read from and written to files from now on. */
export async function countBytes(t: TestContext, path: string): Promise<{ read(): number; written(): number }> {
  await using file = await open(path)
  const prototype = Object.getPrototypeOf(file) as typeof file
  const [read, write] = [t.mock.method(prototype, 'read').mock, t.mock.method(prototype, 'write').mock]
  const sum = ({ calls }: { calls: { arguments: unknown[] }[] }): number =>
    calls.reduce((total, call) => total + Number(call.arguments[2]), 0)
  return { read: () => sum(read), written: () => sum(write) }
}

/** Resembles a photograph: smooth gradients, and grain that does not compress. Deterministic. */
export function photoPixels(width: number, height: number): Buffer {
  const rgb = Buffer.allocUnsafe(width * height * 3)
  let grain = 1
  let at = 0
  for (let y = 0; y < height; y += 1) {
    const [green, blue] = [90 + (90 * y) / height, 200 - (120 * y) / height]
    for (let x = 0; x < width; x += 1) {
      grain = (Math.imul(grain, 1_664_525) + 1_013_904_223) >>> 0
      const noise = grain >>> 28
      rgb[at++] = 60 + (120 * x) / width + noise
      rgb[at++] = green + noise
      rgb[at++] = blue + noise
    }
  }
  return rgb
}

export function photo(width: number, height: number): Sharp {
  return sharp(photoPixels(width, height), { raw: { width, height, channels: 3 } })
}

export const gpsExif = {
  IFD0: { Copyright: 'Bakery Example' },
  IFD2: { DateTimeOriginal: '2024:05:01 12:00:00' },
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100', GPSLongitudeRef: 'E', GPSLongitude: '7/1 27/1 1/1' },
}

/** Like the photograph of a phone held upright: rotated, with Exif orientation and location. */
export function phonePhoto(width = 4000, height = 3000): Promise<Buffer> {
  return photo(width, height).jpeg({ quality: 88 }).withExif(gpsExif).withMetadata({ orientation: 6 }).toBuffer()
}

export const smallFormats = ['jpeg', 'png', 'webp', 'gif', 'avif'] as const

/** 40 × 30 pixels in each of the source formats. */
export function smallPicture(format: (typeof smallFormats)[number]): Promise<Buffer> {
  return photo(40, 30).toFormat(format).toBuffer()
}

/** Three frames of 40 × 30 pixels. */
export async function animation(format: 'gif' | 'webp'): Promise<Buffer> {
  const frames = Buffer.concat([0, 60, 120].map((shade) => Buffer.alloc(40 * 30 * 3, shade)))
  return sharp(frames, { raw: { width: 40, height: 90, channels: 3, pageHeight: 30 } })
    .toFormat(format, { loop: 0, delay: [100, 100, 100] })
    .toBuffer()
}

export function pngChunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const framed = Buffer.alloc(named.length + 8)
  framed.writeUInt32BE(data.length, 0)
  named.copy(framed, 4)
  framed.writeUInt32BE(crc32(named), named.length + 4)
  return framed
}

/** Inserts chunks after the header of a PNG. */
export function withPngChunks(png: Buffer, ...chunks: Buffer[]): Buffer {
  const afterHeader = 8 + 25
  return Buffer.concat([png.subarray(0, afterHeader), ...chunks, png.subarray(afterHeader)])
}

export function jpegSegment(marker: number, name: string, content: Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.from([0xff, marker, 0, 0]), Buffer.from(name, 'latin1'), content])
  bytes.writeUInt16BE(bytes.length - 2, 2)
  return bytes
}

/** Inserts segments before all others of a JPEG. */
export function withJpegSegments(jpeg: Buffer, ...segments: Buffer[]): Buffer {
  return Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)])
}

/** A decompression bomb: a few kilobytes in the file and gigabytes in memory; one bit per pixel, a palette of one colour. */
export function plainPng(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([1, 3], 8)
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    pngChunk('IHDR', header),
    pngChunk('PLTE', Buffer.from([200, 30, 30])),
    pngChunk('IDAT', deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height), { level: 9 })),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

/** An animated PNG, of which libvips reads the first frame only. */
export async function animatedPng(): Promise<Buffer> {
  return withPngChunks(await smallPicture('png'), pngChunk('acTL', Buffer.from('0000000200000000', 'hex')))
}

/** A polyglot: both a picture and a script, in ASCII. */
export const textPolyglot = 'GIF89a=1/*                                */;alert(document.domain)//'

/** The same with a visible picture: 10799 pixels wide, which is "/*" as a number. */
export function binaryPolyglot(gif: Buffer): Buffer {
  const bytes = Buffer.concat([gif, Buffer.from('*/=1;alert(document.domain)//')])
  bytes.write('/*', 6, 'latin1')
  return bytes
}

export const scriptedSvg =
  '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><script>alert(document.domain)</script></svg>'

export const page = '<!doctype html><title>Not a picture</title><script>alert(document.domain)</script>'
