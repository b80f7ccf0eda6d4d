import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertRefused, type Data } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { librarian, load } from '../helpers/media.ts'
import { photo, smallPicture } from '../helpers/pictures.ts'

const dayMs = 86_400_000
const mediaValue = ({ name, key, type }: Data) => ({ name, key, type })

/** A picture shown by an object, a site and a text, and a server that delivers them. */
async function shownEverywhere(engine: TestEngine) {
  const created = await librarian(engine)
  const { does, add, service, group } = created
  await service.listen()
  const schema = { photo: { type: 'image' }, text: { type: 'longText' } }
  const posts = await does('POST', '/collections', { name: 'Posts', schema })
  const picture = await add('bun.png', await smallPicture('png'))
  const value = mediaValue(picture)
  const post = await does('POST', `/collections/${posts._id}/objects`, {
    objectValue: { photo: value, text: `<img src="media:${picture.key}">` },
  })
  const site = await does('POST', '/sites', { name: 'Bakery', settings: { logo: value } })
  const address = `/tenant/collectionObjects?collectionId=${posts._id}`
  return {
    ...created,
    picture,
    post,
    site,
    replace: (name: string, content: string | Buffer): Promise<Data> =>
      does('PUT', `/media/${picture._id}/file`, fileForm(name, content)),
    etag: async () => (await group.get(address)).headers.etag,
    /** The delivered picture: in the object, in its text, and in the site. */
    async shown(): Promise<Data> {
      const [item] = await created.delivered(posts._id)
      const { photo: shown, text } = item.objectValue
      const details = (await group.get(`/tenant/siteDetails?siteId=${site._id}`)).json().data
      const source = shown.currentFile.source.replaceAll('&', '&amp;')
      assert.equal(text, `<img src="${source}">`)
      assert.deepEqual(details.logo.currentFile, shown.currentFile)
      return shown
    },
  }
}

const statusOf = async (address: string) => (await load(address)).status
const bytesOf = async (address: string) => (await load(address)).bytes

onBothEngines('a replaced file', (engine) => {
  it('is delivered under the same key and another URL wherever it is used, and the ETag changes', async () => {
    const { replace, shown, etag, picture, service } = await shownEverywhere(engine)
    await service.worker.runDue()
    const [before, etagBefore] = [await shown(), await etag()]
    assert.ok(before.currentFile.srcset)
    const larger = await photo(400, 200).png().toBuffer()
    const replaced = await replace('larger.png', larger)
    assert.deepEqual([replaced.key, replaced.name, replaced.version], [picture.key, 'bun.png', 2])
    const after = await shown()
    assert.notEqual(after.currentFile.source, before.currentFile.source)
    assert.deepEqual([after.key, after.name], [before.key, before.name])
    assert.deepEqual(await bytesOf(after.currentFile.source), larger)
    assert.deepEqual([after.currentFile.width, after.currentFile.height], [400, 200])
    for (const former of ['srcset', 'avifSrcset', 'color', 'placeholder'])
      assert.equal(after.currentFile[former], undefined, `${former} of the former picture is not shown`)
    assert.notEqual(await etag(), etagBefore)
    await service.worker.runDue()
    assert.match((await shown()).currentFile.srcset, / 320w, .* 400w$/)
  })

  it('is stored, with everything derived from it, until the last of its URLs has expired', async () => {
    const { replace, shown, service, clock, stored } = await shownEverywhere(engine)
    await service.worker.runDue()
    clock.now += dayMs / 2 - 1 // the end of a signing window
    const { currentFile: former } = await shown()
    const addresses = [former.source, former.srcset.split(' ')[0], former.avifSrcset.split(' ')[0]]
    await replace('note.png', await photo(50, 50).png().toBuffer())
    for (const ms of [0, dayMs / 4]) {
      clock.now += ms
      await service.worker.runDue()
      for (const address of addresses) assert.equal(await statusOf(address), 200)
    }
    assert.equal((await stored()).length, 6)
    clock.now = Date.parse(former.expiresAt) - 1
    await service.worker.runDue()
    for (const address of addresses) assert.equal(await statusOf(address), 200)
    clock.now += dayMs
    await service.worker.runDue()
    const left = await stored()
    assert.equal(left.length, 3)
    const { source, srcset, avifSrcset } = (await shown()).currentFile
    for (const key of left) assert.ok(`${source} ${srcset} ${avifSrcset}`.includes(key), key)
  })

  it('by the same bytes changes nothing', async () => {
    const { replace, shown, etag, picture, traces } = await shownEverywhere(engine)
    const [before, etagBefore, tracesBefore] = [await shown(), await etag(), await traces()]
    const replaced = await replace('another name.png', await smallPicture('png'))
    assert.deepEqual(replaced, picture)
    assert.deepEqual([await shown(), await etag(), await traces()], [before, etagBefore, tracesBefore])
  })

  it('by the bytes of another item shares them, and they stay when one item is deleted', async () => {
    const { replace, shown, add, service, clock, does, stored } = await shownEverywhere(engine)
    const webp = await smallPicture('webp')
    const other = await add('roll.webp', webp)
    await replace('roll.webp', webp)
    assert.equal((await shown()).currentFile.source, other.currentFile.source)
    await does('DELETE', `/media/${other._id}`)
    clock.now += 3 * dayMs
    await service.worker.runDue()
    assert.equal(await statusOf((await shown()).currentFile.source), 200)
    assert.equal((await stored()).length, 3)
  })

  it('by one of another type, or by nothing, stays unchanged', async () => {
    const { send, shown, picture, traces } = await shownEverywhere(engine)
    const [before, tracesBefore] = [await shown(), await traces()]
    const put = (content: string) => send('PUT', `/media/${picture._id}/file`, fileForm('x.png', content))
    assertRefused(await put('words'), 400, /new file has the type file; the file that it replaces has the type image/)
    assertRefused(await put(''), 400, /empty/)
    assertRefused(await send('PUT', `/media/${picture._id}/file`), 400, /A file is required/)
    assertRefused(await send('PUT', '/media/nothing/file', fileForm('x', 'x')), 404, /no such file/)
    assert.deepEqual([await shown(), await traces()], [before, tracesBefore])
  })

  it('by several at once becomes one of them, and the others are removed', async () => {
    const { replace, shown, service, clock, stored } = await shownEverywhere(engine)
    const pictures = await Promise.all([60, 70, 80].map((size) => photo(size, size).png().toBuffer()))
    await Promise.all(pictures.map((picture) => replace('x.png', picture)))
    clock.now += 3 * dayMs
    await service.worker.runDue()
    const last = await bytesOf((await shown()).currentFile.source)
    assert.ok(pictures.some((picture) => picture.equals(last)))
    assert.equal((await stored()).length, 3)
  })
})

onBothEngines('a deleted file', (engine) => {
  it('in use is refused, and the answer lists the uses', async () => {
    const { send, does, picture, post, site, stored } = await shownEverywhere(engine)
    const details = assertRefused(await send('DELETE', `/media/${picture._id}`), 409, /used by the site \w+ and 1 more/)
    assert.deepEqual(details, { usedBy: [{ kind: 'site', _id: site._id }, { kind: 'object', _id: post._id }] }) // biome-ignore format: short
    assertRefused(await send('DELETE', `/media/${picture._id}?force=false`), 409, /or delete it with force/)
    assert.equal((await stored()).length, 1)
    await does('DELETE', `/sites/${site._id}`)
    assertRefused(await send('DELETE', `/media/${picture._id}`), 409, new RegExp(`used by the object ${post._id}\\.`))
    await does('DELETE', `/objects/${post._id}`)
    assert.deepEqual(await does('DELETE', `/media/${picture._id}`), { done: true })
  })

  it('takes its bytes and everything derived from them with it', async () => {
    const { does, add, service, stored, send, traces } = await librarian(engine)
    const picture = await add('bun.png', await smallPicture('png'))
    await service.worker.runDue()
    assert.equal((await stored()).length, 3)
    await does('DELETE', `/media/${picture._id}`)
    assertRefused(await send('GET', `/media/${picture._id}`), 404, /no such file/)
    assertRefused(await send('DELETE', `/media/${picture._id}`), 404, /no such file/)
    await service.worker.runDue()
    const { stored: left, media, files } = await traces()
    assert.deepEqual({ left, media, files }, { left: [], media: 0, files: 0 })
    const again = await add('bun.png', await smallPicture('png'))
    assert.notEqual(again.key, picture.key)
  })

  it('leaves its bytes to another item that has them', async () => {
    const { does, add, service, stored } = await librarian(engine)
    const first = await add('one.txt', 'Bread')
    const second = await add('two.txt', 'Bread')
    await does('DELETE', `/media/${first._id}`)
    await service.worker.runDue()
    assert.equal((await stored()).length, 1)
    assert.deepEqual(await does('GET', `/media/${second._id}`), second)
  })

  it('by force is no longer shown, and content that used it is still delivered', async () => {
    const { does, picture, service, shown } = await shownEverywhere(engine)
    await does('DELETE', `/media/${picture._id}?force=true`)
    await service.worker.runDue()
    assert.equal(await statusOf((await shown()).currentFile.source), 404)
  })

  it('while objects start to use it, is never missing from one of them', async () => {
    const { does, send, add } = await librarian(engine)
    const posts = await does('POST', '/collections', { name: 'Posts', schema: { file: { type: 'file' } } })
    const objects = `/collections/${posts._id}/objects`
    const outcomes = { deleted: 0, shown: 0 }
    const hasBoth = () => outcomes.deleted > 0 && outcomes.shown > 0
    for (let round = 0; round < 12 || (round < 30 && !hasBoth()); round += 1) {
      const file = await add(`${round}.txt`, `content ${round}`)
      const objectValue = { file: mediaValue(file) }
      const create = () => send('POST', objects, { objectValue })
      const remove = async () => {
        if (round % 2 === 1) await sleep(round % 6) // otherwise the deletion usually comes first
        return send('DELETE', `/media/${file._id}`)
      }
      const calls = [create(), remove(), create()]
      const statuses = (await Promise.all(calls)).map(({ statusCode }) => statusCode)
      const isDeleted = (await send('GET', `/media/${file._id}`)).statusCode === 404
      const { items } = await does('GET', `${objects}?limit=100`)
      const users = items.filter((item: Data) => item.objectValue.file.key === file.key)
      assert.ok(!isDeleted || users.length === 0, `round ${round}: ${statuses}`)
      assert.equal(statuses.filter((status) => status === 201).length, users.length)
      outcomes[isDeleted ? 'deleted' : 'shown'] += 1
    }
    assert.ok(hasBoth(), JSON.stringify(outcomes))
  })
})
