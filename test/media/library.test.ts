import assert from 'node:assert/strict'
import { it } from 'node:test'
import sharp from 'sharp'
import { createWorker } from '../../src/jobs/worker.ts'
import { canDerive } from '../../src/media/files/derive.ts'
import { type MediaWork, mediaHandlers } from '../../src/media/job-handlers.ts'
import type { Data } from '../helpers/editing.ts'
import { onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { type Librarian, librarian, load } from '../helpers/media.ts'
import { animation, phonePhoto, photo, smallPicture } from '../helpers/pictures.ts'

/** Shows a picture in an object, and returns how it is delivered. */
async function delivering(engine: TestEngine) {
  const library = await librarian(engine)
  await library.service.listen()
  const posts = await library.does('POST', '/collections', { name: 'Posts', schema: { photo: { type: 'image' } } })
  return {
    ...library,
    async show({ name, key, type }: Data): Promise<() => Promise<Data>> {
      const objectValue = { photo: { name, key, type } }
      const { _id } = await library.does('POST', `/collections/${posts._id}/objects`, { objectValue })
      return async () => {
        const items = await library.delivered(posts._id)
        return items.find((item) => item._id === _id).objectValue.photo.currentFile
      }
    },
  }
}

async function loadFile(address: string) {
  const { status, headers, bytes } = await load(address)
  assert.equal(status, 200, address)
  return { type: headers.get('content-type'), bytes }
}

const candidatesOf = (srcset: string): [address: string, width: string][] =>
  srcset.split(', ').map((candidate) => candidate.split(' ') as [string, string])

/** 32.30 seconds north of 51° 30′, in a camera's encoding. */
const latitudeIn = (bytes: Buffer): boolean => ['9e0c000064000000', '00000c9e00000064'].some((hex) => bytes.includes(hex, 'hex')) // biome-ignore format: short

/** A worker of the service with some of its functions replaced. */
function workerWith({ service, config, clock }: Librarian, changed: Partial<MediaWork>) {
  const { storage, inbox } = service.media
  const work = { storage, inbox, maxPixels: config.mediaMaxPixels, canDerive, ...changed }
  const { store, logger } = service
  return createWorker({ store, handlers: mediaHandlers(work), clock: () => clock.now, logger, workers: 1 })
}

onBothEnginesInProve('a picture', (engine) => {
  it('of 12 megapixels is delivered in three widths and two formats, upright and without its location', async () => {
    const { add, show, service } = await delivering(engine)
    const original = await phonePhoto()
    const added = await add('IMG_0001.jpg', original)
    assert.deepEqual([added.width, added.height], [3000, 4000])
    const shown = await show(added)
    const early = await shown()
    assert.deepEqual(Object.keys(early).toSorted(), ['expiresAt', 'height', 'source', 'width'])
    await service.worker.runDue()
    const file = await shown()
    assert.deepEqual([file.width, file.height, file.source], [3000, 4000, early.source])
    assert.match(file.color, /^#[0-9a-f]{6}$/)
    assert.match(file.placeholder, /^data:image\/webp;base64,/)
    for (const [srcset, type, format] of [
      [file.srcset, 'image/webp', 'webp'],
      [file.avifSrcset, 'image/avif', 'heif'],
    ] as const) {
      const candidates = candidatesOf(srcset)
      assert.deepEqual(candidates.map(([, width]) => width), ['320w', '640w', '1280w']) // biome-ignore format: short
      for (const [address, width] of candidates) {
        const loaded = await loadFile(address)
        const found = await sharp(loaded.bytes).metadata()
        assert.equal(loaded.type, type)
        assert.equal(found.format, format)
        assert.deepEqual([`${found.width}w`, found.height], [width, Math.round((Number.parseInt(width, 10) * 4) / 3)])
        assert.equal(found.exif, undefined)
      }
    }
    const delivered = await loadFile(file.source)
    assert.equal(delivered.type, 'image/jpeg')
    assert.ok(latitudeIn(original) && !latitudeIn(delivered.bytes))
    assert.ok(!delivered.bytes.includes('Bakery Example'), 'nor names its owner')
  })

  it('that is small, transparent or animated is delivered unchanged', async () => {
    const { add, show, service } = await delivering(engine)
    const create = { width: 500, height: 100, channels: 4, background: { r: 255, g: 0, b: 0, alpha: 0.5 } } as const
    const small = await show(await add('small.png', await smallPicture('png')))
    const transparent = await show(await add('transparent.png', await sharp({ create }).png().toBuffer()))
    const moving = await show(await add('moving.gif', await animation('gif')))
    await service.worker.runDue()
    assert.match((await small()).srcset, /^\S+ 40w$/)
    const [[address = ''] = []] = candidatesOf((await transparent()).srcset)
    const pixels = await sharp((await loadFile(address)).bytes)
      .raw()
      .toBuffer({ resolveWithObject: true })
    assert.equal(pixels.info.channels, 4)
    assert.ok(Math.abs((pixels.data[3] ?? 0) - 128) < 4, 'half of the background shows through')
    const { srcset, color, source } = await moving()
    assert.deepEqual([srcset, typeof color], [undefined, 'string'])
    assert.equal((await sharp((await loadFile(source)).bytes).metadata()).pages, 3)
  })

  it('is delivered unchanged and marked so without sharp; derivatives can be made later', async () => {
    const library = await delivering(engine)
    const { add, show, does, service } = library
    const picture = await add('bun.png', await smallPicture('png'))
    await add('menu.txt', 'Bread')
    const shown = await show(picture)
    await workerWith(library, { canDerive: async () => false }).runDue()
    assert.match((await does('GET', `/media/${picture._id}`)).problem, /no sharp, so only the original is delivered/)
    const { srcset, source } = await shown()
    assert.equal(srcset, undefined)
    assert.equal((await loadFile(source)).type, 'image/png')
    assert.equal(await service.worker.runDue(), 0, 'nothing is left to do')
    assert.deepEqual(await does('POST', '/media/derive', {}), { begun: 1 })
    assert.equal(await service.worker.runDue(), 1)
    assert.equal((await does('GET', `/media/${picture._id}`)).problem, null)
    assert.match((await shown()).srcset, / 40w$/)
  })

  it('is queued again once, unless it has been processed', async () => {
    const { add, does, service } = await librarian(engine)
    await add('moving.gif', await animation('gif'))
    await add('small.webp', await smallPicture('webp'))
    await service.worker.runDue()
    assert.deepEqual(await does('POST', '/media/derive', {}), { begun: 0 })
    await add('half.jpg', (await photo(600, 400).jpeg().toBuffer()).subarray(0, 9000))
    assert.deepEqual(await does('POST', '/media/derive', {}), { begun: 0 }, 'it is already waiting')
    assert.equal(await service.worker.runDue(), 1)
    assert.deepEqual(await does('POST', '/media/derive', {}), { begun: 1 }, 'its job had failed')
    assert.deepEqual(await does('POST', '/media/derive', {}), { begun: 0 })
    assert.equal(await service.worker.runDue(), 1)
  })

  it('that is deleted or replaced before or during derivation leaves no derivatives', async () => {
    const library = await librarian(engine)
    const { add, does, service, stored, traces, clock } = library
    const early = await add('early.png', await photo(50, 50).png().toBuffer())
    await does('DELETE', `/media/${early._id}`)
    await service.worker.runDue()
    assert.deepEqual(await stored(), [])
    const { storage } = service.media
    for (const change of ['DELETE', 'PUT'] as const) {
      const picture = await add('late.png', await photo(60, 60).png().toBuffer())
      let isChanged = false
      const write: typeof storage.write = async (...request) => {
        if (!isChanged) {
          isChanged = true
          if (change === 'DELETE') await does('DELETE', `/media/${picture._id}`)
          else await does('PUT', `/media/${picture._id}/file`, fileForm('x.gif', await animation('gif')))
        }
        return storage.write(...request)
      }
      await workerWith(library, { storage: { ...storage, write } }).runDue()
      clock.now += 2 * 86_400_000
      await service.worker.runDue()
      assert.equal((await stored()).length, change === 'DELETE' ? 0 : 1)
      assert.deepEqual((await traces()).inbox, [])
    }
  })
})
