import { readOrientation } from './exif.ts'
import type { Extension, Size } from './formats.ts'
import { findMeta, heifSize } from './heif.ts'
import { jpegSegments, pngChunks, webpChunks } from './parts.ts'
import type { Reader } from './reader.ts'

/** Unreadable headers throw this, or the `RangeError` of a read beyond their end. */
const unreadable = (): RangeError => new RangeError('the header cannot be read')

/** From 5 on, the camera was held sideways. */
const turned = ({ width, height }: Size, orientation: number): Size =>
  orientation >= 5 ? { width: height, height: width } : { width, height }

/** Start of frame, of any kind; the markers in between are tables. */
const frameMarker = /^c[0-35-79-bd-f]$/

async function jpegSize(reader: Reader): Promise<Size> {
  let orientation = 1
  for await (const segment of jpegSegments(reader)) {
    if (frameMarker.test(segment.name)) {
      const frame = await reader.read(segment.start, 5)
      return turned({ width: frame.readUInt16BE(3), height: frame.readUInt16BE(1) }, orientation)
    }
    const isExif = segment.name === 'e1' && (await reader.read(segment.start, 6)).toString('latin1') === 'Exif\0\0'
    if (isExif) orientation = await readOrientation(reader, segment)
  }
  throw unreadable()
}

async function pngSize(reader: Reader): Promise<Size> {
  let size: Size | undefined
  for await (const chunk of pngChunks(reader)) {
    if (!size) {
      if (chunk.name !== 'IHDR') throw unreadable()
      const header = await reader.read(chunk.start, 8)
      size = { width: header.readUInt32BE(0), height: header.readUInt32BE(4) }
    } else if (chunk.name === 'eXIf') {
      return turned(size, await readOrientation(reader, chunk))
    } else if (chunk.name === 'IDAT') {
      return size
    }
  }
  throw unreadable()
}

async function webpSize(reader: Reader): Promise<Size> {
  let size: Size | undefined
  for await (const chunk of webpChunks(reader)) {
    const head = await reader.read(chunk.start, Math.min(chunk.length, 10))
    if (size) {
      if (chunk.name === 'EXIF') return turned(size, await readOrientation(reader, chunk))
    } else if (chunk.name === 'VP8X') {
      size = { width: 1 + head.readUIntLE(4, 3), height: 1 + head.readUIntLE(7, 3) }
    } else if (chunk.name === 'VP8L') {
      if (head.readUInt8(0) !== 0x2f) throw unreadable()
      const bits = head.readUInt32LE(1)
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) }
    } else if (chunk.name === 'VP8 ') {
      if (head.readUIntBE(3, 3) !== 0x9d012a) throw unreadable()
      return { width: head.readUInt16LE(6) & 0x3fff, height: head.readUInt16LE(8) & 0x3fff }
    } else throw unreadable()
  }
  if (!size) throw unreadable()
  return size
}

async function gifSize(reader: Reader): Promise<Size> {
  const header = await reader.read(0, 10)
  if (!/^GIF8[79]a$/.test(header.toString('latin1', 0, 6))) throw unreadable()
  return { width: header.readUInt16LE(6), height: header.readUInt16LE(8) }
}

async function bmpSize(reader: Reader): Promise<Size> {
  const header = await reader.read(14, 12)
  if (header.readUInt32LE(0) === 12) return { width: header.readUInt16LE(4), height: header.readUInt16LE(6) }
  // Negative when the rows begin at the top.
  return { width: header.readInt32LE(4), height: Math.abs(header.readInt32LE(8)) }
}

/** The largest picture of an icon; 0 stands for 256. */
async function icoSize(reader: Reader): Promise<Size> {
  const count = (await reader.read(4, 2)).readUInt16LE(0)
  const entries = await reader.read(6, count * 16)
  let largest: Size = { width: 0, height: 0 }
  for (let at = 0; at < entries.length; at += 16) {
    const size = { width: entries.readUInt8(at) || 256, height: entries.readUInt8(at + 1) || 256 }
    if (size.width > largest.width) largest = size
  }
  return largest
}

async function heifFileSize(reader: Reader): Promise<Size> {
  const meta = await findMeta(reader)
  if (!meta) throw unreadable()
  return heifSize(meta)
}

const measures: Partial<Record<Extension, (reader: Reader) => Promise<Size>>> = {
  jpg: jpegSize,
  png: pngSize,
  webp: webpSize,
  gif: gifSize,
  bmp: bmpSize,
  ico: icoSize,
  avif: heifFileSize,
  heic: heifFileSize,
}

/** The size of a picture as displayed, null for a format that is not measured, undefined when it is damaged. */
export async function measurePicture(reader: Reader, extension: Extension): Promise<Size | null | undefined> {
  const measure = measures[extension]
  if (!measure) return null
  try {
    const size = await measure(reader)
    return size.width > 0 && size.height > 0 ? size : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
