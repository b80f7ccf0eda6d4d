import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isKeyOfGroup } from '../../src/content/media-keys.ts'
import { assertRefused } from '../helpers/editing.ts'
import { onBothEngines, testStartMs } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { type Librarian, librarian, noTraces } from '../helpers/media.ts'
import { smallPicture } from '../helpers/pictures.ts'

const boundary = 'edge'
const partOf = (filename: string, field = 'file'): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${field}"; filename="${filename}"\r\nContent-Type: image/gif\r\n\r\n`
const end = `\r\n--${boundary}--\r\n`

/** A raw body, without a form encoder. */
function sendRaw({ app, admin, group }: Librarian, body: string, type = `multipart/form-data; boundary=${boundary}`) {
  return app.inject({
    method: 'POST',
    url: `/manage/groups/${group.groupId}/media`,
    payload: Buffer.from(body),
    headers: { 'content-type': type, authorization: `Bearer ${admin}` },
  })
}

onBothEngines('an uploaded file', (engine) => {
  it('has the type of its content, with any name and declared type', async () => {
    const { add, stored, group } = await librarian(engine)
    const shown = await add('Summer Photo.exe', await smallPicture('png'))
    assert.deepEqual(
      [shown.name, shown.type, shown.contentType, shown.width, shown.height, shown.problem, shown.version],
      ['Summer Photo.exe', 'image', 'image/png', 40, 30, null, 1],
    )
    const folder = `${group.groupId}/2026/03`
    assert.equal(shown.key, `${folder}/${shown._id}-summer-photo.png`)
    const [key = '', ...others] = await stored()
    assert.deepEqual(others, [])
    assert.match(key, new RegExp(`^${folder}/[0-9a-f]{24}-summer-photo\\.png$`))
    assert.ok(shown.currentFile.source.includes(`/media/${group.group.bucketName}/${key}?expires=`))
    assert.equal(shown.createdAt, new Date(testStartMs).toISOString())
  })

  it('has the name given in the form, or in the URL', async () => {
    const { add, does } = await librarian(engine)
    assert.equal((await add('From the form.txt', 'one')).name, 'From the form.txt')
    const named = await does('POST', '/media?name=From%20the%20address', fileForm('form.txt', 'two'))
    assert.equal(named.name, 'From the address')
    assert.match(named.key, /-from-the-address\.txt$/)
  })

  it('gets a safe key and a readable name for any file name', async () => {
    const created = await librarian(engine)
    const names: [sent: string, shown: string][] = [
      ['../../x', 'x'],
      ['..\\..\\x.txt', 'x.txt'],
      ['/etc/passwd', 'passwd'],
      ['C:\\Windows\\notepad.exe', 'notepad.exe'],
      ['..', 'file'],
      ['.htaccess', '.htaccess'],
      ['a\0b.txt', 'ab.txt'],
      ['photo\u202Egpj.exe', 'photogpj.exe'],
      ['zero\u200Bwidth.txt', 'zerowidth.txt'],
      ['  spaces  ', 'spaces'],
      ['', 'file'],
      ['\u202E', 'file'],
      ['ＦＵＬＬ ｗｉｄｔｈ．txt', 'ＦＵＬＬ ｗｉｄｔｈ．txt'],
      ['日本語の写真.txt', '日本語の写真.txt'],
      ['x'.repeat(5000), 'x'.repeat(200)],
      [`${'x'.repeat(199)}😀.txt`, 'x'.repeat(199)],
      ['%2e%2e%2fx', '%2e%2e%2fx'],
      ["'; drop table media; --", "'; drop table media; --"],
      ['<script>.html', '<script>.html'],
    ]
    for (const [position, [sent, shown]] of names.entries()) {
      const answer = await sendRaw(created, `${partOf(sent)}content ${position}${end}`)
      assert.equal(answer.statusCode, 201, `${JSON.stringify(sent.slice(0, 50))}: ${answer.body}`)
      const { name, key, _id } = answer.json().data
      assert.equal(name, shown, JSON.stringify(sent.slice(0, 50)))
      assert.ok(isKeyOfGroup(created.group.groupId, key), key)
      assert.match(key, /^[0-9a-f]{24}\/2026\/03\/[0-9a-f]{24}-[\p{L}\p{N}_.-]{1,80}\.txt$/u)
      const { items } = await created.does('GET', `/media?search=${encodeURIComponent(shown)}&limit=100`)
      assert.ok(items.some((item: { _id: string; name: string }) => item._id === _id && item.name === shown))
    }
    assert.equal((await created.stored()).length, names.length)
  })

  it('identical in bytes and name is the same item; under another name another item, with the bytes stored once', async () => {
    const { add, stored, traces } = await librarian(engine)
    const first = await add('menu.txt', 'Bread')
    assert.deepEqual(await add('menu.txt', 'Bread'), first)
    const other = await add('carte.txt', 'Bread')
    assert.notEqual(other.key, first.key)
    assert.equal(other.currentFile.source, first.currentFile.source)
    assert.equal((await stored()).length, 1)
    const { media, files } = await traces()
    assert.deepEqual([media, files], [2, 1])
  })

  it('uploaded concurrently is stored once, without leftovers', async () => {
    const { add, traces } = await librarian(engine)
    const picture = await smallPicture('webp')
    const shown = await Promise.all(Array.from({ length: 8 }, () => add('same.webp', picture)))
    assert.equal(new Set(shown.map(({ _id }) => _id)).size, 1)
    const { stored, ...rows } = await traces()
    assert.equal(stored.length, 1)
    assert.deepEqual(rows, { inbox: [], media: 1, files: 1, jobs: 1 })
  })

  it('of another group is stored separately, so that no group learns about others’ files', async () => {
    const { add, newManagedGroup, ask } = await librarian(engine)
    const mine = await add('menu.txt', 'Bread')
    const other = await newManagedGroup()
    const theirs = await ask('POST', `/manage/groups/${other.groupId}/media`, fileForm('menu.txt', 'Bread'))
    assert.notEqual(theirs.currentFile.source, mine.currentFile.source)
    assert.ok(theirs.key.startsWith(`${other.groupId}/`))
    await ask('DELETE', `/manage/groups/${other.groupId}/media/${theirs._id}`)
  })

  it('is recorded as a change, with its name and sender', async () => {
    const { add, does } = await librarian(engine)
    const { _id } = await add('menu.txt', 'Bread')
    const { items } = await does('GET', '/audit?limit=1')
    assert.equal(items[0].type, 'media.created')
    assert.equal(items[0].subjectId, _id)
    assert.equal(items[0].note, 'menu.txt')
  })
})

onBothEngines('a refused upload leaves nothing behind, and has a reason:', (engine) => {
  it('forms without a file, with the wrong part, with several, or broken', async () => {
    const created = await librarian(engine)
    const first = `${partOf('a.txt')}hello`
    const field = `--${boundary}\r\nContent-Disposition: form-data; name="name"\r\n\r\nx`
    const headers = `--${boundary}\r\nX`
    const refused: [what: string, body: string, message: RegExp][] = [
      ['an empty form', end.slice(2), /The form contains no file. Send the file as multipart\/form-data .* curl -F/],
      ['text instead of a file', `${field}${end}`, /"name" belongs in the query string/],
      ['text before the file', `${field}\r\n${first}${end}`, /"name" belongs in the query string/],
      ['text behind the file', `${first}\r\n${field}${end}`, /"name" belongs in the query string/],
      ['another name', `${partOf('a.txt', 'photo')}hello${end}`, /has a file in "photo".*a part called "file"/],
      ['two files', `${first}\r\n${partOf('b.txt')}other${end}`, /more than one file/],
      ['a second file of another name', `${first}\r\n${partOf('b.txt', 'more')}other${end}`, /more than one file/],
      ['no bytes', `${partOf('a.txt')}${end}`, /The file is empty/],
      ['no end', first, /is incomplete/],
      ['no end, right behind the headers', partOf('a.txt'), /form cannot be read/],
      ['half a boundary', `${first}\r\n--${boundary.slice(0, 2)}`, /is incomplete/],
      ['something broken off behind the file', `${first}\r\n${field}`, /is incomplete/],
      ['the end in the middle of headers', '--edge\r\nContent-Disposition: form-data; na', /form/],
      ['a part that is all headers, before the file', `${headers}\r\n${first}${end}`, /form cannot be read/],
      ['a part that is all headers, behind the file', `${first}\r\n${headers}${end}`, /form cannot be read/],
      ['a part that is all headers, and no file', `${headers}${end}`, /form cannot be read/],
      ['no form at all', 'hello', /form cannot be read/],
      ['nothing', '', /form cannot be read|is required/],
    ]
    for (const [what, body, message] of refused) {
      const answer = await sendRaw(created, body)
      assert.equal(answer.statusCode, 400, `${what}: ${answer.body}`)
      assert.match(answer.json().error, message, what)
      assert.deepEqual(await created.traces(), noTraces, what)
    }
  })

  it('bodies that are not forms', async () => {
    const created = await librarian(engine)
    const body = `${partOf('a.txt')}hello${end}`
    assertRefused(await sendRaw(created, '{"name":"x"}', 'application/json'), 415, /multipart\/form-data/)
    assertRefused(await sendRaw(created, body, 'multipart/form-data'), 400, /form cannot be read/)
    assertRefused(await sendRaw(created, body, 'multipart/form-data; boundary='), 400, /form cannot be read/)
    assertRefused(await sendRaw(created, 'hello', 'application/octet-stream'), 415, /multipart\/form-data/)
    assertRefused(await sendRaw(created, 'a=b', 'application/x-www-form-urlencoded'), 415, /multipart\/form-data/)
    assertRefused(await created.send('POST', '/media'), 400, /A file is required/)
    assert.deepEqual(await created.traces(), noTraces)
  })

  it('forms sent to a JSON endpoint', async () => {
    const { send, traces } = await librarian(engine)
    for (const path of ['/collections', '/media/derive', '/media/sweep'])
      assertRefused(await send('POST', path, fileForm('a.txt', 'hello')), 415, /application\/json/)
    assert.deepEqual(await traces(), noTraces)
  })

  it('files that are larger than the tier allows', async () => {
    const created = await librarian(engine, { MEDIA_MAX_BYTES: 'free=1KB,basic=2KB,pro=1MB,proplus=1MB' })
    const { send, add, traces, call, group } = created
    const form = (bytes: number) => fileForm('a.txt', 'x'.repeat(bytes))
    assertRefused(await send('POST', '/media', form(1025)), 413, /larger than 1 KB, the limit of this tier/)
    assert.deepEqual(await traces(), noTraces)
    assert.equal((await add('a.txt', 'x'.repeat(1024))).bytes, 1024)
    await call('POST', `/manage/groups/${group.groupId}/tier`, { tier: 'basic' })
    assert.equal((await add('b.txt', 'x'.repeat(2048))).bytes, 2048)
  })

  it('files without the required role, for another group, or with a name that is too long', async () => {
    const { send, call, newManagedGroup, group, traces } = await librarian(engine)
    const form = () => fileForm('a.txt', 'hello')
    assertRefused(await send('POST', '/media', form(), group.tokens.viewer), 403, /needs the role editor/)
    const other = await newManagedGroup()
    const foreign = `/manage/groups/${other.groupId}/media`
    assertRefused(await call('POST', foreign, form(), group.tokens.owner), 404, /./)
    assertRefused(await call('POST', foreign, form(), null), 401, /./)
    assertRefused(await send('POST', `/media?name=${'x'.repeat(201)}`, form()), 400, /name/)
    assertRefused(await send('POST', '/media?nmae=x', form()), 400, /nmae is not a parameter/)
    assert.deepEqual(await traces(), noTraces)
  })
})
