import { blankExif } from './blank-exif.ts'
import { blankPhotoshop } from './blank-iptc.ts'
import { blankPngChunk, judgePngText } from './blank-png.ts'
import { blankXmp } from './blank-xmp.ts'
import { damaged } from './damaged.ts'
import { emptyPngChunk } from './emptied.ts'
import { findMeta, heifMetadata } from './heif.ts'
import { pngChunks, webpChunks } from './parts.ts'
import type { Range, Reader } from './reader.ts'

/** A piece of metadata: where its bytes are, in one or several places, and how a location in it is blanked. */
export interface Metadata {
  ranges: Range[]
  /** Changes the bytes in place and says whether it did. Without it, nobody looks: the bytes are erased. */
  blank?: (bytes: Buffer) => boolean
  /** What stands in place of erased bytes, where spaces would not do. */
  emptied?: (length: number) => Iterable<Buffer>
}

/**
 * Each piece costs a read and a write, and a made-up file may have millions. It is refused rather than erased: no camera
 * and no program writes such a file.
 */
const maxPieces = 1000

function checkPieces(count: number): void {
  if (count > maxPieces) throw damaged(`it has more than ${maxPieces} pieces of metadata`)
}

const scanBytes = 64 * 1024

/**
 * How the segments of a JPEG begin that hold metadata: their marker and their name. What does not fit into one segment
 * goes on in the next, behind `skip` bytes that say which part it is.
 */
const segmentKinds = [
  { marker: 0xe1, name: 'Exif\0', skip: 1, goesOn: false, blank: blankExif },
  { marker: 0xe1, name: 'http://ns.adobe.com/xap/1.0/\0', skip: 0, goesOn: false, blank: blankXmp },
  { marker: 0xe1, name: 'http://ns.adobe.com/xmp/extension/\0', skip: 40, goesOn: true, blank: blankXmp },
  { marker: 0xed, name: 'Photoshop 3.0\0', skip: 0, goesOn: true, blank: blankPhotoshop },
].map((kind) => ({ ...kind, name: Buffer.from(kind.name, 'latin1') }))
const longestName = Math.max(...segmentKinds.map(({ name }) => name.length))

/** Looks for names first, of which there are few; of markers, a made-up file may have millions. */
function findSegment(bytes: Buffer) {
  const found = segmentKinds.flatMap((kind) => {
    for (let at = bytes.indexOf(kind.name, 4); at >= 0; at = bytes.indexOf(kind.name, at + 1)) {
      if (bytes[at - 4] !== 0xff || bytes[at - 3] !== kind.marker) continue
      return [{ kind, offset: at - 4, length: bytes.readUInt16BE(at - 2) }]
    }
    return []
  })
  return found.toSorted((left, right) => left.offset - right.offset)[0]
}

/**
 * Looks through the whole file instead of following its segments: a telephone puts further pictures, with metadata of
 * their own, behind the first. Among pixels the two bytes of a marker cannot occur.
 */
async function* jpegMetadata(reader: Reader): AsyncGenerator<Metadata> {
  const parts = new Map<(bytes: Buffer) => boolean, Range[]>()
  let [at, count] = [0, 0]
  while (at < reader.size) {
    const bytes = await reader.read(at, scanBytes)
    const found = findSegment(bytes)
    if (!found) {
      // A segment that begins at the end of these bytes begins the next ones.
      at += bytes.length === scanBytes ? scanBytes - longestName - 4 : bytes.length
      continue
    }
    const { kind, offset } = found
    const start = at + offset + 4 + kind.name.length + kind.skip
    const length = Math.min(at + offset + 2 + found.length, reader.size) - start
    at = Math.max(at + offset + 4, start + length)
    count += 1
    checkPieces(count)
    if (length <= 0) continue
    if (kind.goesOn) parts.set(kind.blank, [...(parts.get(kind.blank) ?? []), { start, length }])
    else yield { ranges: [{ start, length }], blank: kind.blank }
  }
  for (const [blank, ranges] of parts) yield { ranges, blank }
}

/** A PNG has one XMP. Each further one may be compressed a thousandfold, and is erased unseen. */
const maxPngTexts = 4
const longestKeyword = 79

async function* pngMetadata(reader: Reader): AsyncGenerator<Metadata> {
  let texts = 0
  for await (const { name, start, length } of pngChunks(reader)) {
    const isWhole = start + length + 4 <= reader.size
    if (!isWhole || !['eXIf', 'iTXt', 'tEXt', 'zTXt'].includes(name)) continue
    const chunk = { ranges: [{ start: start - 4, length: length + 8 }], emptied: emptyPngChunk }
    if (name === 'eXIf') {
      yield { ...chunk, blank: blankPngChunk }
      continue
    }
    const verdict = judgePngText(await reader.read(start, Math.min(length, longestKeyword + 1)))
    if (verdict === 'look') texts += 1
    if (verdict === 'look' && texts <= maxPngTexts) yield { ...chunk, blank: blankPngChunk }
    else if (verdict !== 'keep') yield chunk
  }
}

const gifXmp = Buffer.from('!\xff\x0bXMP DataXMP', 'latin1')
/** The longest XMP of a GIF. */
const maxGifTextBytes = 256 * 1024

/**
 * The XMP of a GIF lies there as plain text, up to a byte of 1 or 0 that no text has. For readers that know nothing of it
 * each letter is the length of a block to skip; behind the text, bytes from 255 down to 0 lead them out again.
 */
async function* gifMetadata(reader: Reader): AsyncGenerator<Metadata> {
  for (let at = 0; at < reader.size; ) {
    const bytes = await reader.read(at, scanBytes)
    const found = bytes.indexOf(gifXmp)
    if (found < 0) {
      at += bytes.length === scanBytes ? scanBytes - gifXmp.length : bytes.length
      continue
    }
    const start = at + found + gifXmp.length
    const length = (await reader.read(start, maxGifTextBytes)).findIndex((byte) => byte <= 1)
    if (length < 0) throw damaged('its XMP has no end')
    yield { ranges: [{ start, length }], blank: blankXmp }
    at = start + length
  }
}

async function* webpMetadata(reader: Reader): AsyncGenerator<Metadata> {
  for await (const { name, start, length } of webpChunks(reader)) {
    if (name === 'EXIF') yield { ranges: [{ start, length }], blank: blankExif }
    if (name === 'XMP ') yield { ranges: [{ start, length }], blank: blankXmp }
  }
}

/** Four bytes say how far behind them the Exif begins. */
function blankExifItem(bytes: Buffer): boolean {
  const start = bytes.length >= 4 ? 4 + bytes.readUInt32BE(0) : 0
  return blankExif(bytes.subarray(start < bytes.length ? start : 0))
}

async function* heifFileMetadata(reader: Reader): AsyncGenerator<Metadata> {
  const meta = await findMeta(reader)
  if (!meta) return
  for (const { kind, ranges } of heifMetadata(meta, reader.size)) {
    yield { ranges, blank: kind === 'exif' ? blankExifItem : blankXmp }
  }
}

const readers: Record<string, (reader: Reader) => AsyncGenerator<Metadata>> = {
  'image/jpeg': jpegMetadata,
  'image/png': pngMetadata,
  'image/webp': webpMetadata,
  'image/gif': gifMetadata,
  'image/avif': heifFileMetadata,
  'image/heic': heifFileMetadata,
}

/** The metadata of a picture in which a location may be; none for a format that has no place for it. */
export async function* findMetadata(reader: Reader, contentType: string): AsyncGenerator<Metadata> {
  let count = 0
  for await (const metadata of readers[contentType]?.(reader) ?? []) {
    count += 1
    checkPieces(count)
    yield metadata
  }
}
