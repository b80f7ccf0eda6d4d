import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { AppError } from '../../../src/core/errors.ts'
import { inspectFile } from '../../../src/media/files/inspect.ts'
import { removeMetadata } from '../../../src/media/files/remove-metadata.ts'
import {
  countBytes,
  jpegSegment,
  photo,
  pngChunk,
  smallPicture,
  temporaryFile,
  withJpegSegments,
  withPngChunks,
} from '../../helpers/pictures.ts'

const megabyte = 1024 * 1024
const damaged = (reason: RegExp) => (error: unknown) =>
  error instanceof AppError && error.code === 'ValidationError' && reason.test(error.message)

async function process(path: string, contentType: string): Promise<void> {
  await inspectFile(path, { maxPixels: 100_000_000 })
  await removeMetadata(path, contentType)
}

/** How often the event loop turned during the work. */
async function countTurns(work: Promise<unknown>): Promise<number> {
  let [isDone, turns] = [false, 0]
  const done = work.finally(() => {
    isDone = true
  })
  for (; !isDone; turns += 1) await nextTurn()
  await done
  return turns
}

const extendedXmp = (text: string | Buffer): Buffer =>
  jpegSegment(
    0xe1,
    'http://ns.adobe.com/xmp/extension/\0',
    Buffer.concat([Buffer.alloc(40), Buffer.alloc(65_000, text)]),
  )

function webp(chunk: 'EXIF' | 'XMP ', content: Buffer): Buffer {
  const bytes = Buffer.concat([
    Buffer.from(`RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x0f\0\0\x0f\0\0${chunk}\0\0\0\0`, 'latin1'),
    content,
  ])
  bytes.writeUInt32LE(bytes.length - 8, 4)
  bytes.writeUInt32LE(content.length, 34)
  return bytes
}

const compressedXmp = (text: Buffer): Buffer =>
  pngChunk('iTXt', Buffer.concat([Buffer.from('XML:com.adobe.xmp\0\x01\0\0\0', 'latin1'), deflateSync(text)]))

function box(name: string, ...content: (Buffer | number[])[]): Buffer {
  const bytes = Buffer.concat([Buffer.from(`\0\0\0\0${name}`, 'latin1'), ...content.map((part) => Buffer.from(part))])
  bytes.writeUInt32BE(bytes.length, 0)
  return bytes
}

/** An AVIF of 16 × 16 pixels with these extents of its Exif, and a number of bytes after its boxes. */
function avif(extents: [start: number, length: number][], contentBytes: number): Buffer {
  const version = [0, 0, 0, 0]
  const extentList = Buffer.alloc(extents.length * 8)
  for (const [index, [start, length]] of extents.entries()) {
    extentList.writeUInt32BE(start, index * 8)
    extentList.writeUInt32BE(length, index * 8 + 4)
  }
  const information = box('iinf', version, [0, 1], box('infe', [2, 0, 0, 0], [0, 2, 0, 0], Buffer.from('Exif\0')))
  const count = [extents.length >> 8, extents.length & 255]
  const locations = box('iloc', version, [0x44, 0, 0, 1], [0, 2, 0, 0], count, extentList)
  const size = box('ispe', version, [0, 0, 0, 16], [0, 0, 0, 16])
  const properties = box('iprp', box('ipco', size), box('ipma', version, [0, 0, 0, 1], [0, 1, 1, 1]))
  return Buffer.concat([
    box('ftyp', Buffer.from('avif\0\0\0\0avifmif1miaf')),
    box('meta', version, box('pitm', version, [0, 1]), information, locations, properties),
    box('mdat', Buffer.alloc(contentBytes, 7)),
  ])
}

describe('metadata crafted to be slow', async () => {
  const [jpeg, png] = [await smallPicture('jpeg'), await smallPicture('png')]
  const repeated = (bytes: string, length = 20 * megabyte): Buffer => Buffer.alloc(length, Buffer.from(bytes, 'latin1'))
  const behindJpeg = (bytes: string): Buffer => Buffer.concat([jpeg, repeated(bytes)])
  const xmp = (text: string): Buffer => webp('XMP ', Buffer.alloc(megabyte - 1, text))
  const manyEntries = repeated('\x25\x88\x04\0\0\0\x10\0\0\x08', megabyte - 1)
  manyEntries.write('II*\0\x08\0\0\0', 'latin1')
  const unit = compressedXmp(Buffer.alloc(1_000_000, '<GPS '))
  const resources = jpegSegment(0xed, 'Photoshop 3.0\0', repeated('8BIM\x04\x22\0\0\0\0\0\0', 60_000))
  const pictures: [name: string, contentType: string, bytes: Buffer][] = [
    ['markers of segments', 'image/jpeg', behindJpeg('\xff\xe1')],
    ['fill bytes', 'image/jpeg', behindJpeg('\xff')],
    ['names of segments', 'image/jpeg', behindJpeg('Exif\0')],
    ['empty segments', 'image/jpeg', behindJpeg('\xff\xe1\0\x08Exif\0\0')],
    ['8 MB of extended XMP', 'image/jpeg', withJpegSegments(jpeg, ...Array(120).fill(extendedXmp('<City>')))],
    ['empty resources', 'image/jpeg', withJpegSegments(jpeg, ...Array(16).fill(resources))],
    ['compressed texts', 'image/png', withPngChunks(png, ...Array(256).fill(unit))],
    ['empty chunks', 'image/png', withPngChunks(png, Buffer.alloc(12 * megabyte))],
    ['entries of a directory', 'image/webp', webp('EXIF', manyEntries)],
    ['chunks of Exif', 'image/webp', Buffer.concat([webp('EXIF', Buffer.alloc(0)), repeated('EXIF\0\0\0\0')])],
    ['empty elements', 'image/webp', xmp('<City/>')],
    ['elements without end', 'image/webp', xmp('<GPSx "')],
    ['a long name', 'image/webp', xmp(` ${'Location'.repeat(megabyte / 8)}`)],
    ['a letter and zeros', 'image/webp', xmp(`:${'\0'.repeat(60_000)}`)],
    ['texts of a GIF', 'image/gif', Buffer.concat([await smallPicture('gif'), repeated('!\xff\x0bXMP DataXMP\x01')])],
    [
      'inner boxes',
      'image/avif',
      Buffer.concat([avif([], 0).subarray(0, 28), box('meta', [0, 0, 0, 0], repeated('\0\0\0\x08free', 900_000))]),
    ],
    ['extents', 'image/avif', avif(Array(60_000).fill([0, 10 * megabyte]), 10 * megabyte)],
  ]
  for (const [name, contentType, bytes] of pictures) {
    it(`is read and written about once, without blocking the event loop: ${name}`, async (t) => {
      const path = await temporaryFile(t, bytes)
      const { read, written } = await countBytes(t, path)
      const work = process(path, contentType).catch((error: unknown) =>
        assert.ok(damaged(/damaged/)(error), String(error)),
      )
      const turns = await countTurns(work)
      assert.ok(read() <= 4 * bytes.length + megabyte, `${read()} of ${bytes.length} bytes read`)
      assert.ok(written() <= bytes.length, `${written()} of ${bytes.length} bytes written`)
      assert.ok(turns >= read() / megabyte, `${turns} turns for ${read()} bytes`)
      assert.equal((await stat(path)).size, bytes.length)
    })
  }
})

describe('metadata beyond the limits', () => {
  async function clean(t: TestContext, before: Buffer, contentType: string): Promise<Buffer> {
    const path = await temporaryFile(t, before)
    const { written } = await countBytes(t, path)
    await removeMetadata(path, contentType)
    assert.ok(written() > 0 && written() <= before.length, `${written()} of ${before.length} bytes`)
    return readFile(path)
  }

  async function assertSamePixels(before: Buffer, after: Buffer): Promise<void> {
    const [left, right] = await Promise.all([before, after].map((bytes) => sharp(bytes).raw().toBuffer()))
    assert.ok(left && right && left.equals(right))
  }

  it('is erased at any size, and nothing else', async (t) => {
    const jpeg = await photo(40, 30).withMetadata({ orientation: 6 }).jpeg().toBuffer()
    const large = withJpegSegments(jpeg, ...Array(40).fill(extendedXmp('dc:x="a" e:GPSLatitude="51" ')))
    const text = Buffer.concat([Buffer.from('XML:com.adobe.xmp\0'), Buffer.alloc(2 * megabyte, 'e:GPSLatitude="51" ')])
    const png = await photo(40, 30).withMetadata({ orientation: 6 }).png().toBuffer()
    for (const [before, contentType] of [
      [large, 'image/jpeg'],
      [withPngChunks(png, pngChunk('tEXt', text), compressedXmp(text)), 'image/png'],
    ] as const) {
      const after = await clean(t, before, contentType)
      assert.ok(!after.includes('GPSLatitude') && !after.includes('dc:x'))
      assert.equal((await sharp(after).metadata()).orientation, 6)
      await assertSamePixels(before, after)
      await sharp(after, { failOn: 'warning' }).raw().toBuffer()
    }
  })

  it('in more than a thousand pieces counts as a damaged picture', async (t) => {
    const pieces = (count: number) => Array<Buffer>(count).fill(jpegSegment(0xe1, 'Exif\0\0', Buffer.from('GPS')))
    const jpeg = await smallPicture('jpeg')
    const refused = await temporaryFile(t, withJpegSegments(jpeg, ...pieces(1001)))
    await assert.rejects(removeMetadata(refused, 'image/jpeg'), damaged(/has more than 1000 pieces of metadata\. Save/))
    await clean(t, withJpegSegments(jpeg, ...pieces(1000)), 'image/jpeg')
  })

  it('without an end in a GIF counts as a damaged picture', async (t) => {
    const endless = Buffer.concat([await smallPicture('gif'), Buffer.from('!\xff\x0bXMP DataXMP<x', 'latin1')])
    await assert.rejects(
      removeMetadata(await temporaryFile(t, endless), 'image/gif'),
      damaged(/its XMP has no end\. Save/),
    )
  })

  it('of an AVIF with overlapping, outlying or too many extents counts as a damaged picture', async (t) => {
    const size = 2 * megabyte
    const rows: [extents: [number, number][], RegExp][] = [
      [Array(1500).fill([0, size]), /more than 32 ranges/],
      [Array.from({ length: 33 }, (_, index) => [1000 + index, 1]), /more than 32 ranges/],
      [Array(2).fill([1000, size / 2]), /overlap or lie outside of the file/],
      [
        [
          [5000, 100],
          [5099, 100],
        ],
        /overlap or lie outside of the file/,
      ],
      [[[5000, 2 * size]], /overlap or lie outside of the file/],
      [[[0xffff_ffff, 1]], /overlap or lie outside of the file/],
    ]
    for (const [extents, reason] of rows) {
      const path = await temporaryFile(t, avif(extents, size))
      const { written } = await countBytes(t, path)
      await assert.rejects(process(path, 'image/avif'), damaged(reason))
      assert.equal(written(), 0)
    }
  })

  it('of an AVIF is erased in all its extents, each byte once', async (t) => {
    const extents: [number, number][] = Array.from({ length: 32 }, (_, index) => [1000 + index * 60_000, 60_000])
    const before = avif(extents, 2 * megabyte)
    const after = await clean(t, before, 'image/avif')
    const exifBytes = 30 // an offset, and Exif with only the orientation
    assert.ok(after.subarray(1000 + exifBytes, 1000 + 32 * 60_000).every((byte) => byte === 0x20))
    assert.ok(after.subarray(0, 1000).equals(before.subarray(0, 1000)))
    assert.ok(after.subarray(1000 + 32 * 60_000).every((byte) => byte === 7))
  })
})
