import { blankXmp } from './blank-xmp.ts'
import { type Entry, entryBytes, openTiff, readEntries, readOrientation, type Tiff, withoutExifName } from './exif.ts'

const tags = { thumbnail: 0x0201, thumbnailBytes: 0x0202, xmp: 0x02bc, exif: 0x8769, gps: 0x8825 }
/** The picture's, its thumbnail's, and room for oddities. */
const maxDirectories = 16
/** The standard has 32. */
const maxGpsEntries = 64
const maxGpsValueBytes = 64 * 1024
/** How the metadata begins that a thumbnail may have of its own. */
const metadataNames = ['Exif\0', 'http://ns.adobe.com/', 'Photoshop 3.0\0']

function endOf(tiff: Tiff, directory: number): number {
  return directory + 2 + tiff.uint16(directory) * entryBytes + 4
}

/** Fills a range with zeros, unless that would reach into the header or the main directory: then something is wrong. */
function zero(tiff: Tiff, start: number, end: number): void {
  const touches = (from: number, to: number): boolean => start < to && end > from
  if (end > tiff.bytes.length || touches(0, 8) || touches(tiff.first, endOf(tiff, tiff.first))) {
    throw new RangeError('a value where none can be')
  }
  tiff.bytes.fill(0, start, end)
}

/** Moves the entries behind it, and the offset of the next directory, into its place. */
function removeEntry(tiff: Tiff, directory: number, { offset }: Entry): void {
  const end = endOf(tiff, directory)
  const count = Buffer.from(tiff.bytes.subarray(directory, directory + 2))
  const isLittle = tiff.bytes[0] === 0x49
  if (isLittle) count.writeUInt16LE(count.readUInt16LE(0) - 1)
  else count.writeUInt16BE(count.readUInt16BE(0) - 1)
  tiff.bytes.copy(tiff.bytes, offset, offset + entryBytes, end)
  tiff.bytes.fill(0, end - entryBytes, end)
  count.copy(tiff.bytes, directory)
}

function removeGps(tiff: Tiff, directory: number, pointer: Entry): void {
  const gps = tiff.uint32(pointer.offset + 8)
  const end = endOf(tiff, gps)
  const entries = readEntries(tiff, gps)
  if (entries.length > maxGpsEntries) throw new RangeError('too many entries')
  for (const { valueOffset, valueBytes } of entries) {
    if (valueBytes > maxGpsValueBytes) throw new RangeError('too large a value')
    if (valueBytes > 4) zero(tiff, valueOffset, valueOffset + valueBytes)
  }
  zero(tiff, gps, end)
  removeEntry(tiff, directory, pointer)
}

/** A thumbnail with metadata goes as a whole: it is a picture with all that a picture may say, and nobody shows it. */
function removeThumbnail(tiff: Tiff, start: number, length: number): boolean {
  const thumbnail = tiff.bytes.subarray(start, start + length)
  if (!metadataNames.some((name) => thumbnail.includes(name, 0, 'latin1'))) return false
  zero(tiff, start, start + length)
  return true
}

function blankDirectories(tiff: Tiff): boolean {
  const waiting = [tiff.first]
  const seen = new Set<number>()
  let hasXmp = false
  let changed = false
  for (let directory = waiting.pop(); directory; directory = waiting.pop()) {
    if (seen.has(directory) || seen.size === maxDirectories) throw new RangeError('directories in a circle')
    seen.add(directory)
    const entries = readEntries(tiff, directory)
    waiting.push(tiff.uint32(endOf(tiff, directory) - 4))
    const only = (wanted: number): Entry | undefined => {
      const [entry, ...others] = entries.filter(({ tag }) => tag === wanted)
      if (others.length > 0) throw new RangeError('the same entry twice')
      return entry
    }
    const [exif, xmp, gps] = [only(tags.exif), only(tags.xmp), only(tags.gps)]
    const [thumbnail, thumbnailBytes] = [only(tags.thumbnail), only(tags.thumbnailBytes)]
    if (exif) waiting.push(tiff.uint32(exif.offset + 8))
    if (xmp) {
      if (hasXmp) throw new RangeError('XMP twice')
      hasXmp = true
      changed = blankXmp(tiff.bytes.subarray(xmp.valueOffset, xmp.valueOffset + xmp.valueBytes)) || changed
    }
    if (thumbnail && thumbnailBytes) {
      const [start, length] = [tiff.uint32(thumbnail.offset + 8), tiff.uint32(thumbnailBytes.offset + 8)]
      changed = removeThumbnail(tiff, start, length) || changed
    }
    if (gps) {
      removeGps(tiff, directory, gps)
      changed = true
    }
  }
  return changed
}

/** Leaves nothing but the orientation. */
function blankAll(bytes: Buffer): void {
  const orientation = readOrientation(bytes)
  const tiff = withoutExifName(bytes).fill(0)
  const smallest = Buffer.from(
    '49492a0008000000' + '0100' + '1201' + '0300' + '01000000' + '00000000' + '00000000',
    'hex',
  )
  smallest.writeUInt16LE(orientation, 18)
  if (tiff.length >= smallest.length) smallest.copy(tiff)
}

/** Removes the place from Exif. What cannot be read to its end is removed altogether. */
export function blankExif(bytes: Buffer): boolean {
  try {
    return blankDirectories(openTiff(withoutExifName(bytes)))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const before = Buffer.from(bytes)
    blankAll(bytes)
    return !before.equals(bytes)
  }
}
