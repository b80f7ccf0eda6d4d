import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createSite } from '../helpers/authoring.ts'
import { createHarness, type Harness, localFolder } from '../helpers/harness.ts'
import { dumpOf, exportOf, importInto, newPath, readExport, writeExport } from './exports.ts'
import { upload } from './library.ts'

type AnyLine = { type: string; [member: string]: unknown }
type Edit = (lines: AnyLine[], folder: string) => AnyLine[] | undefined

const otherGroupId = 'ffffffffffffffffffffffff'
const original = newPath()
let source: Harness
let target: Harness

before(async () => {
  source = await createHarness('sqlite')
  target = await createHarness('sqlite')
  const group = await source.newGroup({ name: 'Shop' })
  const { id } = group.group
  const image = { name: 'a', key: `${id}/a.txt`, type: 'image' }
  await createSite(group.store, { name: 'Site', domainName: '', settings: { logo: image } }, source.clock.now)
  const posts = await group.collection('Posts', { title: { type: 'text', required: true }, cover: { type: 'image' } })
  await group.add(posts, { value: { title: 'One', cover: image } }, { value: { title: 'Two' } })
  const products = await group.integration('stripe', { name: { type: 'text' } })
  await group.add(
    products,
    { value: { name: 'Bread' }, externalId: 'p1' },
    { value: { name: 'Cake' }, externalId: 'p2' },
  )
  await source.service.media.storage.write('media', `${id}/a.txt`, Buffer.from('file a'))
  await source.service.media.storage.write('media', `${id}/b/c.txt`, Buffer.from('file c'))
  await upload(source, id, 'd.txt', 'file d')
  await upload(source, id, 'e.txt', 'file e')
  await exportOf(source, id, original)
})

after(async () => {
  await source.close()
  await target.close()
})

/** A copy of the export with lines changed, and a matching checksum like a forger's. */
function edited(edit: Edit): string {
  const folder = newPath()
  cpSync(original, folder, { recursive: true })
  const lines = edit(readExport(folder) as unknown as AnyLine[], folder)
  if (!lines) return folder
  const text = lines
    .filter(({ type }) => type !== 'end')
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('')
  const sha256 = createHash('sha256').update(text).digest('hex')
  writeExport(
    folder,
    lines.map((line) => (line.type === 'end' ? { ...line, sha256 } : line)),
  )
  return folder
}

/** Changes the first line of a type. */
const change =
  (type: string, changes: object): Edit =>
  (lines) => {
    const position = lines.findIndex((line) => line.type === type)
    return lines.map((line, at) => (at === position ? ({ ...line, ...changes } as AnyLine) : line))
  }

const inText =
  (replace: (text: string) => string): Edit =>
  (_, folder) => {
    const file = join(folder, 'group.ndjson')
    writeFileSync(file, replace(readFileSync(file, 'utf8')))
    return undefined
  }

const swap =
  (type: string): Edit =>
  (lines) => {
    const first = lines.findIndex((line) => line.type === type)
    return lines.with(first, lines[first + 1] as AnyLine).with(first + 1, lines[first] as AnyLine)
  }

/** Changes the file of the first item of the library. */
const changeFile =
  (changes: object): Edit =>
  (lines, folder) => {
    const file = lines.find(({ type }) => type === 'libraryItem')?.file as object
    return change('libraryItem', { file: { ...file, ...changes } })(lines, folder)
  }

const itemsOf = (lines: AnyLine[]) => lines.filter(({ type }) => type === 'libraryItem')

const mediaOf = (lines: AnyLine[]) => String(lines.find(({ type }) => type === 'media')?.key)

const cases: [what: string, edit: Edit, message: RegExp][] = [
  ['cut off after some line', (lines) => lines.slice(0, 4), /the last line is missing: the file was cut off/],
  ['cut off in the middle of a line', (_, folder) => void truncateSync(join(folder, 'group.ndjson'), 700), /line 4: is not JSON[\s\S]+cut off/],
  ['without a line', (lines) => lines.filter(({ type }) => type !== 'site'), /had 1 sites, and there are 0/],
  ['with another word in it', inText((text) => text.replace('"One"', '"Uno"')), /was changed after the export[^.]*\. If you changed it on purpose, add --edited/],
  ['with lines after its end', inText((text) => `${text}{"type":"site"}\n`), /follows the end/],
  ['with objects in another order', swap('object'), /line 5: objects must be in the order of their ids/],
  ['with versions without their object', (lines) => lines.toSpliced(2, 0, { ...version, type: 'version' }), /version cannot follow one of type site/],
  ['with sites after collections', (lines) => [...lines.slice(0, 1), ...lines.slice(2, 3), ...lines.slice(1, 2), ...lines.slice(3)], /site cannot follow one of type collection/],
  ['with a version newer than its object', (lines) => lines.toSpliced(4, 0, { ...version, type: 'version' }), /older than their object/],
  ['with an id twice', (lines) => lines.toSpliced(4, 0, lines[3] as AnyLine), /appears more than once in the file/],
  ['with a product twice', inText((text) => text.replace('"externalId":"p2"', '"externalId":"p1"')), /the externalId p1 appears more than once/],
  ['with two collections of one name', (lines) => lines.toSpliced(3, 0, { ...(lines[2] as AnyLine), id: otherGroupId }), /more than one collection "Posts"/],
  ['of a newer format', change('sluice-export', { format: 5 }), /has the format 5, and this Sluice reads 1, 2, 3, 4\./],
  ['without a head', (lines) => lines.slice(1), /not an export of Sluice: its first line is not the head/],
  ['with an id that is a path', change('sluice-export', { groupId: '../../../etc' }), /groupId must be an id/],
  ['with a tier that does not exist', change('sluice-export', { tier: 'gold' }), /tier must be one of free/],
  ['with an unknown member', change('object', { color: 'red' }), /line 4: color is unknown/],
  ['without a member', change('object', { archived: undefined }), /line 4: archived is missing/],
  ['with a schema that is none', change('collection', { schema: { title: { type: 'song' } } }), /title.type must be one of/],
  ['with an object that does not fit its schema', change('object', { objectValue: { title: 5 } }), /line 4: objectValue.title must be a text/],
  ['with a publish date that is none', change('object', { publishDate: '2026-02-31' }), /publishDate must be a moment/],
  ['with a site that cannot be', change('site', { domainName: 'https://x' }), /domainName must be a host name/],
  ['with an unknown setting', change('collection', { settings: { secret: 1 } }), /settings.secret is unknown/],
  ['with __proto__ in an object', inText((text) => text.replace('"objectValue":{', '"objectValue":{"__proto__":{"x":1},')), /__proto__/],
  ['with __proto__ as a line’s member', inText((text) => text.replace('{"type":"site",', '{"type":"site","__proto__":{},')), /__proto__ is unknown/],
  ['with __proto__ deep in a file’s value', inText((text) => text.replace('"type":"image"}', '"type":"image","more":[{"__proto__":1}]}')), /__proto__/],
  ['with a NUL', change('object', { objectValue: { title: '\0' } }), /character that cannot be stored/],
  ['with an infinite number', inText((text) => text.replace('"title":"Two"', '"title":"Two","cover":1e999')), /number that cannot be stored/],
  ['nested without end', change('object', { objectValue: JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`) }), /nested more than 40 deep/],
  ['that shows a file of another group', change('object', { objectValue: { title: 'x', cover: { name: 'a', key: `${otherGroupId}/a.txt`, type: 'image' } } }), /media key "f{24}\/a.txt" does not belong to this group/],
  ['with a file of another group', change('media', { key: `${otherGroupId}/a.txt` }), /media key "f{24}\/a.txt" does not belong to this group/],
  ['with a file outside of its folder', (lines, folder) => change('media', { key: `${lines[0]?.groupId}/../../group.ndjson` })(lines, folder), /does not belong to this group/],
  ['with a file that is not there', (lines, folder) => void rmSync(join(folder, 'media', mediaOf(lines).slice(25))), /\.txt cannot be read: ENOENT/],
  ['with a file of another size', (_, folder) => appendFileSync(join(folder, 'media', 'a.txt'), '!') as undefined, /has 7 bytes, and the export says 6/],
  ['with a file of other content', (_, folder) => writeFileSync(join(folder, 'media', 'a.txt'), 'file b') as undefined, /not the file that was exported: its SHA-256 is another/],
  ['with a link instead of a file', (_, folder) => {
    renameSync(join(folder, 'media', 'a.txt'), join(folder, 'elsewhere'))
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'media', 'a.txt'))
    return undefined
  }, /a.txt is not a plain file/],
  ['with a link instead of a folder', (_, folder) => {
    renameSync(join(folder, 'media', 'b'), join(folder, 'elsewhere'))
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'media', 'b'))
    return undefined
  }, /c.txt is not a plain file/],
  ['with an item of another group', change('libraryItem', { key: `${otherGroupId}/d.txt` }), /media key "f{24}\/d.txt" does not belong to this group/],
  ['with an item whose file is that of another group', changeFile({ key: `${otherGroupId}/d.txt` }), /media key "f{24}\/d.txt" does not belong to this group/],
  ['with a smaller picture of another group', changeFile({ derivatives: [{ width: 320, format: 'webp', key: `${otherGroupId}/d.webp`, bytes: 1 }] }), /media key "f{24}\/d.webp" does not belong to this group/],
  ['with a placeholder that is a script', changeFile({ placeholder: 'javascript:alert(1)' }), /file.placeholder must be a small picture as a data URL/],
  ['with a color that is none', changeFile({ color: 'red;}' }), /file.color must be a color/],
  ['with a type of media that does not exist', change('libraryItem', { mediaType: 'song' }), /mediaType must be one of image, video, file/],
  ['with a key twice in the library', (lines, folder) => change('libraryItem', { key: itemsOf(lines)[1]?.key })(lines, folder), /appears more than once in the library/],
  ['with the same bytes as two files', (lines, folder) => changeFile({ sha256: (itemsOf(lines)[1]?.file as AnyLine).sha256 })(lines, folder), /has the same bytes as one before it/],
  ['with one file that is two', (lines, folder) => changeFile({ id: (itemsOf(lines)[1]?.file as AnyLine).id })(lines, folder), /the file \w{24} differs from an earlier one of this id/],
  ['with a library after its files', (lines) => [...lines.filter(({ type }) => type !== 'libraryItem' && type !== 'end'), ...itemsOf(lines), ...lines.slice(-1)], /libraryItem cannot follow one of type media/],
  ['with a library in the format that has none', change('sluice-export', { format: 1 }), /an export of the format 1 has no library/],
  ['without an item', (lines) => lines.toSpliced(lines.indexOf(itemsOf(lines)[0] as AnyLine), 1), /had 2 libraryItems, and there are 1/],
  ['with a line that is not UTF-8', (_, folder) => {
    const text = readFileSync(join(folder, 'group.ndjson'), 'latin1').replace('"One"', '"\xff"')
    writeFileSync(join(folder, 'group.ndjson'), text, 'latin1')
    return undefined
  }, /line 4: is not UTF-8 text/],
  ['with a line of 100 MB', (_, folder) => {
    for (let part = 0; part < 100; part += 1) appendFileSync(join(folder, 'group.ndjson'), Buffer.alloc(1024 * 1024, 'x'))
    return undefined
  }, /Line 16 of .+ is longer than 16 MB/],
  ['that is empty', (_, folder) => writeFileSync(join(folder, 'group.ndjson'), '') as undefined, /is empty: it is not an export/],
  ['that is not there', (_, folder) => void rmSync(join(folder, 'group.ndjson')), /is not the folder of an export/],
] // biome-ignore format: one line for each case reads better

const version = {
  version: 1,
  objectValue: {},
  publishDate: null,
  archived: false,
  changedAt: '2026-01-01T00:00:00.000Z',
  changedBy: 'x',
  change: 'x',
}

describe('an export is refused before the first write', () => {
  for (const [what, edit, message] of cases) {
    it(what, async () => {
      const folder = edited(edit)
      const dump = await dumpOf(target.service.store)
      await assert.rejects(importInto(target, folder), (error: Error) => {
        assert.match(error.message, message)
        assert.equal(error.name, 'AppError')
        return true
      })
      assert.equal(await dumpOf(target.service.store), dump)
      assert.equal(existsSync(localFolder(target.service, 'media')), false)
    })
  }

  it('with all its problems by line, at most 20 and their number', async () => {
    const folder = edited((lines) =>
      lines.flatMap((line) =>
        line.type === 'object' ? Array.from({ length: 10 }, () => ({ ...line, archived: 1 })) : [line],
      ),
    )
    await assert.rejects(importInto(target, folder), (error: Error) => {
      assert.match(
        error.message,
        /^The export in .+ cannot be imported\. Nothing was changed\. There are 4\d problems:\n {2}line 4:/,
      )
      assert.equal(error.message.match(/^ {2}line \d+: /gm)?.length, 20)
      assert.match(error.message, /\n {2}and 2\d more\.$/)
      return true
    })
  })

  it('unless it is valid and marked as edited', async () => {
    const folder = edited(inText((text) => text.replace('"One"', '"Uno"')))
    await importInto(target, folder, { isEdited: true })
    assert.match(await dumpOf(target.service.store), /Uno/)
  })
})
