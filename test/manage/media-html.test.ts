import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertRefused, type Data } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { librarian, load } from '../helpers/media.ts'
import { photo } from '../helpers/pictures.ts'

/** A server with a picture, and texts that show it. */
async function writing(engine: TestEngine, env: Record<string, string> = {}) {
  const created = await librarian(engine, env)
  const { does, service } = created
  const { baseUrl } = await service.listen()
  const schema = { text: { type: 'longText' }, parts: { type: 'list', of: { type: 'text' } }, title: { type: 'slug' } }
  const posts = await does('POST', '/collections', { name: 'Posts', schema })
  const { _id } = await created.add('bun.png', await photo(700, 70).png().toBuffer())
  const picture = await does('GET', `/media/${_id}`)
  return {
    ...created,
    baseUrl,
    posts,
    picture,
    /** Makes the smaller versions of the picture, which takes a process, and returns it with them. */
    async scalePicture(): Promise<Data> {
      await service.worker.runDue()
      return does('GET', `/media/${_id}`)
    },
    post: (objectValue: object): Promise<Data> => does('POST', `/collections/${posts._id}/objects`, { objectValue }),
    deliveredText: async (): Promise<string> => (await created.delivered(posts._id))[0].objectValue.text,
  }
}

const addressesIn = (html: string): string[] =>
  [...html.matchAll(/https?:\/\/[^\s"',]+/g)].map(([address]) => address.replaceAll('&amp;', '&'))

onBothEngines('a text that references files', (engine) => {
  it('stores references, and is delivered with URLs that work', async () => {
    const { post, picture, deliveredText, add } = await writing(engine)
    const menu = await add('menu.txt', 'Bread')
    const html = `<p>media:${picture.key}</p><IMG SRC=media:${picture.key} alt="a"><a href='media:${menu.key}#end'>Menu</a>`
    const { objectValue } = await post({ text: html })
    assert.equal(objectValue.text, html)
    const delivered = await deliveredText()
    const addresses = addressesIn(delivered)
    assert.equal(addresses.length, 2)
    for (const address of addresses) assert.equal((await load(address)).status, 200, address)
    assert.ok(addresses[1]?.endsWith('#end'))
    assert.ok(delivered.startsWith(`<p>media:${picture.key}</p><IMG SRC="http`), 'a sentence stays as it is')
  })

  it('that an editor sends back as delivered is stored as references again', async () => {
    const { post, scalePicture, does, deliveredText } = await writing(engine)
    const picture = await scalePicture()
    const { currentFile } = picture
    const srcset = currentFile.srcset.replaceAll('&', '&amp;')
    const written = `<img src="${currentFile.source}" srcset="${srcset}"><a href='https://other.example/x.png'>x</a>`
    const { _id, objectValue } = await post({ text: written, parts: ['plain', `<img src="${currentFile.source}">`] })
    const reference = `media:${picture.key}`
    const stored = `<img src="${reference}" srcset="${reference} 320w, ${reference} 640w, ${reference} 700w"><a href='https://other.example/x.png'>x</a>`
    assert.equal(objectValue.text, stored)
    assert.deepEqual(objectValue.parts, ['plain', `<img src="${reference}">`])
    const { items } = await does('GET', `/media/${picture._id}/usage`)
    assert.deepEqual(items.map((item: Data) => item._id), [_id]) // biome-ignore format: short
    for (const [position, verb] of (['PUT', 'PATCH'] as const).entries()) {
      const text = await deliveredText()
      assert.equal(addressesIn(text).length, 5)
      const sent = await does(verb, `/objects/${_id}`, { version: position + 1, objectValue: { text } })
      assert.equal(sent.objectValue.text, stored)
      for (const address of addressesIn(text).slice(0, 4)) assert.equal((await load(address)).status, 200)
    }
  })

  it('is also found inside objects and blocks, while JSON stays as it is', async () => {
    const { does, scalePicture, delivered } = await writing(engine)
    const picture = await scalePicture()
    const schema = {
      seo: { type: 'object', fields: { note: { type: 'text' }, data: { type: 'json' } } },
      parts: { type: 'blocks', blocks: { prose: { fields: { body: { type: 'longText' } } } } },
      data: { type: 'json' },
    }
    const pages = await does('POST', '/collections', { name: 'Pages', schema })
    const [written, stored] = [picture.currentFile.source, `media:${picture.key}`].map((url) => `<img src="${url}">`)
    const data = { html: written }
    const page = (html: unknown) => ({ seo: { note: html, data }, parts: [{ type: 'prose', body: html }], data })
    const created = await does('POST', `/collections/${pages._id}/objects`, { objectValue: page(written) })
    assert.deepEqual(created.objectValue, page(stored))
    const updated = await does('PUT', `/objects/${created._id}`, { version: 1, objectValue: page(written) })
    assert.deepEqual(updated.objectValue, page(stored))
    const { items } = await does('GET', `/media/${picture._id}/usage`)
    assert.deepEqual(items.map((item: Data) => item._id), [created._id]) // biome-ignore format: short
    const [{ objectValue }] = await delivered(pages._id)
    const body = objectValue.parts[0].body
    assert.equal((await load(addressesIn(body)[0] ?? '')).status, 200)
    assert.deepEqual(objectValue.data, data)
  })

  it('sent back after its URLs have expired still references the same item', async () => {
    const { post, scalePicture, does, clock } = await writing(engine)
    const picture = await scalePicture()
    const { source, srcset } = picture.currentFile
    const [smallest] = srcset.split(' ')
    clock.now += 40 * 86_400_000
    const { objectValue } = await post({ text: `<img src="${source}"><img src="${smallest}">` })
    const reference = `media:${picture.key}`
    assert.equal(objectValue.text, `<img src="${reference}"><img src="${reference}">`)
    const elsewhere = source.replace('127.0.0.1', 'localhost')
    assert.equal((await post({ text: `<img src="${elsewhere}">` })).objectValue.text, `<img src="${elsewhere}">`)
    assert.equal((await does('GET', `/media/${picture._id}/usage`)).totalCount, 1)
  })

  it('sent back after one of its files was replaced references the same item', async () => {
    const { post, scalePicture, does, deliveredText } = await writing(engine)
    const picture = await scalePicture()
    const { _id, objectValue } = await post({ text: `<img src="media:${picture.key}" srcset="${picture.currentFile.srcset}">` }) // biome-ignore format: short
    const seen = await deliveredText()
    await does('PUT', `/media/${picture._id}/file`, fileForm('new.png', await photo(50, 50).png().toBuffer()))
    const saved = await does('PUT', `/objects/${_id}`, { version: 1, objectValue: { text: `${seen} new` } })
    assert.equal(saved.objectValue.text, `${objectValue.text} new`)
    for (const address of addressesIn(await deliveredText())) assert.equal((await load(address)).status, 200)
  })

  it('references the right item even when several share a file', async () => {
    const { post, add, does } = await writing(engine)
    const first = await add('one.txt', 'Bread')
    const second = await add('two.txt', 'Bread')
    const { objectValue } = await post({ text: `<a href="${second.currentFile.source}">x</a>` })
    assert.equal(objectValue.text, `<a href="media:${first.key}">x</a>`)
    assert.equal((await does('GET', `/media/${first._id}/usage`)).totalCount, 1)
  })

  it('cannot reference another group’s files', async () => {
    const { newManagedGroup, call, ask, picture, deliveredText } = await writing(engine)
    const other = await newManagedGroup()
    const collection = await other.collection('Posts', { text: { type: 'longText' } })
    const path = `/manage/groups/${other.groupId}/collections/${collection.id}/objects`
    const reference = `<img src="media:${picture.key}">`
    assertRefused(await call('POST', path, { objectValue: { text: reference } }), 400, /key/)
    const address = `<img src="${picture.currentFile.source}">`
    const stored = await ask('POST', path, { objectValue: { text: address } })
    assert.equal(stored.objectValue.text, address, 'their URL is external, and expires')
    assert.equal((await ask('GET', path)).totalCount, 1)
    await assert.rejects(deliveredText)
  })

  it('is converted for the public media URL', async () => {
    const { picture, post, deliveredText } = await writing(engine, { MEDIA_PUBLIC_URL: 'https://files.example/cdn' })
    assert.match(picture.currentFile.source, /^https:\/\/files\.example\/cdn\/media\/media\//)
    const { objectValue } = await post({ text: `<img src="${picture.currentFile.source}">` })
    assert.equal(objectValue.text, `<img src="media:${picture.key}">`)
    assert.match(await deliveredText(), /^<img src="https:\/\/files\.example\/cdn\/media\//)
  })
})
