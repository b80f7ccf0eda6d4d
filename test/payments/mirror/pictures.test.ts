import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { it } from 'node:test'
import { PublicFetchFailure } from '../../../src/payments/public-fetch.ts'
import { listMedia } from '../../../src/store/media/items.ts'
import { setFrozen } from '../../helpers/authoring.ts'
import { onBothEngines, type TestEngine } from '../../helpers/harness.ts'
import { page, smallPicture } from '../../helpers/pictures.ts'
import { shop } from './shop.ts'

const url = 'https://pictures.example/rye.png'
const minuteMs = 60_000

async function withPicture(engine: TestEngine, open: () => Readable | Promise<Readable>) {
  const created = await shop(engine)
  const { provider, sync, group, objects, pictures } = created
  let opened = 0
  pictures.set(url, () => {
    opened += 1
    return open() as Readable
  })
  provider.put({ id: 'rye', name: 'Rye', images: [url] }, {})
  await sync()
  return {
    ...created,
    opened: () => opened,
    image: async (key = 'rye') => (await objects()).get(key)?.value.productImage,
    library: async () => (await listMedia(group.store, { limit: 10, skip: 0 })).media,
    problems: async () => (await created.sync()).problems,
  }
}

onBothEngines('pictures of products', (engine) => {
  it('are stored in the library, and delivered with a signed URL', async () => {
    const png = await smallPicture('png')
    const { worker, image, library, products } = await withPicture(engine, () => Readable.from([png]))
    assert.equal(await image(), undefined)
    await worker.runDue()
    const [item] = await library()
    assert.deepEqual(await image(), { name: 'rye.png', key: item?.key, type: 'image', alt: 'Rye' })
    const [rye] = await products()
    assert.match(rye.objectValue.productImage.currentFile.source, /expires=/)
    assert.deepEqual(rye.objectValue.mediaFields, { productImage: 'image' })
  })

  it('are fetched once, however many products show them, and not again by the next synchronisation', async () => {
    const png = await smallPicture('png')
    const { worker, provider, sync, opened, image, library } = await withPicture(engine, () => Readable.from([png]))
    await worker.runDue()
    provider.put({ id: 'other', images: [url] }, {})
    await sync()
    await worker.runDue()
    await sync()
    await worker.runDue()
    assert.equal(opened(), 1)
    assert.equal((await library()).length, 1)
    assert.deepEqual(Object(await image('other')).key, Object(await image()).key)
  })

  it('that are temporarily unavailable are requested once, not once per product', async () => {
    const { worker, provider, sync, opened, clock } = await withPicture(engine, () => {
      throw new PublicFetchFailure('pictures.example could not be reached.', { isTransient: true })
    })
    for (let number = 0; number < 120; number += 1) provider.put({ id: `prod_${number}`, images: [url] }, {})
    await sync()
    for (let attempts = 1; attempts <= 4; attempts += 1) {
      await worker.runDue()
      assert.equal(opened(), attempts)
      clock.now += 120 * minuteMs
    }
    await worker.runDue()
    assert.equal(opened(), 4)
    await sync()
    await worker.runDue()
    assert.equal(opened(), 5)
  })

  it('are shown by all their products as soon as they are fetched', async () => {
    const png = await smallPicture('png')
    const { worker, provider, sync, opened, objects } = await withPicture(engine, () => Readable.from([png]))
    for (let number = 0; number < 230; number += 1) provider.put({ id: `prod_${number}`, images: [url] }, {})
    provider.put({ id: 'plain' }, {})
    await sync()
    await worker.runDue()
    assert.equal(opened(), 1)
    const shown = [...(await objects()).values()].filter(({ value }) => Object(value.productImage).name === 'rye.png')
    assert.equal(shown.length, 231)
  })

  it('that no product shows any longer are not fetched', async () => {
    const png = await smallPicture('png')
    const { worker, provider, sync, opened } = await withPicture(engine, () => Readable.from([png]))
    provider.put({ id: 'rye', images: [] }, {})
    await sync()
    await worker.runDue()
    assert.equal(opened(), 0)
  })

  it('belong to the variant whose product has them', async () => {
    const png = await smallPicture('png')
    const { worker, provider, sync, image } = await withPicture(engine, () => Readable.from([png]))
    provider.put({ id: 's', name: 'Small', images: [url], metadata: { variant_of: 'v', variant: 'S' } }, {})
    provider.put({ id: 'l', name: 'Large', metadata: { variant_of: 'v', variant: 'L' } }, {})
    await sync()
    await worker.runDue()
    assert.deepEqual(Object.keys(Object(await image('v'))), ['S'])
    assert.equal(Object(await image('v')).S.alt, 'Small')
  })

  it('that are not images are refused permanently, with the reason', async () => {
    const { worker, image, library, problems, sync, opened } = await withPicture(engine, () => Readable.from([page]))
    await worker.runDue()
    await sync()
    await worker.runDue()
    assert.equal(opened(), 1)
    assert.equal(await image(), undefined)
    assert.deepEqual(await library(), [])
    assert.match((await problems())[0] ?? '', /picture could not be imported: The URL does not lead to a picture/)
  })

  it('that must not be fetched are not requested again', async () => {
    const { worker, problems, sync, opened, clock } = await withPicture(engine, () => {
      throw new PublicFetchFailure('pictures.example leads into a private network.', { isTransient: false })
    })
    await worker.runDue()
    clock.now += 600 * minuteMs
    await sync()
    await worker.runDue()
    assert.equal(opened(), 1)
    assert.match((await problems())[0] ?? '', /leads into a private network/)
  })

  it('that are temporarily unavailable are retried', async () => {
    const png = await smallPicture('png')
    let isUnreachable = true
    const { worker, image, clock } = await withPicture(engine, () => {
      if (isUnreachable) throw new PublicFetchFailure('pictures.example could not be reached.', { isTransient: true })
      return Readable.from([png])
    })
    await worker.runDue()
    assert.equal(await image(), undefined)
    isUnreachable = false
    clock.now += minuteMs
    await worker.runDue()
    assert.equal(Object(await image()).name, 'rye.png')
  })

  it('that were deleted from the library are omitted', async () => {
    const png = await smallPicture('png')
    const { worker, image, library, does, sync, opened } = await withPicture(engine, () => Readable.from([png]))
    await worker.runDue()
    const [item] = await library()
    await does('DELETE', `/media/${item?.id}?force=true`)
    await sync()
    await worker.runDue()
    assert.equal(await image(), undefined)
    assert.equal(opened(), 1)
  })

  it('are not fetched while the group is frozen', async () => {
    const png = await smallPicture('png')
    const { worker, opened, service, group } = await withPicture(engine, () => Readable.from([png]))
    await setFrozen(service.store, group.groupId, true)
    await worker.runDue()
    assert.equal(opened(), 0)
  })
})
