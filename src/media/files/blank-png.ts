import { crc32, inflateSync } from 'node:zlib'
import { blankExif } from './blank-exif.ts'
import { blankXmp, isPlaceName } from './blank-xmp.ts'
import { emptyPngChunk } from './emptied.ts'

/** Far more than a packet with a place needs. */
const maxInflatedBytes = 256 * 1024
const xmpKeyword = 'XML:com.adobe.xmp'
/** Older programs keep Exif, IPTC and XMP as hexadecimal text; some write one text for each property. */
const erasedKeyword = /^Raw profile type (exif|app1|xmp|iptc|8bim)$|GPS/i

/** Whether a text has to be looked into for a place, has to go, or can stay; by how its data begins. */
export function judgePngText(start: Buffer): 'look' | 'erase' | 'keep' {
  const keyword = start.toString('latin1', 0, Math.max(0, start.indexOf(0)))
  if (keyword === xmpKeyword) return 'look'
  return erasedKeyword.test(keyword) || isPlaceName(keyword) ? 'erase' : 'keep'
}

/** The text of an iTXt chunk begins behind its keyword, two flags, a language and a translated keyword. */
function internationalText(data: Buffer): { text: Buffer; compressed: boolean } {
  const flags = xmpKeyword.length + 1
  const language = data.indexOf(0, flags + 2)
  const translated = language < 0 ? -1 : data.indexOf(0, language + 1)
  return { text: data.subarray(translated < 0 ? flags : translated + 1), compressed: data[flags] === 1 }
}

/** What is compressed cannot be blanked in place: it stays or it goes. */
function mayNamePlace(compressed: Buffer): boolean {
  try {
    return blankXmp(inflateSync(compressed, { maxOutputLength: maxInflatedBytes }))
  } catch {
    return true // unreadable, or too large to look at
  }
}

/** Blanks the place in the data of a chunk; "all" when the chunk as a whole has to go. */
function blankData(name: string, data: Buffer): boolean | 'all' {
  if (name === 'eXIf') return blankExif(data)
  if (name === 'tEXt') return blankXmp(data.subarray(xmpKeyword.length + 1))
  if (name === 'zTXt') return mayNamePlace(data.subarray(xmpKeyword.length + 2)) && 'all'
  const { text, compressed } = internationalText(data)
  return compressed ? mayNamePlace(text) && 'all' : blankXmp(text)
}

/** Takes Exif, or a text that has to be looked into, from its name to its checksum. */
export function blankPngChunk(chunk: Buffer): boolean {
  const blanked = blankData(chunk.toString('latin1', 0, 4), chunk.subarray(4, -4))
  if (blanked === 'all') Buffer.concat([...emptyPngChunk(chunk.length)]).copy(chunk)
  else if (blanked) chunk.writeUInt32BE(crc32(chunk.subarray(0, -4)), chunk.length - 4)
  return blanked !== false
}
