import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { AppError } from '../../../src/core/errors.ts'
import { removeMetadata } from '../../../src/media/files/remove-metadata.ts'
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
  before: Buffer
  after: Buffer
}

async function clean(t: TestContext, before: Buffer, contentType: string): Promise<Cleaned> {
  const path = await temporaryFile(t, before)
  await removeMetadata(path, contentType)
  const after = await readFile(path)
  assert.equal(after.length, before.length, 'the length stays')
  await removeMetadata(path, contentType)
  assert.ok(after.equals(await readFile(path)), 'nothing is left to remove')
  return { before, after }
}

async function assertSamePixels({ before, after }: Cleaned): Promise<void> {
  const [left, right] = await Promise.all([before, after].map((bytes) => sharp(bytes).raw().toBuffer()))
  assert.ok(left?.equals(right ?? Buffer.alloc(0)), 'the pixels stay')
}

/** 51/1 30/1, in both byte orders. */
const hasLatitude = (bytes: Buffer): boolean =>
  ['33000000010000001e00000001000000', '00000033000000010000001e00000001'].some((hex) =>
    bytes.includes(Buffer.from(hex, 'hex')),
  )

const formats = ['jpeg', 'png', 'webp', 'avif'] as const

describe('removeMetadata', () => {
  for (const format of formats) {
    it(`reduces the Exif of ${format} to its orientation, and keeps the colour profile`, async (t) => {
      for (const orientation of [1, 3, 6, 8]) {
        const picture = await photo(64, 48)
          .withExif(gpsExif)
          .withIccProfile('p3')
          .withMetadata({ orientation })
          .toFormat(format)
          .toBuffer()
        assert.ok(hasLatitude(picture), 'it contains the location')
        const cleaned = await clean(t, picture, `image/${format}`)
        assert.equal(hasLatitude(cleaned.after), false)
        const [before, after] = [await sharp(cleaned.before).metadata(), await sharp(cleaned.after).metadata()]
        assert.equal(after.orientation, before.orientation)
        assert.ok(before.icc?.length && after.icc?.equals(before.icc))
        for (const gone of ['Bakery Example', '2024:05:01 12:00:00']) assert.ok(!cleaned.after.includes(gone), gone)
        await assertSamePixels(cleaned)
        await sharp(cleaned.after, { failOn: 'warning' }).raw().toBuffer()
      }
    })

    it(`erases the XMP of ${format}`, async (t) => {
      const picture = await photo(64, 48).withXmp(xmpPacket).toFormat(format).toBuffer()
      const cleaned = await clean(t, picture, `image/${format}`)
      assert.equal((await sharp(cleaned.after).metadata()).xmpAsString?.trim() ?? '', '')
      assert.doesNotMatch(cleaned.after.toString('latin1'), /GPS|51,30|7,27|86\/1|Dortmund|Bakery/)
      await assertSamePixels(cleaned)
    })

    it(`leaves ${format} without metadata unchanged`, async (t) => {
      const picture = await photo(64, 48).withIccProfile('p3').toFormat(format).toBuffer()
      const { before, after } = await clean(t, picture, `image/${format}`)
      assert.ok((await sharp(after).metadata()).icc)
      if (format !== 'jpeg') assert.ok(before.equals(after)) // sharp writes an Exif into every JPEG with a profile
    })
  }

  it('erases the location of a large photograph', async (t) => {
    const cleaned = await clean(t, await phonePhoto(2000, 1500), 'image/jpeg')
    assert.equal(hasLatitude(cleaned.after), false)
    await assertSamePixels(cleaned)
  })

  it('erases the metadata of a second picture after the first, as phones write it', async (t) => {
    const second = await phonePhoto(64, 48)
    const filler = Buffer.alloc(200_000, 0x55)
    const { after } = await clean(t, Buffer.concat([await smallPicture('jpeg'), filler, second]), 'image/jpeg')
    assert.equal(hasLatitude(after), false)
  })

  it('finds a segment at any offset of the file', async (t) => {
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

  it('erases the IPTC of a JPEG', async (t) => {
    const field = (number: number, value: string): Buffer =>
      Buffer.concat([Buffer.from([0x1c, 2, number, 0, value.length]), Buffer.from(value)])
    const iptc = Buffer.concat([field(90, 'Dortmund'), field(101, 'Germany'), field(80, 'Jo Baker')])
    const resource = Buffer.concat([Buffer.from('8BIM\x04\x04\0\0', 'latin1'), Buffer.alloc(4), iptc])
    resource.writeUInt32BE(iptc.length, 8)
    const jpeg = withJpegSegments(await smallPicture('jpeg'), jpegSegment(0xed, 'Photoshop 3.0\0', resource))
    const cleaned = await clean(t, jpeg, 'image/jpeg')
    assert.doesNotMatch(cleaned.after.toString('latin1'), /Dortmund|Germany|Jo Baker/)
    await assertSamePixels(cleaned)
  })

  it('erases XMP in any encoding, and extended XMP that is cut in two', async (t) => {
    const packet = Buffer.from(xmpPacket)
    const cut = packet.indexOf('Latitude="51') + 4
    const extended = [packet.subarray(0, cut), packet.subarray(cut)].map((part) =>
      jpegSegment(0xe1, 'http://ns.adobe.com/xmp/extension/\0', Buffer.concat([Buffer.alloc(40, 0x41), part])),
    )
    const wide = Buffer.from(xmpPacket, 'utf16le')
    const jpeg = withJpegSegments(await smallPicture('jpeg'), ...extended, xmpSegment(wide))
    const cleaned = await clean(t, jpeg, 'image/jpeg')
    assert.doesNotMatch(cleaned.after.toString('latin1'), /51,30|7,27|dc:source/)
    assert.ok(!cleaned.after.includes(Buffer.from('51,30', 'utf16le')))
    await assertSamePixels(cleaned)
  })

  it('erases the XMP of a GIF so that readers without XMP support can still skip it', async (t) => {
    const gif = await smallPicture('gif')
    const afterColors = 13 + 3 * 2 ** (((gif[10] ?? 0) & 7) + 1)
    const wayOut = Buffer.from([1, ...Array.from({ length: 256 }, (_, index) => 255 - index), 0])
    for (const packet of [xmpPacket, xmpPacket.replace('</e:GPSAltitude>', '')]) {
      const xmp = Buffer.concat([Buffer.from(`!\xff\x0bXMP DataXMP${packet}`, 'latin1'), wayOut])
      const before = Buffer.concat([gif.subarray(0, afterColors), xmp, gif.subarray(afterColors)])
      const cleaned = await clean(t, before, 'image/gif')
      assert.doesNotMatch(cleaned.after.toString('latin1'), /GPS|51,30|7,27|86\/1|Dortmund|Bakery/)
      await assertSamePixels(cleaned)
    }
    const { before, after } = await clean(t, gif, 'image/gif')
    assert.ok(before.equals(after))
  })

  it('erases the Exif thumbnail with its metadata', async (t) => {
    const picture = await photo(64, 48).jpeg().toBuffer()
    const thumbnail = withJpegSegments(
      await photo(16, 12).jpeg().withExif(gpsExif).toBuffer(),
      xmpSegment(Buffer.from(xmpPacket)),
    )
    const exif = Buffer.concat([Buffer.from('Exif\0\0'), exifWithThumbnail(thumbnail)])
    const cleaned = await clean(t, withJpegSegments(picture, jpegSegment(0xe1, '', exif)), 'image/jpeg')
    assert.equal(hasLatitude(cleaned.after) || cleaned.after.includes('51,30'), false)
    assert.equal(cleaned.after.includes(thumbnail.subarray(-100)), false)
    assert.equal((await sharp(cleaned.after).metadata()).orientation, 6)
    await assertSamePixels(cleaned)
  })

  it('empties every text chunk of a PNG, plain or compressed', async (t) => {
    const texts = [
      pngChunk('iTXt', Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${xmpPacket}`)),
      pngChunk('iTXt', Buffer.concat([Buffer.from('XML:com.adobe.xmp\0\x01\0\0\0', 'latin1'), deflateSync(xmpPacket)])),
      pngChunk('zTXt', Buffer.concat([Buffer.from('Raw profile type exif\0\0', 'latin1'), deflateSync('exif')])),
      pngChunk('tEXt', Buffer.from('exif:GPSLatitude\x0051/1', 'latin1')),
      pngChunk('tEXt', Buffer.from('Author\0Jo Baker', 'latin1')),
    ]
    const before = withPngChunks(await smallPicture('png'), ...texts)
    const cleaned = await clean(t, before, 'image/png')
    for (const text of texts) assert.ok(!cleaned.after.includes(text.subarray(4, -4)))
    assert.doesNotMatch(cleaned.after.toString('latin1'), /GPS|Baker/)
    assertChecksums(cleaned.after)
    await assertSamePixels(cleaned)
    await sharp(cleaned.after, { failOn: 'warning' }).raw().toBuffer()
    const cut = withPngChunks(before.subarray(0, 33), texts[3] ?? Buffer.alloc(0)).subarray(0, -3)
    assert.doesNotMatch((await clean(t, cut, 'image/png')).after.toString('latin1'), /GPS|51/)
  })

  it('erases Exif with invalid offsets, but for the orientation', async (t) => {
    const picture = await phonePhoto(64, 48)
    const start = picture.indexOf('Exif\0\0') + 6
    const little = picture[start] === 0x49
    const gpsTag = Buffer.from(little ? '2588' : '8825', 'hex')
    const pointer = picture.indexOf(gpsTag, start) + 8
    assert.ok(pointer > start + 8)
    for (const target of [0, 8, 4, 0xffff_ffff, 60_000]) {
      const broken = Buffer.from(picture)
      if (little) broken.writeUInt32LE(target, pointer)
      else broken.writeUInt32BE(target, pointer)
      const cleaned = await clean(t, broken, 'image/jpeg')
      assert.equal(hasLatitude(cleaned.after), false, `pointing to ${target}`)
      assert.equal((await sharp(cleaned.after).metadata()).orientation, 6, `pointing to ${target}`)
      await assertSamePixels(cleaned)
    }
  })

  it('leaves files of other types unchanged', async (t) => {
    const bytes = Buffer.from('Exif\0\0GPSLatitude="1"')
    const { after } = await clean(t, bytes, 'text/plain')
    assert.ok(after.equals(bytes))
  })

  it('ends or refuses for any bytes, with the length unchanged', async (t) => {
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
        await removeMetadata(path, `image/${format}`).catch((error: unknown) => assert.ok(error instanceof AppError))
        assert.equal((await readFile(path)).length, broken.length)
      }
    }
  })
})

const xmpSegment = (packet: Buffer): Buffer => jpegSegment(0xe1, 'http://ns.adobe.com/xap/1.0/\0', packet)

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
