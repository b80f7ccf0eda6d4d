/** Reads Exif, which is a TIFF without a picture: a byte order, and directories of entries of twelve bytes. */
export interface Tiff {
  bytes: Buffer
  uint16(offset: number): number
  uint32(offset: number): number
  /** Where the first directory is. */
  first: number
}

export interface Entry {
  tag: number
  /** Where its twelve bytes begin. */
  offset: number
  /** Where its value is, inside the entry or outside, and how long: both unchecked. */
  valueOffset: number
  valueBytes: number
}

export const entryBytes = 12
const bytesOfType = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4]
const orientationTag = 0x0112
/** Cameras write some dozens. */
const maxEntries = 1000

/** Throws a `RangeError` when it is none. */
export function openTiff(bytes: Buffer): Tiff {
  const order = bytes.toString('latin1', 0, 2)
  if (order !== 'II' && order !== 'MM') throw new RangeError('no TIFF')
  const little = order === 'II'
  const uint16 = (offset: number): number => (little ? bytes.readUInt16LE(offset) : bytes.readUInt16BE(offset))
  const uint32 = (offset: number): number => (little ? bytes.readUInt32LE(offset) : bytes.readUInt32BE(offset))
  if (uint16(2) !== 42) throw new RangeError('no TIFF')
  return { bytes, uint16, uint32, first: uint32(4) }
}

/** The entries of a directory. Throws a `RangeError` when it does not lie inside the bytes. */
export function readEntries(tiff: Tiff, directory: number): Entry[] {
  const count = tiff.uint16(directory)
  if (count > maxEntries) throw new RangeError('too many entries')
  return Array.from({ length: count }, (_, index) => {
    const offset = directory + 2 + index * entryBytes
    const valueBytes = (bytesOfType[tiff.uint16(offset + 2)] ?? 1) * tiff.uint32(offset + 4)
    const valueOffset = valueBytes <= 4 ? offset + 8 : tiff.uint32(offset + 8)
    return { tag: tiff.uint16(offset), offset, valueOffset, valueBytes }
  })
}

/** Exif in a PNG or a WebP may have the six bytes in front that it has in a JPEG. */
export function withoutExifName(bytes: Buffer): Buffer {
  return bytes.toString('latin1', 0, 6) === 'Exif\0\0' ? bytes.subarray(6) : bytes
}

/** 1 to 8, as a camera writes it; 1, upright, when nothing readable is said. */
export function readOrientation(exif: Buffer): number {
  try {
    const tiff = openTiff(withoutExifName(exif))
    const entry = readEntries(tiff, tiff.first).find(({ tag }) => tag === orientationTag)
    const orientation = entry ? tiff.uint16(entry.offset + 8) : 1
    return orientation >= 1 && orientation <= 8 ? orientation : 1
  } catch (error) {
    if (error instanceof RangeError) return 1
    throw error
  }
}
