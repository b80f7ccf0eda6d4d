import { blankExif } from './blank-exif.ts'
import { blankXmp } from './blank-xmp.ts'

/** Codes and names of places, city, part of a city, province, country code, country: IPTC IIM, record 2. */
const placeFields = [26, 27, 90, 92, 95, 100, 101]
const space = 0x20

/** Fields of five bytes and a value each. Throws a `RangeError` when one does not fit. */
function blankFields(bytes: Buffer): boolean {
  let changed = false
  for (let at = 0; at + 5 <= bytes.length && bytes[at] === 0x1c; ) {
    const length = bytes.readUInt16BE(at + 3)
    const end = at + 5 + length
    if (end > bytes.length) throw new RangeError('a field that does not fit')
    if (bytes[at + 1] === 2 && placeFields.includes(bytes[at + 2] ?? 0)) {
      bytes.fill(space, at + 5, end)
      changed = true
    }
    at = end
  }
  return changed
}

/** Those of Photoshop, ImageReady and PhotoDeluxe. */
const signatures = ['8BIM', 'MeSa', 'AgHg', 'PHUT', 'DCSR']

const resourceBlankers: Record<number, (bytes: Buffer) => boolean> = {
  1028: blankFields,
  1058: blankExif,
  1060: blankXmp,
}

/** Photoshop writes some dozens. */
const maxResources = 1000

function blankResources(bytes: Buffer): boolean {
  let changed = false
  let count = 0
  for (let at = 0; at + 12 <= bytes.length; count += 1) {
    if (count === maxResources) throw new RangeError('too many resources')
    if (!signatures.includes(bytes.toString('latin1', at, at + 4))) throw new RangeError('no resource')
    const nameBytes = 1 + bytes.readUInt8(at + 6)
    const start = at + 6 + nameBytes + (nameBytes % 2) + 4
    const length = bytes.readUInt32BE(start - 4)
    if (start + length > bytes.length) throw new RangeError('a resource that does not fit')
    const blank = resourceBlankers[bytes.readUInt16BE(at + 4)]
    changed = (blank?.(bytes.subarray(start, start + length)) ?? false) || changed
    at = start + length + (length % 2)
  }
  return changed
}

/** Blanks the place in the resources that Photoshop and many others write. Unreadable ones are removed altogether. */
export function blankPhotoshop(bytes: Buffer): boolean {
  try {
    return blankResources(bytes)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    bytes.fill(0)
    return true
  }
}
