import { open } from 'node:fs/promises'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { exifWithOrientation, readOrientation } from './exif.ts'
import { findMeta, heifMetadata } from './heif.ts'
import { damaged, pngChunks, webpChunks } from './parts.ts'
import { createReader, type Range, type Reader } from './reader.ts'

/** A block of metadata, and its replacement of the same total length. */
interface Block extends Range {
  replacement: Iterable<Buffer>
}

/** Each block costs a read and a write, and a crafted file may have millions. */
const maxBlocks = 1000
const scanBytes = 64 * 1024

function checkBlocks(count: number): void {
  if (count > maxBlocks) throw damaged(`it has more than ${maxBlocks} pieces of metadata`)
}

/** Not zeros: XMP in a GIF ends at the first one. */
const filler = Buffer.alloc(256 * 1024, ' ')

function* spaces(length: number): Generator<Buffer> {
  for (let left = length; left > 0; left -= filler.length) yield filler.subarray(0, left)
}

const erased = ({ start, length }: Range): Block => ({ start, length, replacement: spaces(length) })

/** Exif reduced to its orientation. In a HEIF, `prefix` precedes it. */
async function* reducedExif(reader: Reader, range: Range, prefix = Buffer.alloc(0)): AsyncGenerator<Block> {
  const { start, length } = range
  const exif = Buffer.concat([prefix, exifWithOrientation(await readOrientation(reader, range))])
  if (length < exif.length) yield erased(range)
  else yield { start, length, replacement: [exif, ...spaces(length - exif.length)] }
}

/** The name of a segment, and the marker before it. */
const jpegNames: [name: Buffer, marker: number][] = (
  [
    ['Exif\0', 0xe1],
    ['http://ns.adobe.com/xap/1.0/\0', 0xe1],
    ['http://ns.adobe.com/xmp/extension/\0', 0xe1],
    ['Photoshop 3.0\0', 0xed],
  ] as const
).map(([name, marker]) => [Buffer.from(name, 'latin1'), marker])
const longestName = Math.max(...jpegNames.map(([name]) => name.length))

/** Searches for names, which are rare; a crafted file may have millions of markers. */
function findSegment(bytes: Buffer): { offset: number; name: Buffer } | undefined {
  const found = jpegNames.flatMap(([name, marker]) => {
    let at = bytes.indexOf(name, 4)
    while (at >= 0 && !(bytes[at - 4] === 0xff && bytes[at - 3] === marker)) at = bytes.indexOf(name, at + 1)
    return at < 0 ? [] : [{ offset: at - 4, name }]
  })
  return found.toSorted((left, right) => left.offset - right.offset)[0]
}

/**
 * Scans the whole file instead of following its segments: phones append further pictures, with their own metadata.
 * Among pixels the two bytes of a marker cannot occur.
 */
async function* jpegMetadata(reader: Reader): AsyncGenerator<Block> {
  let [at, count] = [0, 0]
  while (at < reader.size) {
    const bytes = await reader.read(at, scanBytes)
    const found = findSegment(bytes)
    if (!found) {
      // Overlap, so that a segment beginning at the end of these bytes is found.
      at += bytes.length === scanBytes ? scanBytes - longestName - 4 : bytes.length
      continue
    }
    count += 1
    checkBlocks(count)
    const { offset, name } = found
    const isExif = name === jpegNames[0]?.[0]
    const start = at + offset + 4 + (isExif ? name.length + 1 : 0)
    const end = Math.min(at + offset + 2 + bytes.readUInt16BE(offset + 2), reader.size)
    at = Math.max(at + offset + 4, end)
    if (end <= start) continue
    const range = { start, length: end - start }
    if (isExif) yield* reducedExif(reader, range)
    else yield erased(range)
  }
}

/** An unknown chunk name whose letters mark it as ancillary and safe to copy. */
const paddingName = 'paDd'

function* pngChunk(name: string, content: Iterable<Buffer>): Generator<Buffer> {
  const start = Buffer.from(name)
  let checksum = crc32(start)
  yield start
  for (const piece of content) {
    checksum = crc32(piece, checksum)
    yield piece
  }
  const end = Buffer.alloc(4)
  end.writeUInt32BE(checksum)
  yield end
}

async function* pngMetadata(reader: Reader): AsyncGenerator<Block> {
  for await (const { name, ...range } of pngChunks(reader)) {
    if (!['eXIf', 'iTXt', 'tEXt', 'zTXt'].includes(name)) continue
    if (range.start + range.length + 4 > reader.size) {
      yield erased(range) // the file ends in this chunk
      continue
    }
    const chunk = { start: range.start - 4, length: range.length + 8 }
    if (name === 'eXIf') {
      for await (const { replacement } of reducedExif(reader, range))
        yield { ...chunk, replacement: pngChunk(name, replacement) }
    } else yield { ...chunk, replacement: pngChunk(paddingName, spaces(range.length)) }
  }
}

const gifXmp = Buffer.from('!\xff\x0bXMP DataXMP', 'latin1')
const maxGifXmpBytes = 256 * 1024

/**
 * XMP in a GIF is plain text up to a byte of 1 or 0, which text never contains. Readers that do not know XMP interpret
 * each character as the length of a block to skip; trailing bytes from 255 down to 0 bring them to its end.
 */
async function* gifMetadata(reader: Reader): AsyncGenerator<Block> {
  for (let at = 0; at < reader.size; ) {
    const bytes = await reader.read(at, scanBytes)
    const found = bytes.indexOf(gifXmp)
    if (found < 0) {
      at += bytes.length === scanBytes ? scanBytes - gifXmp.length : bytes.length
      continue
    }
    const start = at + found + gifXmp.length
    const endIn = (text: Buffer): number => text.findIndex((byte) => byte <= 1)
    let length = endIn(bytes.subarray(found + gifXmp.length))
    if (length < 0) length = endIn(await reader.read(start, maxGifXmpBytes))
    if (length < 0) throw damaged('its XMP has no end')
    yield erased({ start, length })
    at = start + length
  }
}

async function* webpMetadata(reader: Reader): AsyncGenerator<Block> {
  for await (const { name, ...range } of webpChunks(reader)) {
    if (name === 'EXIF') yield* reducedExif(reader, range)
    if (name === 'XMP ') yield erased(range)
  }
}

/** Precedes Exif in a HEIF: the offset at which it begins. */
const exifOffset = Buffer.alloc(4)

async function* heifFileMetadata(reader: Reader): AsyncGenerator<Block> {
  const meta = await findMeta(reader)
  for (const { kind, ranges } of meta ? heifMetadata(meta, reader.size) : []) {
    for (const [index, range] of ranges.entries()) {
      if (kind === 'exif' && index === 0) yield* reducedExif(reader, range, exifOffset)
      else yield erased(range)
    }
  }
}

const finders: Record<string, (reader: Reader) => AsyncGenerator<Block>> = {
  'image/jpeg': jpegMetadata,
  'image/png': pngMetadata,
  'image/webp': webpMetadata,
  'image/gif': gifMetadata,
  'image/avif': heifFileMetadata,
  'image/heic': heifFileMetadata,
}

/**
 * Overwrites Exif, XMP, IPTC and the text chunks of a PNG, which may reveal where a picture was taken. Orientation, pixels,
 * colour profile and file length stay.
 */
export async function removeMetadata(path: string, contentType: string): Promise<void> {
  await using file = await open(path, 'r+')
  const reader = await createReader(file)
  let count = 0
  for await (const { start, replacement } of finders[contentType]?.(reader) ?? []) {
    count += 1
    checkBlocks(count)
    await yieldToEventLoop()
    let at = start
    for (const piece of replacement) {
      await file.write(piece, 0, piece.length, at)
      at += piece.length
    }
  }
}
