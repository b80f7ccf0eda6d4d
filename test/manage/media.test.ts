import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertRefused, type Data } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { librarian } from '../helpers/media.ts'
import { smallPicture } from '../helpers/pictures.ts'

const names = ({ items }: Data): string[] => items.map(({ name }: { name: string }) => name)
const mediaValue = ({ name, key, type }: Data) => ({ name, key, type })

const schema = {
  photo: { type: 'image' },
  secret: { type: 'image', private: true },
  gallery: { type: 'list', of: { type: 'image' } },
  colors: { type: 'variant', of: { type: 'list', of: { type: 'image' } } },
  download: { type: 'file' },
  text: { type: 'longText' },
  teasers: { type: 'list', of: { type: 'text' } },
}

/** A library with two pictures, and a collection with every kind of media field. */
async function withPictures(engine: TestEngine) {
  const created = await librarian(engine)
  const posts = await created.does('POST', '/collections', { name: 'Posts', schema })
  const picture = await created.add('bun.png', await smallPicture('png'))
  const other = await created.add('roll.webp', await smallPicture('webp'))
  const usage = async ({ _id }: Data): Promise<string[]> => {
    const { items, totalCount } = await created.does('GET', `/media/${_id}/usage`)
    assert.equal(totalCount, items.length)
    return items.map((item: Data) => `${item.kind} ${item._id} ${item.collectionId}`).toSorted()
  }
  return {
    ...created,
    posts,
    picture,
    other,
    usage,
    post: (objectValue: object, state: object = {}): Promise<Data> =>
      created.does('POST', `/collections/${posts._id}/objects`, { objectValue, ...state }),
  }
}

onBothEngines('the list of files', (engine) => {
  it('is sorted newest first, and filtered by type and by part of the name in any case', async () => {
    const { add, does } = await librarian(engine)
    await add('Brötchen.png', await smallPicture('png'))
    await add('Menu.txt', 'Bread')
    await add('BRÖTCHEN list.txt', 'Rolls')
    assert.deepEqual(names(await does('GET', '/media')), ['BRÖTCHEN list.txt', 'Menu.txt', 'Brötchen.png'])
    assert.deepEqual(names(await does('GET', '/media?type=image')), ['Brötchen.png'])
    assert.deepEqual(names(await does('GET', '/media?type=video')), [])
    const search = async (text: string) => names(await does('GET', `/media?search=${encodeURIComponent(text)}`))
    assert.deepEqual(await search('brötchen'), ['BRÖTCHEN list.txt', 'Brötchen.png'])
    assert.deepEqual(await search('TCHEN.P'), ['Brötchen.png'])
    for (const nothing of ['%', '_', '.*', 'bread', "'"]) assert.deepEqual(await search(nothing), [], nothing)
    assert.deepEqual(names(await does('GET', '/media?type=file&search=list')), ['BRÖTCHEN list.txt'])
  })

  it('is paged, with the total on each page', async () => {
    const { add, does } = await librarian(engine)
    for (const n of [1, 2, 3, 4, 5]) await add(`${n}.txt`, `content ${n}`)
    const page = async (query: string) => {
      const { items, totalCount } = await does('GET', `/media?${query}`)
      return [names({ items }).join(' '), totalCount]
    }
    assert.deepEqual(await page('limit=2'), ['5.txt 4.txt', 5])
    assert.deepEqual(await page('limit=2&skip=4'), ['1.txt', 5])
    assert.deepEqual(await page('limit=2&skip=9'), ['', 5])
  })

  it('is of one group only, as is everything about a file', async () => {
    const { add, newManagedGroup, call, ask, group } = await librarian(engine)
    const mine = await add('menu.txt', 'Bread')
    const other = await newManagedGroup()
    const at = (path: string) => `/manage/groups/${other.groupId}/media${path}`
    assert.deepEqual(await ask('GET', at('')), { items: [], totalCount: 0 })
    for (const [method, path] of [
      ['GET', `/${mine._id}`],
      ['GET', `/${mine._id}/usage`],
      ['POST', `/${mine._id}/rename`],
      ['DELETE', `/${mine._id}`],
    ] as const) {
      const body = method === 'POST' ? { name: 'x' } : undefined
      assertRefused(await call(method, at(path), body, other.tokens.owner), 404, /no such file in this group/)
    }
    assert.deepEqual(await ask('GET', `/manage/groups/${group.groupId}/media/${mine._id}`), mine)
  })
})

onBothEngines('a file in use', (engine) => {
  it('is found in single fields, lists, variant maps, private fields, texts and sites', async () => {
    const { post, usage, picture, other, does, posts } = await withPictures(engine)
    assert.deepEqual(await usage(picture), [])
    const value = mediaValue(picture)
    const users = [
      await post({ photo: value }),
      await post({ secret: value }, { draft: true }),
      await post({ gallery: [mediaValue(other), value, value] }),
      await post({ colors: { red: [mediaValue(other)], blue: [value] } }),
      await post({ download: { ...value, type: 'file' } }, { publishDate: '2030-01-01T00:00:00Z' }),
      await post({ text: `<p>Look: <img src="media:${picture.key}"></p>` }),
      await post({ teasers: ['plain', `<a href='media:${picture.key}#page=2'>read</a>`] }),
    ]
    await post({ text: `We write media:${picture.key} in a sentence.`, photo: mediaValue(other) })
    const logo = await does('POST', '/sites', { name: 'One', settings: { logo: value } })
    const deep = await does('POST', '/sites', { name: 'Two', settings: { parts: [{ hero: { left: value } }] } })
    await does('POST', '/sites', { name: 'Three', settings: { logo: mediaValue(other) } })
    const expected = [
      ...users.map(({ _id }) => `object ${_id} ${posts._id}`),
      `site ${logo._id} null`,
      `site ${deep._id} null`,
    ]
    assert.deepEqual(await usage(picture), expected.toSorted())
  })

  it('is found as long as it is used: after changes, but not after deletions or in former versions', async () => {
    const { post, usage, picture, other, does, posts } = await withPictures(engine)
    const { _id } = await post({ photo: mediaValue(picture) })
    const user = `object ${_id} ${posts._id}`
    const object = `/objects/${_id}`
    await does('PATCH', object, { version: 1, objectValue: { photo: mediaValue(other) } })
    assert.deepEqual([await usage(picture), await usage(other)], [[], [user]])
    await does('POST', `${object}/versions/1/restore`, { version: 2 })
    assert.deepEqual([await usage(picture), await usage(other)], [[user], []])
    await does('POST', `${object}/archive`)
    assert.deepEqual(await usage(picture), [user])
    const copy = await does('POST', `${object}/duplicate`, {})
    assert.deepEqual(await usage(picture), [user, `object ${copy._id} ${posts._id}`].toSorted())
    await does('DELETE', object)
    await does('DELETE', `/objects/${copy._id}`)
    assert.deepEqual(await usage(picture), [])
    const site = await does('POST', '/sites', { name: 'One', settings: { logo: mediaValue(picture) } })
    assert.equal((await usage(picture)).length, 1)
    await does('PATCH', `/sites/${site._id}`, { version: 1, settings: { logo: null } })
    assert.deepEqual(await usage(picture), [])
  })

  it('keeps its key when it is renamed; nothing that is delivered changes', async () => {
    const { post, picture, does, send, group, posts } = await withPictures(engine)
    await post({ photo: mediaValue(picture) })
    const address = `/tenant/collectionObjects?collectionId=${posts._id}`
    const before = await group.get(address)
    const renamed = await does('POST', `/media/${picture._id}/rename`, { name: 'folder/Best bun\u202E.png' })
    assert.deepEqual([renamed.name, renamed.key, renamed.version], ['Best bun.png', picture.key, 2])
    assert.deepEqual(await does('GET', `/media/${picture._id}`), renamed)
    assert.equal((await does('GET', '/media?search=BEST')).totalCount, 1)
    const after = await group.get(address)
    assert.equal(after.body, before.body)
    assert.equal(after.headers.etag, before.headers.etag)
    assertRefused(await send('POST', `/media/${picture._id}/rename`, { name: '' }), 400, /name/)
    const same = await does('POST', `/media/${picture._id}/rename`, { name: 'Best bun.png' })
    assert.equal(same.version, 2, 'nothing was changed')
  })
})

onBothEngines('content that references a file', (engine) => {
  it('that the group does not have, or of another type, is refused; the answer names the key', async () => {
    const { posts, send, picture, add, group, does, newManagedGroup, ask } = await withPictures(engine)
    const menu = await add('menu.txt', 'Bread')
    const unknown = `${group.groupId}/2026/03/${'a'.repeat(24)}-gone.png`
    const inCollection = `/collections/${posts._id}/objects`
    const refuse = async (objectValue: object, message: RegExp) => {
      assertRefused(await send('POST', inCollection, { objectValue }), 400, message)
      assertRefused(await send('POST', `${inCollection}/bulk`, { items: [{ objectValue }] }), 400, message)
    }
    const missing = new RegExp(`no file with the key "${unknown}": upload it first`)
    const image = (key: string) => ({ name: 'x', key, type: 'image' })
    await refuse({ photo: image(unknown) }, missing)
    await refuse({ gallery: [mediaValue(picture), image(unknown)] }, missing)
    await refuse({ colors: { red: [image(unknown)] } }, missing)
    await refuse({ text: `<img src="media:${unknown}">` }, missing)
    await refuse({ photo: image(menu.key) }, new RegExp(`"${menu.key}" is of the type file, not image`))
    assertRefused(await send('POST', '/sites', { name: 'x', settings: { logo: image(unknown) } }), 400, missing)
    assertRefused(await send('POST', '/sites', { name: 'x', settings: { a: [{ b: image(menu.key) }] } }), 400, /of the type file/) // biome-ignore format: short
    const other = await newManagedGroup()
    const form = new FormData()
    form.set('file', new File(['x'], 'theirs.txt'))
    const theirs = await ask('POST', `/manage/groups/${other.groupId}/media`, form)
    await refuse({ download: mediaValue(theirs) }, /key/)
    await refuse({ text: `<a href="media:${theirs.key}">x</a>` }, /key/)
    assert.equal((await does('GET', inCollection)).totalCount, 0)
    assert.equal((await does('GET', '/sites')).totalCount, 0)
  })

  it('may retain a reference that it already had, even when the file is gone', async () => {
    const { post, send, does, picture, other } = await withPictures(engine)
    const { _id } = await post({ photo: mediaValue(picture), text: `<img src="media:${picture.key}">` })
    await does('DELETE', `/media/${picture._id}?force=true`)
    const change = (version: number, objectValue: object) => send('PATCH', `/objects/${_id}`, { version, objectValue })
    assert.equal((await change(1, { teasers: ['new'] })).statusCode, 200)
    assert.equal((await change(2, { photo: { ...mediaValue(picture), name: 'renamed' } })).statusCode, 200)
    assert.equal((await change(3, { photo: mediaValue(other) })).statusCode, 200)
    assertRefused(await change(4, { gallery: [mediaValue(picture)], text: '' }), 400, /no file with the key/)
  })
})
