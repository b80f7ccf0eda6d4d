import type { Range, Reader } from './reader.ts'

const orientationTag = 0x0112
const entryBytes = 12
/** Far more than the header and the first directory need. */
const maxHeadBytes = 64 * 1024

/** Exif is a TIFF without a picture: a byte order and the offset of a directory of entries. */
function orientationOf(tiff: Buffer): number {
  const isLittle = tiff[0] === 0x49
  const uint16 = (at: number): number => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
  for (let left = uint16(directory), at = directory + 2; left > 0; left -= 1, at += entryBytes) {
    if (uint16(at) === orientationTag) return uint16(at + 8)
  }
  return 1
}

/** 1 to 8, as a camera writes it; 1, upright, by default. */
export async function readOrientation(reader: Reader, { start, length }: Range): Promise<number> {
  const head = await reader.read(start, Math.min(length, maxHeadBytes))
  // A name may precede it, as in a JPEG, and in a HEIF an offset.
  const tiffStart = head.toString('latin1', 0, 16).search(/II\*\0|MM\0\*/)
  if (tiffStart < 0) return 1
  try {
    const orientation = orientationOf(head.subarray(tiffStart))
    return orientation >= 1 && orientation <= 8 ? orientation : 1
  } catch (error) {
    if (error instanceof RangeError) return 1
    throw error
  }
}

/** The smallest possible Exif. */
export function exifWithOrientation(orientation: number): Buffer {
  const exif = Buffer.from('49492a0008000000' + '0100' + '120103000100000000000000' + '00000000', 'hex')
  exif.writeUInt16LE(orientation, 18)
  return exif
}
