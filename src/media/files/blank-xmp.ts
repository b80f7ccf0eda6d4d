/**
 * Properties that say where a picture was taken or what place it shows, with any prefix, in any case. Letters before and
 * behind a word are counted, as without a limit the time would grow with the square of their number.
 */
const places = [
  'GPS[\\w-]*',
  '[\\w-]{0,40}(?:Latitude|Longt?itude|Location)[\\w-]{0,40}',
  'lat|long|City|State|WorldRegion',
  '(?:Province|Country)[\\w-]*',
].join('|')
const names = `(?:[^\\s<>"'=/:]+:)?(?:${places})`
const placeName = new RegExp(`^${names}$`, 'i')
const attribute = new RegExp(`(?<=\\s)${names}\\s*=\\s*(?:"[^"]*"|'[^']*')`, 'gi')
const startTag = new RegExp(`<(${names})(?=[\\s/>])[^<>]*>`, 'gi')

/** Letters may have two or four bytes each. */
const ofAnyWidth = (words: string): string =>
  words
    .split(' ')
    .map((word) => [...word].join('\\0*'))
    .join('|')
const leftovers = new RegExp(
  `${ofAnyWidth('GPSLat GPSLon GPSDest GPSPos')}|:\\0*(?:${ofAnyWidth(
    'Latitude Longitude Longtitude lat long Location LocationShown LocationCreated Sublocation City State ' +
      'ProvinceState Country CountryName CountryCode',
  )})\\0*[=>/]`,
  'i',
)
const space = 0x20

/** Whether a property of this name says something about a place. */
export function isPlaceName(name: string): boolean {
  return placeName.test(name)
}

/** Where an element without an end tag ends, nobody knows: all that follows may belong to it. */
function endOfElement(text: string, { index, 0: tag, 1: name }: RegExpExecArray): number {
  if (tag.endsWith('/>')) return index + tag.length
  const endTag = `</${name}>`
  const at = text.indexOf(endTag, index)
  return at < 0 ? text.length : at + endTag.length
}

function blankElements(bytes: Buffer): boolean {
  // One character for each byte, so that places in the text are places in the bytes.
  const text = bytes.toString('latin1')
  let blanked = 0
  for (const match of text.matchAll(startTag)) {
    if (match.index < blanked) continue
    blanked = endOfElement(text, match)
    bytes.fill(space, match.index, blanked)
  }
  return blanked > 0
}

function blankAttributes(bytes: Buffer): boolean {
  let blanked = false
  for (const { index, 0: found } of bytes.toString('latin1').matchAll(attribute)) {
    bytes.fill(space, index, index + found.length)
    blanked = true
  }
  return blanked
}

/** Overwrites the place in XMP with spaces. What is not plain XML is overwritten altogether. */
export function blankXmp(bytes: Buffer): boolean {
  const inElements = blankElements(bytes)
  const inAttributes = blankAttributes(bytes)
  // Words of two bytes a letter, a comment, a tag that was cut: somewhere a place may be left.
  const left = leftovers.test(bytes.toString('latin1'))
  if (left) bytes.fill(space)
  return inElements || inAttributes || left
}
