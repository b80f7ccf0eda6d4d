import { type AppError, invalid } from '../../core/errors.ts'
import type { Range, Reader } from './reader.ts'

/** A segment, chunk or box of a picture file. The range is that of its content, clipped to the file. */
export interface Part extends Range {
  name: string
}

export const damaged = (reason: string): AppError =>
  invalid(`The picture is damaged: ${reason}. Save it again with an image editor and upload the result.`)

/** More than any real picture has; a crafted one may consist of nothing else. */
const maxParts = 100_000
const startOfScan = 0xda

/** The segments of a JPEG before its pixels, named by their marker: "e1" contains Exif or XMP. */
export async function* jpegSegments(reader: Reader): AsyncGenerator<Part> {
  let at = 2
  for (let count = 0; count < maxParts; count += 1) {
    const header = await reader.read(at, 4)
    if (header.length < 4 || header[0] !== 0xff) return
    const marker = header[1] ?? 0
    if (marker === 0xff) {
      at += 1 // a fill byte
      continue
    }
    const length = header.readUInt16BE(2)
    if (marker === startOfScan || length < 2) return
    yield { name: marker.toString(16), start: at + 4, length: Math.min(length - 2, Math.max(0, reader.size - at - 4)) }
    at += 2 + length
  }
}

/** The chunks of a PNG. Four bytes of checksum follow each. */
export async function* pngChunks(reader: Reader): AsyncGenerator<Part> {
  let at = 8
  for (let count = 0; count < maxParts; count += 1) {
    const header = await reader.read(at, 8)
    if (header.length < 8) return
    const length = header.readUInt32BE(0)
    const name = header.toString('latin1', 4, 8)
    yield { name, start: at + 8, length: Math.min(length, reader.size - at - 8) }
    at += 12 + length
  }
}

export async function* webpChunks(reader: Reader): AsyncGenerator<Part> {
  let at = 12
  for (let count = 0; count < maxParts; count += 1) {
    const header = await reader.read(at, 8)
    if (header.length < 8) return
    const length = header.readUInt32LE(4)
    const name = header.toString('latin1', 0, 4)
    yield { name, start: at + 8, length: Math.min(length, reader.size - at - 8) }
    at += 8 + length + (length % 2)
  }
}

/** The outer boxes of an AVIF or HEIC. */
export async function* boxes(reader: Reader): AsyncGenerator<Part> {
  let at = 0
  for (let count = 0; count < maxParts; count += 1) {
    const header = await reader.read(at, 16)
    if (header.length < 8) return
    const name = header.toString('latin1', 4, 8)
    const stated = header.readUInt32BE(0)
    const headerBytes = stated === 1 ? 16 : 8
    if (header.length < headerBytes) return
    const length = stated === 1 ? Number(header.readBigUInt64BE(8)) : stated === 0 ? reader.size - at : stated
    if (length < headerBytes) return
    const start = at + headerBytes
    yield { name, start, length: Math.min(length - headerBytes, Math.max(0, reader.size - start)) }
    at += length
  }
}

/** A photograph with many tiles has some hundreds. */
const maxInnerBoxes = 10_000

/** The boxes in a buffer. Throws a `RangeError` when one does not fit. */
export function innerBoxes(bytes: Buffer): { name: string; content: Buffer }[] {
  const found: { name: string; content: Buffer }[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    if (length < 8 || at + length > bytes.length) throw new RangeError('a box that does not fit')
    if (found.length === maxInnerBoxes) throw new RangeError('too many boxes')
    found.push({ name: bytes.toString('latin1', at + 4, at + 8), content: bytes.subarray(at + 8, at + length) })
    at += length
  }
  return found
}
