import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import send from '@fastify/send'
import { AppError } from '../../../src/core/errors.ts'
import { type Format, formats } from '../../../src/media/files/formats.ts'
import { type FileFacts, inspectFile } from '../../../src/media/files/inspect.ts'
import {
  animatedPng,
  animation,
  binaryPolyglot,
  countBytes,
  page,
  phonePhoto,
  photo,
  plainPng,
  pngChunk,
  scriptedSvg,
  smallFormats,
  smallPicture,
  temporaryFile,
  textPolyglot,
  withPngChunks,
} from '../../helpers/pictures.ts'

const maxPixels = 100_000_000

async function inspect(t: TestContext, bytes: Buffer | string, name?: string): Promise<FileFacts> {
  return inspectFile(await temporaryFile(t, bytes, name), { maxPixels })
}

function facts(contentType: string, extension: string, type: string, width: number | null = null, height = width) {
  return { contentType, extension, type, width, height }
}

const refused = (message: RegExp) => (error: unknown) =>
  error instanceof AppError && error.code === 'ValidationError' && message.test(error.message)

describe('inspectFile', () => {
  it('recognises pictures by their bytes and measures them', async (t) => {
    const expected = { jpeg: 'jpg', png: 'png', webp: 'webp', gif: 'gif', avif: 'avif' }
    for (const format of smallFormats) {
      const found = await inspect(t, await smallPicture(format), 'anything.exe')
      assert.deepEqual(found, facts(`image/${format}`, expected[format], 'image', 40, 30))
    }
    const lossless = await photo(40, 30).webp({ lossless: true }).toBuffer()
    assert.deepEqual(await inspect(t, lossless), facts('image/webp', 'webp', 'image', 40, 30))
    for (const format of ['gif', 'webp'] as const) {
      assert.deepEqual(await inspect(t, await animation(format)), facts(`image/${format}`, format, 'image', 40, 30))
    }
    assert.deepEqual(await inspect(t, await animatedPng()), facts('image/png', 'png', 'image', 40, 30))
    assert.deepEqual(await inspect(t, await photo(40, 30).tiff().toBuffer()), facts('image/tiff', 'tif', 'image'))
    const largeTiff = await photo(400, 300).tiff({ compression: 'none' }).toBuffer()
    assert.deepEqual(await inspect(t, largeTiff), facts('image/tiff', 'tif', 'image'))
    const bitmap = Buffer.alloc(60)
    bitmap.write('BM')
    bitmap.writeUInt32LE(40, 14)
    bitmap.writeInt32LE(40, 18)
    bitmap.writeInt32LE(-30, 22)
    assert.deepEqual(await inspect(t, bitmap), facts('image/bmp', 'bmp', 'image', 40, 30))
    const icon = Buffer.from('00000100020010100000010020000000000026000000' + '00000000010020000000000026000000', 'hex')
    assert.deepEqual(await inspect(t, icon), facts('image/vnd.microsoft.icon', 'ico', 'image', 256))
  })

  it('measures a picture as displayed, also with an Exif rotation', async (t) => {
    for (const format of ['jpeg', 'png', 'webp', 'avif'] as const) {
      for (const [orientation, width, height] of [
        [1, 40, 30],
        [3, 40, 30],
        [5, 30, 40],
        [6, 30, 40],
        [8, 30, 40],
      ] as const) {
        const turned = await photo(40, 30).withMetadata({ orientation }).toFormat(format).toBuffer()
        const found = await inspect(t, turned)
        assert.deepEqual([found.width, found.height], [width, height], `${format} ${orientation}`)
      }
    }
    const found = await inspect(t, await phonePhoto(400, 300))
    assert.deepEqual([found.width, found.height], [300, 400])
  })

  it('finds the size of a photograph behind megabytes of metadata', async (t) => {
    const jpeg = await smallPicture('jpeg')
    const comment = Buffer.concat([Buffer.from('ffedffff', 'hex'), Buffer.alloc(0xffff - 2)])
    const found = await inspect(t, Buffer.concat([jpeg.subarray(0, 2), ...Array(40).fill(comment), jpeg.subarray(2)]))
    assert.deepEqual(found, facts('image/jpeg', 'jpg', 'image', 40, 30))
  })

  it('recognises an SVG by its first element, after any prologue', async (t) => {
    const rows: [string, number | null, number | null][] = [
      [scriptedSvg, 20, 10],
      ['\ufeff<?xml version="1.0"?>\n<!-- <html> --><svg viewBox="0 0 24 12"/>', 24, 12],
      ['<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd" [<!ENTITY a "b">]>\n<svg/>', null, null],
      ['<s:svg xmlns:s="http://www.w3.org/2000/svg" width="1.5e2px" height=\'50\'></s:svg>', 150, 50],
      ['<SVG width="100%" height="50" viewBox="0 0 1 1">', null, null],
      [`<!--${' '.repeat(40_000)}--><svg width="5" height="6">`, 5, 6],
      [`<svg viewBox="0 0 8 4">${'é'.repeat(50_000)}</svg>`, 8, 4],
    ]
    for (const [svg, width, height] of rows) {
      assert.deepEqual(await inspect(t, svg), { ...facts('image/svg+xml', 'svg', 'image'), width, height }, svg)
    }
  })

  it('treats as HTML everything that a browser might sniff as HTML', async (t) => {
    for (const text of [
      page,
      ' \n<HTML><p>',
      '<script>alert(1)</script>',
      '<!-- hello -->',
      '<body onload=alert(1)>',
      '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>',
      '<iframe src="//example.com">',
      '<h1 class="x">',
      '<div',
    ]) {
      assert.deepEqual(await inspect(t, text, 'photo.png'), facts('text/html', 'html', 'file'), text)
    }
  })

  it('distinguishes XML, text and text-based formats', async (t) => {
    const rows: [string, string][] = [
      ['<?xml version="1.0"?><note>svg</note>', 'xml'],
      ['<kml xmlns="http://www.opengis.net/kml/2.2"></kml>', 'xml'],
      ['Grüße aus Köln,\n\tdie Bäckerei', 'txt'],
      ['<3 bread', 'txt'],
      ['{"a": 1}', 'txt'],
      ['BMW, GIF and MZ are words', 'txt'],
      [`${'é'.repeat(32_767)}x${'é'.repeat(10)}`, 'txt'], // a character is cut where inspection stops
      ['%PDF-1.4\n1 0 obj <<>> endobj', 'pdf'],
      ['{\\rtf1\\ansi hello}', 'rtf'],
      ['BEGIN:VCALENDAR\r\nEND:VCALENDAR', 'ics'],
      ['WEBVTT\n\n00:01.000 --> 00:02.000\nHi', 'vtt'],
    ]
    for (const [text, extension] of rows) {
      const { contentType } = formats[extension as keyof typeof formats]
      assert.deepEqual(await inspect(t, text), facts(contentType, extension, 'file'), text.slice(0, 40))
    }
  })

  it('recognises videos, audio and archives, and treats the rest as bytes', async (t) => {
    const rows: [string, string][] = [
      ['0000001866747970' + '69736f6d0000020069736f6d6d703432', 'mp4'],
      ['1a45dfa39f4286810142f7810142f2810442f381084282847765626d', 'webm'],
      [`4f676753${'00'.repeat(24)}4f70757348656164`, 'opus'],
      ['494433030000000000ff', 'mp3'],
      [`504b0506${'00'.repeat(18)}`, 'zip'],
      ['4d5a900003000000', 'bin'],
      ['0102030405060708', 'bin'],
      ['c3', 'bin'],
      ['48656c6c6f00', 'bin'],
    ]
    for (const [hex, extension] of rows) {
      const { contentType, type } = formats[extension as keyof typeof formats]
      assert.deepEqual(await inspect(t, Buffer.from(hex, 'hex')), facts(contentType, extension, type), extension)
    }
  })

  it('reports an empty file, a damaged picture and one that is too large', async (t) => {
    await assert.rejects(inspect(t, ''), refused(/^The file is empty\.$/))
    const bomb = plainPng(30_000, 30_000)
    assert.ok(bomb.length < 200_000)
    await assert.rejects(inspect(t, bomb), refused(/has 900,000,000 pixels \(30000 × 30000\); at most 100,000,000 are/))
    const png = await smallPicture('png')
    const absurd = Buffer.from(png)
    absurd.writeUInt32BE(0xffff_ffff, 16)
    absurd.writeUInt32BE(0xffff_ffff, 20)
    await assert.rejects(inspect(t, absurd), refused(/pixels/))
    const empty = Buffer.from(png)
    empty.writeUInt32BE(0, 16)
    await assert.rejects(inspect(t, empty), refused(/^The picture is damaged: it begins like image\/png/))
    const jpeg = await smallPicture('jpeg')
    await assert.rejects(inspect(t, jpeg.subarray(0, 40)), refused(/damaged/))
    await assert.rejects(inspect(t, Buffer.from('GIF99a\0\0\0\0\0')), refused(/damaged/))
    const almost = await inspect(t, plainPng(9999, 10_000))
    assert.deepEqual(almost, facts('image/png', 'png', 'image', 9999, 10_000))
  })

  it('classifies polyglot files safely', async (t) => {
    assert.deepEqual(await inspect(t, textPolyglot), facts('text/plain', 'txt', 'file'))
    const polyglot = binaryPolyglot(await smallPicture('gif'))
    assert.deepEqual(await inspect(t, polyglot), facts('image/gif', 'gif', 'image', 10_799, 30))
    const commented = withPngChunks(await smallPicture('png'), pngChunk('tEXt', Buffer.from(page)))
    assert.deepEqual(await inspect(t, commented), facts('image/png', 'png', 'image', 40, 30))
  })

  it('answers or refuses any bytes', async (t) => {
    const base = await Promise.all(smallFormats.map(smallPicture))
    const samples = [...base, await phonePhoto(40, 30), Buffer.from(scriptedSvg), Buffer.from(page)]
    let seed = 7
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
      return seed % below
    }
    const cases: Buffer[] = []
    for (const sample of samples) {
      for (let length = 1; length < Math.min(sample.length, 700); length += 7) cases.push(sample.subarray(0, length))
      for (let at = 0; at < Math.min(sample.length, 600); at += 2) {
        const broken = Buffer.from(sample)
        broken[at] = [0, 0xff, 0x80, random(256)][(at / 2) % 4] ?? 0
        cases.push(broken)
      }
    }
    for (let count = 0; count < 300; count += 1) {
      cases.push(Buffer.from(Array.from({ length: 1 + random(200) }, () => random(256))))
    }
    const path = await temporaryFile(t, '')
    for (const bytes of cases) {
      await writeFile(path, bytes)
      await inspectFile(path, { maxPixels }).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error
      })
    }
  })

  it('reads a large file crafted to be slow at most once', async (t) => {
    const size = 4 * 1024 * 1024 // many times what is read at once
    const jpegStart = Buffer.from('ffd8ffe0', 'hex')
    const boxStart = (await smallPicture('avif')).subarray(0, 32)
    const hostile: [string, Buffer][] = [
      ['fill bytes', Buffer.concat([jpegStart.subarray(0, 3), Buffer.alloc(size, 0xff)])],
      ['empty segments', Buffer.concat([jpegStart.subarray(0, 2), Buffer.alloc(size, Buffer.from('ffe00002', 'hex'))])],
      ['empty chunks', withPngChunks(await smallPicture('png'), Buffer.alloc(size - (size % 12)))],
      ['boxes', Buffer.concat([boxStart, Buffer.alloc(size, Buffer.from('0000000866726565', 'hex'))])],
      ['tags', Buffer.alloc(size, '<a "')],
      ['comments', Buffer.alloc(size, '<!--')],
      ['document types', Buffer.alloc(size, '<!doctype [')],
      ['attributes', Buffer.concat([Buffer.from('<svg '), Buffer.alloc(size, ' a ="')])],
    ]
    for (const [name, bytes] of hostile) {
      const path = await temporaryFile(t, bytes)
      const { read } = await countBytes(t, path)
      await inspectFile(path, { maxPixels }).catch((error: unknown) => assert.ok(error instanceof AppError, name))
      assert.ok(read() <= 2 * bytes.length, `${name}: ${read()} of ${bytes.length} bytes`)
      t.mock.restoreAll()
    }
  })
})

describe('formats', () => {
  it('have extensions that the file server maps to the same content type', () => {
    for (const [extension, { contentType }] of Object.entries<Format>(formats)) {
      const known = send.mime.getType(`x.${extension}`)
      if (known !== null) assert.equal(known, contentType, extension)
      assert.ok(known !== null || extension === 'jxl', extension)
    }
  })
})

describe('inspecting files', () => {
  it('loads no image decoder into the server process', async () => {
    const files = new URL('../../../src/media/files/', import.meta.url)
    const program = `
      const { canDerive } = await import(${JSON.stringify(new URL('derive.ts', files).href)})
      await import(${JSON.stringify(new URL('inspect.ts', files).href)})
      await import(${JSON.stringify(new URL('remove-metadata.ts', files).href)})
      await canDerive()
      console.log(process.report.getReport().sharedObjects.filter((name) => /vips|sharp/.test(name)).length)`
    const run = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
    assert.equal(run.stdout.trim(), '0')
    assert.ok(createRequire(import.meta.url).resolve('sharp'), 'sharp is installed, but was not loaded')
  })
})
