import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { AppError } from '../../../src/errors.ts'
import { openTiff, readEntries } from '../../../src/media/files/exif.ts'
import { removeLocation } from '../../../src/media/files/remove-location.ts'
import {
  gpsExif,
  jpegSegment,
  phonePhoto,
  photo,
  pngChunk,
  smallPicture,
  temporaryFile,
  withJpegSegments,
  withPngChunks,
} from '../../helpers/pictures.ts'

const xmpPacket = `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:e="http://ns.adobe.com/exif/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"
 e:GPSLatitude="51,30.5385N" e:GPSLongitude='7,27.0167E' dc:source="kept">
<e:GPSAltitude>86/1</e:GPSAltitude><e:GPSTimeStamp/><dc:rights>Bakery Example</dc:rights>
<l:LocationShown xmlns:l="x"><rdf:Bag><rdf:li l:City="Dortmund"/></rdf:Bag></l:LocationShown>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`

interface Cleaned {
  removed: boolean
  before: Buffer
  after: Buffer
}

async function clean(t: TestContext, before: Buffer, contentType: string): Promise<Cleaned> {
  const path = await temporaryFile(t, before)
  const removed = await removeLocation(path, contentType)
  const after = await readFile(path)
  assert.equal(after.length, before.length, 'the length stays')
  return { removed, before, after }
}

async function assertSamePixels({ before, after }: Cleaned): Promise<void> {
  const [left, right] = await Promise.all([before, after].map((bytes) => sharp(bytes).raw().toBuffer()))
  assert.ok(left?.equals(right ?? Buffer.alloc(0)), 'the pixels stay')
}

const withoutName = (exif: Buffer): Buffer => (exif.toString('latin1', 0, 4) === 'Exif' ? exif.subarray(6) : exif)

function tagsOf(exif: Buffer): number[] {
  const tiff = openTiff(withoutName(exif))
  return readEntries(tiff, tiff.first).map(({ tag }) => tag)
}

/** 51/1 30/1, in either order of bytes. */
const hasLatitude = (bytes: Buffer): boolean =>
  ['33000000010000001e00000001000000', '00000033000000010000001e00000001'].some((hex) =>
    bytes.includes(Buffer.from(hex, 'hex')),
  )

const formats = ['jpeg', 'png', 'webp', 'avif'] as const

describe('removeLocation', () => {
  for (const format of formats) {
    it(`takes the place out of the Exif of ${format} and leaves the rest`, async (t) => {
      const picture = await photo(64, 48).withExif(gpsExif).withMetadata({ orientation: 6 }).toFormat(format).toBuffer()
      assert.ok(hasLatitude(picture), 'the place is in it')
      const cleaned = await clean(t, picture, `image/${format}`)
      assert.equal(cleaned.removed, true)
      assert.equal(hasLatitude(cleaned.after), false)
      const [before, after] = [await sharp(cleaned.before).metadata(), await sharp(cleaned.after).metadata()]
      assert.equal(after.orientation, before.orientation)
      assert.ok(after.exif && before.exif)
      assert.deepEqual(
        tagsOf(after.exif),
        tagsOf(before.exif).filter((tag) => tag !== 0x8825),
      )
      assert.ok(tagsOf(before.exif).includes(0x8825))
      for (const kept of ['Bakery Example', '2024:05:01 12:00:00']) assert.ok(after.exif.includes(kept), kept)
      await assertSamePixels(cleaned)
      assert.equal((await clean(t, cleaned.after, `image/${format}`)).removed, false, 'nothing is left to remove')
    })

    it(`takes the place out of the XMP of ${format}`, async (t) => {
      const picture = await photo(64, 48).withXmp(xmpPacket).toFormat(format).toBuffer()
      const cleaned = await clean(t, picture, `image/${format}`)
      assert.equal(cleaned.removed, true)
      const xmp = (await sharp(cleaned.after).metadata()).xmpAsString ?? ''
      assert.doesNotMatch(cleaned.after.toString('latin1'), /GPS|51,30|7,27|86\/1|Dortmund/)
      if (format !== 'png') {
        assert.match(xmp, /dc:source="kept"/)
        assert.match(xmp, /<dc:rights>Bakery Example<\/dc:rights>/)
      } else assert.equal(xmp, '', 'sharp compresses it in a PNG: then it goes as a whole')
      await assertSamePixels(cleaned)
    })

    it(`leaves ${format} without a place as it is`, async (t) => {
      const picture = await photo(64, 48)
        .withExif({ IFD0: { Copyright: 'Bakery Example' } })
        .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><a>GPS is a word</a></x:xmpmeta>')
        .toFormat(format)
        .toBuffer()
      const { removed, before, after } = await clean(t, picture, `image/${format}`)
      assert.equal(removed, false)
      assert.ok(before.equals(after))
    })
  }

  it('finds the place in a large photograph', async (t) => {
    const cleaned = await clean(t, await phonePhoto(2000, 1500), 'image/jpeg')
    assert.equal(cleaned.removed, true)
    assert.equal(hasLatitude(cleaned.after), false)
    await assertSamePixels(cleaned)
  })

  it('finds the place in a second picture behind the first, as telephones write it', async (t) => {
    const second = await phonePhoto(64, 48)
    const filler = Buffer.alloc(200_000, 0x55)
    const { after } = await clean(t, Buffer.concat([await smallPicture('jpeg'), filler, second]), 'image/jpeg')
    assert.equal(hasLatitude(after), false)
  })

  it('finds the place in a segment at any offset of the file', async (t) => {
    const jpeg = await phonePhoto(64, 48)
    for (const shift of [65_480, 65_520, 65_530, 65_536, 131_000]) {
      const comments = Array.from({ length: Math.ceil(shift / 60_000) }, () => {
        const length = Math.floor(shift / Math.ceil(shift / 60_000))
        const comment = Buffer.alloc(length)
        comment.writeUInt16BE(0xfffe, 0)
        comment.writeUInt16BE(length - 2, 2)
        return comment
      })
      const { after } = await clean(t, withJpegSegments(jpeg, ...comments), 'image/jpeg')
      assert.equal(hasLatitude(after), false, `at ${shift}`)
    }
  })

  it('blanks the places that IPTC names in a JPEG and leaves the author', async (t) => {
    const field = (number: number, value: string): Buffer =>
      Buffer.concat([Buffer.from([0x1c, 2, number, 0, value.length]), Buffer.from(value)])
    const places = [
      field(90, 'Dortmund'),
      field(92, 'Nordmarkt'),
      field(95, 'NRW'),
      field(100, 'DEU'),
      field(101, 'Germany'),
    ]
    const iptc = Buffer.concat([...places, field(80, 'Jo Baker')])
    const resource = Buffer.concat([Buffer.from('8BIM\x04\x04\0\0', 'latin1'), Buffer.alloc(4), iptc])
    resource.writeUInt32BE(iptc.length, 8)
    const { removed, after } = await clean(t, await withSegment(0xed, 'Photoshop 3.0\0', resource), 'image/jpeg')
    assert.equal(removed, true)
    assert.doesNotMatch(after.toString('latin1'), /Dortmund|Nordmarkt|NRW|DEU|Germany/)
    assert.match(after.toString('latin1'), /Jo Baker/)
    await sharp(after).raw().toBuffer()
  })

  it('finds a place in extended XMP that is cut in two', async (t) => {
    const packet = Buffer.from(xmpPacket)
    const cut = packet.indexOf('Latitude="51') + 4
    const header = Buffer.alloc(40, 0x41)
    const jpeg = await smallPicture('jpeg')
    const segments = [packet.subarray(0, cut), packet.subarray(cut)].map((part) =>
      jpegSegment(0xe1, 'http://ns.adobe.com/xmp/extension/\0', Buffer.concat([header, part])),
    )
    const { after } = await clean(t, withJpegSegments(jpeg, ...segments), 'image/jpeg')
    assert.doesNotMatch(after.toString('latin1'), /51,30|7,27/)
    assert.match(after.toString('latin1'), /dc:source="kept"/)
  })

  it('finds the place in XMP however a program calls it', async (t) => {
    const properties =
      'exif:GPSLatitude GPSPosition drone-dji:GpsLatitude drone-dji:GpsLongtitude Latitude drone-dji:Longitude geo:lat ' +
      'geo:long photoshop:City photoshop:State photoshop:Country core:Location core:CountryCode ext:Sublocation ' +
      'ext:ProvinceState ext:CountryName EXT:CITY ext:LocationCreated'
    for (const property of properties.split(' ')) {
      const packets = [
        `<d:D ${property}="found" dc:rights="Bakery"/>`,
        `<d:D ${property} = 'found' dc:rights="Bakery"/>`,
        `<d:D dc:rights="Bakery"><${property}><b>found</b></${property}></d:D>`,
      ]
      for (const packet of packets) {
        const { removed, after } = await clean(t, await withXmp(Buffer.from(packet)), 'image/jpeg')
        assert.deepEqual([removed, after.includes('found')], [true, false], packet)
        assert.ok(after.includes('dc:rights="Bakery"'), packet)
      }
      const wide = `<d:D a:${property.split(':').at(-1)}="found"/>`
      const { after } = await clean(t, await withXmp(Buffer.from(wide, 'utf16le')), 'image/jpeg')
      assert.ok(!after.includes(Buffer.from('found', 'utf16le')), wide)
    }
  })

  it('leaves properties in XMP that only sound like a place', async (t) => {
    const packet =
      '<d:D rdf:Alt="a" a:Statement="b" a:Capacity="c" a:latest="d" a:longest="e" a:Title="City: Location"/>'
    assert.equal((await clean(t, await withXmp(Buffer.from(packet)), 'image/jpeg')).removed, false)
  })

  it('blanks the place in the XMP of a GIF, which a reader that knows nothing of it still can skip', async (t) => {
    const gif = await smallPicture('gif')
    const afterColors = 13 + 3 * 2 ** (((gif[10] ?? 0) & 7) + 1)
    const wayOut = Buffer.from([1, ...Array.from({ length: 256 }, (_, index) => 255 - index), 0])
    for (const packet of [xmpPacket, xmpPacket.replace('</e:GPSAltitude>', '')]) {
      const xmp = Buffer.concat([Buffer.from(`!\xff\x0bXMP DataXMP${packet}`, 'latin1'), wayOut])
      const before = Buffer.concat([gif.subarray(0, afterColors), xmp, gif.subarray(afterColors)])
      const cleaned = await clean(t, before, 'image/gif')
      assert.equal(cleaned.removed, true)
      assert.doesNotMatch(cleaned.after.toString('latin1'), /GPS|51,30|7,27|86\/1|Dortmund/)
      assert.ok(cleaned.after.includes('dc:source="kept"'))
      await assertSamePixels(cleaned)
      assert.equal((await clean(t, cleaned.after, 'image/gif')).removed, false)
    }
    assert.equal((await clean(t, gif, 'image/gif')).removed, false)
  })

  it('removes a thumbnail that has a place of its own, and leaves one that has none', async (t) => {
    const picture = await photo(64, 48).jpeg().toBuffer()
    for (const [thumbnail, isRemoved] of [
      [await photo(16, 12).jpeg().withExif(gpsExif).toBuffer(), true],
      [withJpegSegments(await photo(16, 12).jpeg().toBuffer(), xmpSegment(Buffer.from(xmpPacket))), true],
      [await photo(16, 12).jpeg().toBuffer(), false],
    ] as const) {
      const exif = Buffer.concat([Buffer.from('Exif\0\0'), exifWithThumbnail(thumbnail)])
      const before = withJpegSegments(picture, jpegSegment(0xe1, '', exif))
      const cleaned = await clean(t, before, 'image/jpeg')
      assert.equal(cleaned.removed, isRemoved)
      assert.equal(cleaned.after.includes(thumbnail), !isRemoved)
      assert.equal(hasLatitude(cleaned.after) || cleaned.after.includes('51,30'), false)
      const { orientation, exif: left } = await sharp(cleaned.after).metadata()
      assert.equal(orientation, 6)
      assert.ok(left?.includes('Bakery Example'))
      await assertSamePixels(cleaned)
    }
  })

  it('blanks the place in plain XMP of a PNG and leaves the rest', async (t) => {
    const text = Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${xmpPacket}`)
    const cleaned = await clean(t, withPngChunks(await smallPicture('png'), pngChunk('iTXt', text)), 'image/png')
    const xmp = (await sharp(cleaned.after).metadata()).xmpAsString ?? ''
    assert.doesNotMatch(xmp, /GPS|51,30|Dortmund/)
    assert.match(xmp, /<dc:rights>Bakery Example<\/dc:rights>/)
    assertChecksums(cleaned.after)
    await assertSamePixels(cleaned)
  })

  it('turns compressed and hexadecimal metadata of a PNG into a chunk that says nothing', async (t) => {
    const png = await smallPicture('png')
    const compressed = Buffer.concat([Buffer.from('XML:com.adobe.xmp\0\x01\0\0\0', 'latin1'), deflateSync(xmpPacket)])
    const zipped = Buffer.concat([Buffer.from('Raw profile type exif\0\0', 'latin1'), deflateSync('exif')])
    const property = Buffer.from('exif:GPSLatitude\x0051/1', 'latin1')
    const author = pngChunk('tEXt', Buffer.from('Author\0Jo Baker', 'latin1'))
    const before = withPngChunks(
      png,
      pngChunk('iTXt', compressed),
      pngChunk('zTXt', zipped),
      pngChunk('tEXt', property),
      author,
    )
    const cleaned = await clean(t, before, 'image/png')
    assert.equal(cleaned.removed, true)
    assert.ok(cleaned.after.includes(author))
    assert.ok(
      !cleaned.after.includes(property) && !cleaned.after.includes(compressed) && !cleaned.after.includes(zipped),
    )
    assertChecksums(cleaned.after)
    await assertSamePixels(cleaned)
  })

  it('blanks metadata that it cannot read, but for the orientation', async (t) => {
    const picture = await phonePhoto(64, 48)
    const start = picture.indexOf('Exif\0\0') + 6
    const tiff = openTiff(picture.subarray(start))
    const pointer = readEntries(tiff, tiff.first).find(({ tag }) => tag === 0x8825)
    assert.ok(pointer)
    const little = picture[start] === 0x49
    for (const target of [0, 8, 4, 0xffff_ffff, 60_000, tiff.first]) {
      const broken = Buffer.from(picture)
      if (little) broken.writeUInt32LE(target, start + pointer.offset + 8)
      else broken.writeUInt32BE(target, start + pointer.offset + 8)
      const cleaned = await clean(t, broken, 'image/jpeg')
      assert.equal(hasLatitude(cleaned.after), false, `pointing to ${target}`)
      assert.equal((await sharp(cleaned.after).metadata()).orientation, 6, `pointing to ${target}`)
      await assertSamePixels(cleaned)
    }
    const unclosed = xmpPacket.replace('</e:GPSAltitude>', '')
    const { after } = await clean(
      t,
      await withSegment(0xe1, 'http://ns.adobe.com/xap/1.0/\0', Buffer.from(unclosed)),
      'image/jpeg',
    )
    assert.doesNotMatch(after.toString('latin1'), /GPS|86\/1/)
    const wide = Buffer.from(xmpPacket, 'utf16le')
    const words = await clean(t, await withSegment(0xe1, 'http://ns.adobe.com/xap/1.0/\0', wide), 'image/jpeg')
    assert.ok(!words.after.includes(Buffer.from('51,30', 'utf16le')))
  })

  it('leaves alone what has no place for a location', async (t) => {
    const bytes = Buffer.from('Exif\0\0GPSLatitude="1"')
    const { removed, after } = await clean(t, bytes, 'text/plain')
    assert.equal(removed, false)
    assert.ok(after.equals(bytes))
  })

  it('ends or refuses, with the length unchanged, whatever the bytes are', async (t) => {
    let seed = 11
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
      return seed % below
    }
    const path = await temporaryFile(t, '')
    for (const format of formats) {
      const picture = await photo(16, 16).withExif(gpsExif).withXmp(xmpPacket).toFormat(format).toBuffer()
      for (let round = 0; round < 400; round += 1) {
        const broken = Buffer.from(round % 5 === 0 ? picture.subarray(0, random(picture.length)) : picture)
        for (let flips = 1 + random(4); flips > 0 && broken.length > 0; flips -= 1) {
          broken[random(broken.length)] = random(4) === 0 ? 0xff : random(256)
        }
        await writeFile(path, broken)
        const start = performance.now()
        await removeLocation(path, `image/${format}`).catch((error: unknown) => assert.ok(error instanceof AppError))
        assert.ok(performance.now() - start < 1000)
        assert.equal((await readFile(path)).length, broken.length)
      }
    }
  })
})

async function withSegment(marker: number, name: string, content: Buffer): Promise<Buffer> {
  return withJpegSegments(await smallPicture('jpeg'), jpegSegment(marker, name, content))
}

const xmpSegment = (packet: Buffer): Buffer => jpegSegment(0xe1, 'http://ns.adobe.com/xap/1.0/\0', packet)

async function withXmp(packet: Buffer): Promise<Buffer> {
  return withJpegSegments(await smallPicture('jpeg'), xmpSegment(packet))
}

/** A directory with orientation and copyright, one with the thumbnail, and their values. */
function exifWithThumbnail(thumbnail: Buffer): Buffer {
  const copyright = Buffer.from('Bakery Example\0\0')
  const directory = (entries: [tag: number, type: number, count: number, value: number][], next: number): Buffer => {
    const bytes = Buffer.alloc(2 + entries.length * 12 + 4)
    bytes.writeUInt16LE(entries.length, 0)
    for (const [index, [tag, type, count, value]] of entries.entries()) {
      const at = 2 + index * 12
      bytes.writeUInt16LE(tag, at)
      bytes.writeUInt16LE(type, at + 2)
      bytes.writeUInt32LE(count, at + 4)
      bytes.writeUInt32LE(value, at + 8)
    }
    bytes.writeUInt32LE(next, bytes.length - 4)
    return bytes
  }
  const [second, values] = [8 + 30, 8 + 30 + 30]
  const main = directory(
    [
      [0x0112, 3, 1, 6],
      [0x8298, 2, copyright.length, values],
    ],
    second,
  )
  const small = directory(
    [
      [0x0201, 4, 1, values + copyright.length],
      [0x0202, 4, 1, thumbnail.length],
    ],
    0,
  )
  return Buffer.concat([Buffer.from('II*\0\x08\0\0\0', 'latin1'), main, small, copyright, thumbnail])
}

function assertChecksums(png: Buffer): void {
  for (let at = 8; at < png.length; ) {
    const end = at + 8 + png.readUInt32BE(at)
    assert.equal(png.readUInt32BE(end), crc32(png.subarray(at + 4, end)), png.toString('latin1', at + 4, at + 8))
    at = end + 4
  }
}
