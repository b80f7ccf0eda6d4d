import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import fc from 'fast-check'
import { createCurrentFiles } from '../../src/media/current-files.ts'
import { createSite } from '../helpers/authoring.ts'
import type { Data } from '../helpers/editing.ts'
import { harness, onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { type Librarian, librarian } from '../helpers/media.ts'
import { smallPicture } from '../helpers/pictures.ts'

const hourMs = 3_600_000

interface Item {
  name: string
  key: string
  type: string
}

/** Pictures with and without derivatives, a text, and a picture in the bucket without an item. */
async function filledLibrary(
  engine: TestEngine,
): Promise<{ library: Librarian; items: Item[]; fileKeys: Map<string, string> }> {
  const library = await librarian(engine)
  const { add, does, service, group } = library
  await add('derived.png', await smallPicture('png'))
  await service.worker.runDue()
  await add('plain.webp', await smallPicture('webp'))
  await add('menu.txt', 'Bread')
  const byHand = { name: 'by hand', key: `${group.groupId}/by hand (1).png`, type: 'image' }
  await service.media.storage.write(group.group.bucketName, byHand.key, Buffer.from('x'))
  const { items } = await does('GET', '/media')
  const known: Item[] = [...items.map(({ name, key, type }: Data) => ({ name, key, type })), byHand]
  const fileKeys = new Map<string, string>([[byHand.key, byHand.key]])
  for (const { key, currentFile } of items) fileKeys.set(keyIn(currentFile.source), key)
  return { library, items: known, fileKeys }
}

const keyIn = (address: string): string => decodeURIComponent(new URL(address).pathname.split('/').slice(3).join('/'))

/** Fields with media in every possible form, and some without. */
function fieldArbitrary(items: readonly Item[]) {
  const media = (type: string) => fc.constantFrom(...items.filter((item) => item.type === type))
  const variants = <Value>(value: fc.Arbitrary<Value>) =>
    fc.dictionary(fc.constantFrom('red', 'blue', 'key', 'name'), value, { minKeys: 1, noNullPrototype: true })
  const image = media('image')
  const images = fc.array(image, { maxLength: 4 })
  const piece = fc.oneof(
    fc.constantFrom('<p>', 'words ', '</p>', '<!-- media:x -->', '<br>', 'media:', '&amp;'),
    fc.constantFrom(...items).map(({ key }) => `<img src="media:${encodeURI(key)}">`),
    fc.constantFrom(...items).map(({ key }) => `<a class=x href="media:${encodeURI(key)}">`),
    fc.constantFrom(...items).map(({ key }) => `the words media:${encodeURI(key)}, `),
  )
  const html = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''))
  const single = { type: 'image' }
  const list = { type: 'list', of: single }
  const field = <Value>(schema: object, value: fc.Arbitrary<Value>) =>
    fc.option(value, { freq: 6 }).map((chosen) => ({ schema, value: chosen as unknown }))
  return fc.oneof(
    field(single, image),
    field({ type: 'file' }, media('file')),
    field(list, images),
    field({ type: 'variant', of: single }, fc.oneof(image, variants(image))),
    field({ type: 'variant', of: list }, fc.oneof(images, variants(images))),
    field({ type: 'longText' }, html),
    field({ type: 'list', of: { type: 'text' } }, fc.array(html, { maxLength: 3 })),
    field({ type: 'variant', of: { type: 'longText' } }, fc.oneof(html, variants(html))),
    field({ type: 'slug' }, fc.constant('media-a')),
    field({ type: 'integer' }, fc.integer()),
  )
}

function settingsArbitrary(items: readonly Item[]): fc.Arbitrary<Record<string, unknown>> {
  const { node } = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom(...items),
      fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.constantFrom('media:x', 'text')),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('left', 'right', 'name', 'type'), tie('node'), {
        maxKeys: 3,
        noNullPrototype: true,
      }),
    ),
  }))
  return fc.dictionary(fc.constantFrom('hero', 'banner', 'footer', 'own'), node, { noNullPrototype: true })
}

onBothEnginesInProve('delivered content', (engine) => {
  it('has every file signed at any position, and nothing else changed', async () => {
    const { library, items, fileKeys } = await filledLibrary(engine)
    const { group, service, clock, does } = library
    const { local } = service.media
    const keys = { object: 0, html: 0, site: 0 }

    function assertSigned(address: string): void {
      const { searchParams, pathname } = new URL(address)
      const [, , bucket = ''] = pathname.split('/')
      const [expires = '', signature = ''] = [searchParams.get('expires') ?? '', searchParams.get('signature') ?? '']
      const left = local?.signer.verify(bucket, keyIn(address), expires, signature, clock.now) ?? 0
      assert.ok(left >= 12 * 3600, address)
    }

    /** Checks what signing added to a delivered value, and returns the value without it. */
    function unsigned(delivered: unknown, where: keyof typeof keys): unknown {
      if (typeof delivered === 'string' && where !== 'site') {
        return delivered.replace(/"(https?:[^"]*)"/g, (_, escaped: string) => {
          const address = escaped.replaceAll('&amp;', '&')
          assertSigned(address)
          keys.html += 1
          return `"media:${encodeURI(fileKeys.get(keyIn(address)) ?? '?')}"`
        })
      }
      if (Array.isArray(delivered)) return delivered.map((each) => unsigned(each, where))
      if (typeof delivered !== 'object' || delivered === null) return delivered
      const { currentFile, ...rest } = delivered as { currentFile?: Data }
      const isMedia = items.some(({ key }) => key === (rest as Partial<Item>).key)
      assert.equal(currentFile !== undefined, isMedia, JSON.stringify(delivered))
      if (currentFile !== undefined) {
        keys[where] += 1
        assert.equal(fileKeys.get(keyIn(currentFile.source)), (rest as Item).key)
        const others = [currentFile.srcset, currentFile.avifSrcset].filter(Boolean).join(', ')
        const addresses = others === '' ? [] : others.split(', ').map((each) => each.split(' ')[0] ?? '')
        for (const address of [currentFile.source, ...addresses]) assertSigned(address)
        assert.equal(currentFile.srcset !== undefined, (rest as Item).name === 'derived.png')
        return rest
      }
      return Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, unsigned(each, where)]))
    }

    let run = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fieldArbitrary(items), { minLength: 1, maxLength: 5 }),
        settingsArbitrary(items),
        async (fields, settings) => {
          run += 1
          const schema = Object.fromEntries(fields.map(({ schema: field }, n) => [`field${n}`, field]))
          const value = Object.fromEntries(fields.map(({ value: each }, n) => [`field${n}`, each]))
          const collection = await group.collection(`Collection ${run}`, schema)
          const [object] = await group.add(collection, { value })
          const integration = await group.integration(`provider${run}`, schema)
          await group.add(integration, { value, externalId: 'p1' })
          const site = { name: 'Site', domainName: '', settings }
          const { id: siteId } = await createSite(group.store, site, clock.now)
          const { token } = await does('POST', '/previews', { objectId: object?.id })
          const read = async (path: string) => {
            const answer = await group.get(path)
            assert.equal(answer.statusCode, 200, answer.body)
            return answer.json().data
          }
          for (const shown of [
            (await read(`/tenant/collectionObjects?collectionId=${collection.id}`)).items[0],
            (await read(`/tenant/integrationObjects?type=provider${run}`)).items[0],
            await read(`/tenant/preview?token=${token}`),
          ]) {
            const { _id, mediaFields, ...delivered } = shown.objectValue
            assert.deepEqual(unsigned(delivered, 'object'), value)
          }
          const details = await read(`/tenant/siteDetails?siteId=${siteId}`)
          for (const [name, setting] of Object.entries(settings))
            assert.deepEqual(unsigned(details[name], 'site'), setting)
          unsigned(details.siteDetails.values, 'site')
        },
      ),
      { numRuns: 40 },
    )
    assert.ok(keys.object > 50 && keys.html > 20 && keys.site > 20, JSON.stringify(keys))
  })

  it('is refused as a whole, on all four endpoints, when one URL cannot be signed', async () => {
    const { library, items } = await filledLibrary(engine)
    const { group, service, clock, does } = library
    const [picture] = items.filter(({ name }) => name === 'derived.png')
    const schema = { photo: { type: 'image' }, text: { type: 'longText' } }
    const values = [{ photo: picture }, { text: `<img src="media:${picture?.key}">` }]
    const paths: string[] = []
    for (const [n, value] of values.entries()) {
      const collection = await group.collection(`Posts ${n}`, schema)
      const [object] = await group.add(collection, { value }, { value: { text: 'fine' } })
      await group.add(await group.integration(`shop${n}`, schema), { value, externalId: 'p' })
      const { token } = await does('POST', '/previews', { objectId: object?.id, lifeSeconds: 5 * 86_400 })
      paths.push(
        `/tenant/collectionObjects?collectionId=${collection.id}`,
        `/tenant/integrationObjects?type=shop${n}`,
        `/tenant/preview?token=${token}`,
      )
    }
    const settings = { parts: [{ picture }] }
    const site = await createSite(group.store, { name: 'S', domainName: '', settings }, clock.now)
    paths.push(`/tenant/siteDetails?siteId=${site.id}`)
    const { signer } = service.media
    const sign = signer.sign.bind(signer)
    const failures: Record<string, typeof signer.sign> = {
      always: () => {
        throw new Error('the key is gone')
      },
      'for smaller pictures': (bucket, key, window) => {
        if (key.endsWith('.avif')) throw new Error('the key is gone')
        return sign(bucket, key, window)
      },
    }
    for (const [when, fails] of Object.entries(failures)) {
      clock.now += 12 * hourMs // no earlier URL is cached
      const mocked = mock.method(signer, 'sign', fails)
      for (const path of paths) {
        const answer = await group.get(path)
        assert.equal(answer.statusCode, 500, `${when} ${path}: ${answer.body}`)
        assert.ok(!answer.body.includes('/media/') && !answer.body.includes('the key is gone'), answer.body)
        assert.equal(answer.headers.etag, undefined)
      }
      mocked.mock.restore()
    }
    for (const path of paths) assert.equal((await group.get(path)).statusCode, 200)
  })
})

describe('the signing key', () => {
  it('can be changed while URLs of the old one are valid: both are accepted, the first one signs', async () => {
    const [oldKey, newKey] = ['a1'.repeat(32), 'b2'.repeat(32)]
    const before = await librarian('sqlite', { MEDIA_SIGNING_KEYS: oldKey })
    const { group, config } = before
    const { key, name, type } = await before.add('menu.txt', 'Bread')
    const posts = await group.collection('Posts', { file: { type: 'file' } })
    await group.add(posts, { value: { file: { key, name, type } } })

    async function serveWith(keys: string) {
      const { app } = await harness('sqlite', { env: { DATA_DIR: config.dataDir, MEDIA_SIGNING_KEYS: keys } })
      const url = `/tenant/collectionObjects?collectionId=${posts.id}`
      return {
        open: async (address: string) =>
          (await app.inject(new URL(address).pathname + new URL(address).search)).statusCode,
        address: async (): Promise<string> =>
          (await app.inject({ url, headers: { authorization: group.key } })).json().data.items[0].objectValue.file.currentFile.source, // biome-ignore format: short
      }
    }
    const [old, both, fresh] = [
      await serveWith(oldKey),
      await serveWith(`${newKey},${oldKey}`),
      await serveWith(newKey),
    ]
    const [signedOld, signedBoth, signedFresh] = [await old.address(), await both.address(), await fresh.address()]
    assert.notEqual(signedBoth, signedOld)
    assert.equal(signedBoth, signedFresh)
    assert.deepEqual(
      [await old.open(signedOld), await both.open(signedOld), await fresh.open(signedOld)],
      [200, 200, 403],
    )
    assert.deepEqual(
      [await old.open(signedFresh), await both.open(signedFresh), await fresh.open(signedFresh)],
      [403, 200, 200],
    )
  })
})

describe('signed URLs', () => {
  async function counting(maxCached?: number) {
    const library = await librarian('sqlite')
    const { group, service, clock } = library
    let count = 0
    const signer: typeof service.media.signer = {
      ...service.media.signer,
      sign: (...request) => {
        count += 1
        return service.media.signer.sign(...request)
      },
    }
    const options = { signer, ttlSeconds: 86_400, clock: () => clock.now, ...(maxCached && { maxCached }) }
    const files = createCurrentFiles(options)
    const made = async (...names: string[]): Promise<number> => {
      const before = count
      const keys = names.map((name) => `${group.groupId}/${name}.png`)
      const { sign } = await files.prepare(group.store, group.group.bucketName, keys)
      for (const key of keys) assert.ok(sign(key)?.source.includes(key))
      assert.throws(() => sign(`${group.groupId}/other.png`), /was not prepared/)
      return count - before
    }
    return { ...library, made }
  }

  it('are cached for a window, and until the files of the group change', async () => {
    const { made, add, clock, service } = await counting()
    assert.equal(await made('a', 'b'), 2)
    assert.equal(await made('a', 'b', 'c'), 1)
    clock.now += 12 * hourMs - 1
    assert.equal(await made('a', 'b', 'c'), 0)
    clock.now += 1
    assert.equal(await made('a', 'b', 'c'), 3)
    await add('bun.png', await smallPicture('png'))
    assert.equal(await made('a', 'b', 'c'), 0, 'a new file changes none of the others')
    await service.worker.runDue()
    assert.equal(await made('a', 'b', 'c'), 3)
    assert.equal(await made(), 0)
  })

  it('are cached up to a maximum; others are signed again with the same result', async () => {
    const { made } = await counting(2)
    assert.equal(await made('a', 'b', 'c', 'd'), 4)
    assert.equal(await made('c', 'd'), 0)
    assert.equal(await made('a'), 1)
    assert.equal(await made('a', 'b', 'c', 'd'), 2)
  })
})
