import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sweepMedia } from '../../src/media/sweep.ts'
import { findPendingJobs } from '../../src/store/jobs/jobs.ts'
import { findMediaUsages } from '../../src/store/media/items.ts'
import { createSite } from '../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { photo, smallPicture } from '../helpers/pictures.ts'
import { dumpOf, exportOf, importInto } from './exports.ts'
import { contentOf, findItem, keysIn, libraryOf, makeOld, replace } from './library.ts'

const dayMs = 24 * 3600 * 1000

/** The export of a version before 0.3: files were copied into the bucket by hand, under any name. */
async function oldExport(engine: TestEngine) {
  const source = await harness(engine)
  const group = await source.newGroup({ name: 'Shop' })
  const { id } = group.group
  const file = (path: string, type: string) => ({ name: path, key: `${id}/${path}`, type })
  const bread = photo(400, 60).png().toBuffer()
  const contents: Record<string, Buffer> = {
    'pictures/bread.png': await bread,
    'pictures/bread-again.png': await bread,
    'recipe.txt': Buffer.from('flour and water'),
    'damaged.jpg': Buffer.from('ffd8ffe000', 'hex'),
    'unused.txt': Buffer.from('not used'),
  }
  const put = (path: string, content: Buffer) => source.service.media.storage.write('media', `${id}/${path}`, content)
  for (const [path, content] of Object.entries(contents)) await put(path, content)
  const logo = file('pictures/bread-again.png', 'image')
  await createSite(group.store, { name: 'Site', domainName: '', settings: { logo } }, source.clock.now)
  const posts = await group.collection('Posts', { picture: { type: 'image' }, recipe: { type: 'file' } })
  await group.add(
    posts,
    { value: { picture: file('pictures/bread.png', 'image'), recipe: file('recipe.txt', 'file') } },
    { value: { picture: file('damaged.jpg', 'image') } },
  )
  const exported = async (): Promise<string> => {
    const folder = await exportOf(source, id)
    makeOld(folder)
    return folder
  }
  return { source, id, folder: await exported(), exported, put }
}

onBothEngines('an export without a library', (engine) => {
  it('gets items for the files that its content uses, by inspecting them, and pictures are queued', async () => {
    const { id, folder } = await oldExport(engine)
    const target = await harness(engine)
    const { tally } = await importInto(target, folder)
    assert.deepEqual(tally.libraryItems, { added: 4, changed: 0, equal: 0 })
    assert.equal(tally.media.added, 5)
    const facts = async (path: string) => {
      const item = await findItem(target, id, `${id}/${path}`)
      return item && [item.name, item.type, item.file.contentType, item.file.width, item.file.key.slice(25)]
    }
    assert.deepEqual(await facts('pictures/bread.png'), ['bread.png', 'image', 'image/png', 400, 'pictures/bread-again.png'])
    assert.deepEqual(await facts('pictures/bread-again.png'), ['bread-again.png', 'image', 'image/png', 400, 'pictures/bread-again.png'])
    assert.deepEqual(await facts('recipe.txt'), ['recipe.txt', 'file', 'text/plain', null, 'recipe.txt'])
    assert.deepEqual(await facts('damaged.jpg'), ['damaged.jpg', 'image', 'image/jpeg', null, 'damaged.jpg'])
    assert.match((await findItem(target, id, `${id}/damaged.jpg`))?.file.problem ?? '', /damaged/)
    assert.equal(await facts('unused.txt'), undefined)
    const { group } = await libraryOf(target, id)
    assert.equal((await findPendingJobs(group, 'media.derive')).length, 1)
    await target.service.worker.runDue()
    assert.match((await findItem(target, id, `${id}/pictures/bread.png`))?.file.color ?? '', /^#/)
    const { users } = await findMediaUsages(group, `${id}/pictures/bread.png`)
    assert.deepEqual(users.map(({ kind }) => kind), ['object'])
  }) // biome-ignore format: one line for each file reads better

  it('changes nothing the second time, also after its pictures were processed', async () => {
    const { id, folder, exported } = await oldExport(engine)
    const target = await harness(engine)
    await importInto(target, folder)
    for (const again of [folder, await exported()]) {
      const dump = await dumpOf(target.service.store)
      assert.deepEqual((await importInto(target, again)).tally.libraryItems, { added: 0, changed: 0, equal: 4 })
      assert.equal(await dumpOf(target.service.store), dump)
      await target.service.worker.runDue()
    }
    const moved = await harness(engine)
    await importInto(moved, await exportOf(target, id))
    assert.equal(await contentOf(moved, id, `${id}/recipe.txt`), 'flour and water')
  })

  it('can be replaced and swept afterwards, without affecting items with the same bytes', async () => {
    const { id, folder } = await oldExport(engine)
    const target = await harness(engine)
    await importInto(target, folder)
    await target.service.worker.runDue()
    const again = await findItem(target, id, `${id}/pictures/bread-again.png`)
    assert.ok(again)
    await replace(target, id, again, await smallPicture('webp'))
    target.clock.now = Date.now() + 3 * dayMs
    await target.service.worker.runDue()
    const before = await keysIn(target, id)
    assert.ok(before.some((key) => key.endsWith('-320w.webp')))
    const swept = await sweepMedia(await libraryOf(target, id), { dryRun: false })
    assert.deepEqual(swept.removed.map(({ key }) => key), [`${id}/unused.txt`])
    assert.deepEqual(await keysIn(target, id), before.filter((key) => !key.endsWith('unused.txt')))
    assert.ok(await contentOf(target, id, `${id}/pictures/bread.png`))
  }) // biome-ignore format: short

  it('is refused before the first write if the library has other bytes under one of its keys', async () => {
    const { id, folder, exported, put } = await oldExport(engine)
    const target = await harness(engine)
    await importInto(target, folder)
    await put('recipe.txt', Buffer.from('something else'))
    const dump = await dumpOf(target.service.store)
    await assert.rejects(
      importInto(target, await exported()),
      /the file "\w{24}\/recipe.txt" has other bytes here; delete it/,
    )
    assert.equal(await dumpOf(target.service.store), dump)
    assert.equal(await contentOf(target, id, `${id}/recipe.txt`), 'flour and water')
  })
})
