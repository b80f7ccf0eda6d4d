import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import sharp from 'sharp'
import type { CurrentFile, MediaValue } from '../../client/src/index.ts'
import { onBothEnginesInProve } from '../helpers/harness.ts'
import { fileForm, type ManagedGroup, type Managing, managing } from '../helpers/manage.ts'
import { photo, scriptedSvg } from '../helpers/pictures.ts'
import { type S3Server, startS3Server } from '../helpers/s3-server.ts'

const hourMs = 3_600_000
const bucket = 'media'
const otherBucket = 'elsewhere'

let s3: S3Server
before(async () => {
  s3 = await startS3Server([bucket, otherBucket])
})
after(() => s3.stop())

const jpeg = (width: number): Promise<Buffer> =>
  photo(width, Math.round(width / 2))
    .jpeg()
    .toBuffer()

interface Shop extends Managing {
  group: ManagedGroup
  path: string
  upload(name: string, content: Buffer | string): Promise<MediaValue & { _id: string }>
  /** Creates a collection with an object for each of these files, and returns its id. */
  show(...files: MediaValue[]): Promise<string>
  /** The delivered objects, in the same order. */
  delivered(collectionId: string): Promise<CurrentFile[]>
  storedKeys(): Promise<string[]>
}

/** A service with its files in the store. Its clock is the real time, like the store's. */
async function openShop(engine: 'sqlite' | 'postgres'): Promise<Shop> {
  const created = await managing(engine, { env: s3.env })
  created.clock.now = Date.now()
  const { ask, service } = created
  const group = await created.newManagedGroup({ name: 'Shop' })
  const path = `/manage/groups/${group.groupId}`
  return {
    ...created,
    group,
    path,
    upload: (name, content) => ask('POST', `${path}/media`, fileForm(name, content)),
    async show(...files) {
      const collection = await ask('POST', `${path}/collections`, {
        name: 'Cakes',
        schema: { photo: { type: 'image' } },
      })
      for (const { name, key, type } of files)
        await ask('POST', `${path}/collections/${collection._id}/objects`, {
          objectValue: { photo: { name, key, type } },
        })
      return collection._id
    },
    async delivered(collectionId) {
      const answer = await group.get(`/tenant/collectionObjects?collectionId=${collectionId}&sort=createdAt:asc`)
      return answer
        .json()
        .data.items.map((item: { objectValue: { photo: MediaValue } }) => item.objectValue.photo.currentFile)
    },
    async storedKeys() {
      const files = await Array.fromAsync(service.media.storage.list(bucket, group.groupId))
      return files.map(({ key }) => key)
    },
  }
}

const addressesIn = ({ source, srcset = '', avifSrcset = '' }: CurrentFile): string[] => [
  source,
  ...`${srcset}, ${avifSrcset}`
    .split(', ')
    .flatMap((candidate) => candidate.split(' ', 1))
    .filter((url) => url !== ''),
]

const statusOf = async (url: string): Promise<number> => {
  const answer = await fetch(url)
  await answer.arrayBuffer()
  return answer.status
}

onBothEnginesInProve('files in an S3 store', (engine) => {
  it('are uploaded, scaled, and delivered by the store itself with their type', async () => {
    const shop = await openShop(engine)
    const picture = await shop.upload('cake.jpg', await jpeg(1000))
    const drawing = await shop.upload('logo.svg', scriptedSvg)
    const collectionId = await shop.show(picture, drawing)
    assert.equal(await shop.service.worker.runDue(), 1)
    const [cake, logo] = await shop.delivered(collectionId)
    assert.ok(cake && logo)

    const shown = await Promise.all(
      addressesIn(cake).map(async (url) => {
        assert.ok(url.startsWith(`${s3.location.endpoint.href}${bucket}/${shop.group.groupId}/`), url)
        const answer = await fetch(url)
        assert.equal(answer.status, 200)
        assert.equal(answer.headers.get('content-disposition'), null, 'shown on request')
        assert.match(answer.headers.get('cache-control') ?? '', /\bimmutable\b/)
        const { width } = await sharp(Buffer.from(await answer.arrayBuffer())).metadata()
        return `${answer.headers.get('content-type')} ${width}`
      }),
    )
    const smaller = [320, 640, 1000]
    assert.deepEqual(shown, [
      'image/jpeg 1000',
      ...smaller.map((width) => `image/webp ${width}`),
      ...smaller.map((width) => `image/avif ${width}`),
    ])

    const answer = await fetch(logo.source)
    assert.equal(answer.headers.get('content-type'), 'image/svg+xml')
    assert.equal(answer.headers.get('content-disposition'), 'attachment')
    assert.equal(await answer.text(), scriptedSvg)
  })

  it('are refused by a URL that was altered, or signed for another file or bucket', async () => {
    const shop = await openShop(engine)
    const collectionId = await shop.show(
      await shop.upload('one.jpg', await jpeg(40)),
      await shop.upload('two.jpg', await jpeg(50)),
    )
    const [one, two] = (await shop.delivered(collectionId)).map(({ source }) => new URL(source))
    assert.ok(one && two)
    assert.equal(await statusOf(one.href), 200)
    const altered: Record<string, string> = {
      'another signature': one.href.replace(
        /(X-Amz-Signature=)(.)/,
        (_, name, digit) => name + (digit === '0' ? '1' : '0'),
      ),
      'a later expiry': one.href.replace(/X-Amz-Expires=\d+/, 'X-Amz-Expires=604800'),
      'another file': one.origin + two.pathname + one.search,
      'another bucket': one.href.replace(`/${bucket}/`, `/${otherBucket}/`),
    }
    for (const [what, url] of Object.entries(altered)) {
      assert.notEqual(url, one.href)
      assert.equal(await statusOf(url), 403, what)
    }
  })

  it('are refused by an expired URL', async () => {
    const shop = await openShop(engine)
    shop.clock.now -= 25 * hourMs // delivered a day ago
    const collectionId = await shop.show(await shop.upload('one.jpg', await jpeg(40)))
    const [old] = await shop.delivered(collectionId)
    assert.ok(old && Date.parse(old.expiresAt) < Date.now())
    assert.equal(await statusOf(old.source), 403)
  })

  it('are replaced: the new file is delivered at once, the old one until its URLs have expired', async () => {
    const shop = await openShop(engine)
    const item = await shop.upload('cake.jpg', await jpeg(40))
    const collectionId = await shop.show(item)
    await shop.service.worker.runDue()
    const [before] = await shop.delivered(collectionId)
    await shop.ask('PUT', `${shop.path}/media/${item._id}/file`, fileForm('pie.jpg', await jpeg(60)))
    const [after] = await shop.delivered(collectionId)
    assert.ok(before && after)
    assert.notEqual(after.source, before.source)
    await shop.service.worker.runDue()
    assert.deepEqual(await Promise.all([before, after].map(({ source }) => statusOf(source))), [200, 200])
    shop.clock.now += 24 * hourMs
    await shop.service.worker.runDue()
    assert.equal(await statusOf(before.source), 404)
    assert.equal(await statusOf(after.source), 200)
    assert.equal((await shop.storedKeys()).length, 3)
  })

  it('are deleted with everything derived from them', async () => {
    const shop = await openShop(engine)
    const item = await shop.upload('cake.jpg', await jpeg(400))
    await shop.service.worker.runDue()
    assert.equal((await shop.storedKeys()).length, 5)
    await shop.ask('DELETE', `${shop.path}/media/${item._id}`)
    await shop.service.worker.runDue()
    assert.deepEqual(await shop.storedKeys(), [])
  })

  it('are deleted with their group, and those of another group in the same bucket stay', async () => {
    const shop = await openShop(engine)
    const neighbour = await shop.newManagedGroup({ name: 'Neighbour' })
    const kept = await shop.ask('POST', `/manage/groups/${neighbour.groupId}/media`, fileForm('a.jpg', await jpeg(40)))
    await shop.upload('cake.jpg', await jpeg(40))
    await shop.service.worker.runDue()
    await shop.ask('POST', `${shop.path}/delete`, { confirm: 'Shop' })
    assert.deepEqual(await shop.storedKeys(), [])
    assert.equal(await statusOf(kept.currentFile.source), 200)
  })
})
