import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Data } from '../helpers/editing.ts'
import { onBothEnginesInProve } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { type Librarian, librarian, load, noTraces } from '../helpers/media.ts'
import { binaryPolyglot, page, photo, plainPng, scriptedSvg, smallPicture, textPolyglot } from '../helpers/pictures.ts'

/** A hostile file, the outcome of its upload, and how it is delivered to a browser. */
interface Case {
  what: string
  name: string
  content: () => Promise<Buffer> | Buffer
  /** Of the upload. */
  status: number
  message?: RegExp
  type?: string
  contentType?: string
  disposition?: 'inline' | 'attachment'
  /** The problem recorded when no derivatives could be made. */
  problem?: RegExp
}

/** The beginning of a Windows executable. */
const program = Buffer.concat([Buffer.from('MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff', 'latin1'), Buffer.alloc(500)])

const cases: Case[] = [
  {
    what: 'a PNG of a few kilobytes that is gigabytes in memory',
    name: 'bomb.png',
    content: () => plainPng(30_000, 30_000),
    status: 400,
    message: /900,000,000 pixels \(30000 × 30000\); at most 100,000,000 are allowed/,
  },
  {
    what: 'a GIF that is a script and can be typed',
    name: 'poly.gif',
    content: () => Buffer.from(textPolyglot),
    status: 201,
    type: 'file',
    contentType: 'text/plain; charset=utf-8',
    disposition: 'inline',
  },
  {
    what: 'a GIF that is a script and can be seen',
    name: 'poly.js',
    content: async () => binaryPolyglot(await smallPicture('gif')),
    status: 201,
    type: 'image',
    contentType: 'image/gif',
    disposition: 'inline',
  },
  {
    what: 'an SVG with a script',
    name: 'logo.svg',
    content: () => Buffer.from(scriptedSvg),
    status: 201,
    type: 'image',
    contentType: 'image/svg+xml',
    disposition: 'attachment',
  },
  {
    what: 'a page that is called a picture',
    name: 'photo.jpg',
    content: () => Buffer.from(page),
    status: 201,
    type: 'file',
    contentType: 'text/html; charset=utf-8',
    disposition: 'attachment',
  },
  {
    what: 'a JPEG that breaks off',
    name: 'half.jpg',
    content: async () => (await photo(600, 400).jpeg().toBuffer()).subarray(0, 9000),
    status: 201,
    type: 'image',
    contentType: 'image/jpeg',
    disposition: 'inline',
    problem: /picture is damaged/,
  },
  {
    what: 'a file that is called ../../x',
    name: '../../x',
    content: () => Buffer.from('out of the bucket'),
    status: 201,
    type: 'file',
    contentType: 'text/plain; charset=utf-8',
    disposition: 'inline',
  },
  { what: 'a file of no bytes', name: 'empty.png', content: () => Buffer.alloc(0), status: 400, message: /is empty/ },
  {
    what: 'a program that is called a picture',
    name: 'photo.jpg',
    content: () => program,
    status: 201,
    type: 'file',
    contentType: 'application/octet-stream',
    disposition: 'attachment',
  },
]

const send = ({ send: sendTo }: Librarian, name: string, content: Buffer) =>
  sendTo('POST', '/media', fileForm(name, content))

onBothEnginesInProve('a hostile file:', (engine) => {
  for (const { what, name, content, status, message, type, contentType, disposition, problem } of cases) {
    it(`${what} is ${status === 201 ? `delivered as ${contentType}, ${disposition}` : 'refused'}`, async () => {
      const library = await librarian(engine)
      await library.service.listen()
      const bytes = await content()
      const answer = await send(library, name, bytes)
      assert.equal(answer.statusCode, status, answer.body)
      if (message) {
        assert.match(answer.json().error, message)
        assert.deepEqual(await library.traces(), noTraces)
        return
      }
      const added: Data = answer.json().data
      assert.equal(added.type, type)
      await library.service.worker.runDue()
      const shown = await library.does('GET', `/media/${added._id}`)
      if (problem) assert.match(shown.problem, problem)
      else assert.equal(shown.problem, null)
      const delivered = await load(shown.currentFile.source)
      assert.equal(delivered.status, 200)
      assert.equal(delivered.headers.get('content-type'), contentType)
      assert.equal(delivered.headers.get('content-disposition'), disposition)
      assert.equal(delivered.headers.get('x-content-type-options'), 'nosniff')
      assert.match(String(delivered.headers.get('content-security-policy')), /default-src 'none'/)
      assert.ok(delivered.bytes.equals(bytes))
      assert.deepEqual((await library.traces()).inbox, [])
    })
  }
})

describe('a picture that crashes its process', () => {
  it('fails its own job permanently, and others continue', async () => {
    const library = await librarian('sqlite')
    const { add, service, does, call } = library
    const names = ['a.png', 'b.png', 'c.png']
    const sizes = [50, 60, 70]
    await add(
      names[0] ?? '',
      await photo(sizes[0] ?? 0, 50)
        .png()
        .toBuffer(),
    )
    const poison = await add('half.jpg', (await photo(600, 400).jpeg().toBuffer()).subarray(0, 9000))
    for (const n of [1, 2])
      await add(
        names[n] ?? '',
        await photo(sizes[n] ?? 0, 50)
          .png()
          .toBuffer(),
      )
    assert.equal(await service.worker.runDue(), 4)
    const { items } = await does('GET', '/media')
    for (const { name, currentFile } of items) assert.equal(currentFile.srcset !== undefined, name !== 'half.jpg', name)
    const jobs = (await call('GET', '/manage/jobs?state=failed')).json().data
    assert.equal(jobs.totalCount, 1)
    assert.equal(jobs.items[0].attempts, 1, 'a retry would not help')
    assert.equal(jobs.items[0].problem, (await does('GET', `/media/${poison._id}`)).problem)
    assert.equal((await does('GET', '/media')).totalCount, 4)
  })

  it('with more pixels than the setting allows is refused before anything is stored', async () => {
    const library = await librarian('sqlite', { MEDIA_MAX_PIXELS: '1000000' })
    const refused = await send(library, 'large.png', plainPng(1001, 1000))
    assert.equal(refused.statusCode, 400)
    assert.match(refused.json().error, /at most 1,000,000 are allowed. Make it smaller/)
    assert.deepEqual(await library.traces(), noTraces)
    assert.equal((await library.add('fits.png', plainPng(1000, 1000))).width, 1000)
  })
})
