import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertIndexIsRight, assertRefused, type Data } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { librarian } from '../helpers/media.ts'
import { photo } from '../helpers/pictures.ts'
import { exportOf, importInto } from '../transfer/exports.ts'

const schema = {
  title: { type: 'text', required: true, help: 'Shown on top', group: 'Page', placeholder: 'Fresh bread', default: 'Page' },
  seo: {
    type: 'object',
    fields: { image: { type: 'image' }, note: { type: 'text', private: true }, words: { type: 'text' } },
  },
  sections: {
    type: 'blocks',
    blocks: {
      hero: { fields: { image: { type: 'image', required: true }, secret: { type: 'image', private: true } } },
      prose: { fields: { body: { type: 'longText' }, author: { type: 'reference' } } },
    },
  },
  gallery: { type: 'list', of: { type: 'object', fields: { image: { type: 'image' } } } },
  author: { type: 'reference' },
  widget: { type: 'json' },
} // biome-ignore format: as a schema is written

/** A collection with nested values, three pictures and an object to refer to. */
async function pages(engine: TestEngine) {
  const created = await librarian(engine)
  const { does, add } = created
  const people = await does('POST', '/collections', { name: 'People', schema: { name: { type: 'text' } } })
  const ada = await does('POST', `/collections/${people._id}/objects`, { objectValue: { name: 'Ada' } })
  const collection = await does('POST', '/collections', { name: 'Pages', schema })
  const pictures: Data[] = []
  for (const name of ['a', 'b', 'c'])
    pictures.push(
      await add(
        `${name}.png`,
        await photo(20 + pictures.length, 20)
          .png()
          .toBuffer(),
      ),
    )
  const [a, b, c] = pictures.map(({ name, key, type }) => ({ name, key, type }))
  const value = {
    title: 'Start',
    seo: { image: a, note: 'ours', words: 'Rye' },
    sections: [
      { type: 'hero', image: b, secret: c },
      { type: 'prose', body: `<p>Sourdough <img src="media:${c?.key}"></p>`, author: ada._id },
    ],
    gallery: [{ image: a }, {}],
    author: ada._id,
    widget: { type: 'map', image: b, at: [{ secret: 'x' }] },
  }
  return {
    ...created, collection, pictures, value, ada, media: { a, b, c },
    post: (objectValue: object): Promise<Data> => does('POST', `/collections/${collection._id}/objects`, { objectValue }),
  } // biome-ignore format: short
}

onBothEngines('objects with nested values', (engine) => {
  it('are delivered with signed files and without private fields, in lists and previews alike', async () => {
    const { post, value, delivered, collection, does, group } = await pages(engine)
    const { _id, objectValue } = await post(value)
    assert.deepEqual(objectValue, value, 'an editor sees everything')
    const [item] = await delivered(collection._id)
    const { seo, sections, gallery, widget, author, mediaFields } = item.objectValue
    const [hero, prose] = sections
    assert.deepEqual(Object.keys(seo), ['image', 'words'])
    assert.deepEqual(Object.keys(hero), ['type', 'image'])
    for (const image of [seo.image, hero.image, gallery[0].image]) assert.match(image.currentFile.source, /^https?:/)
    assert.match(prose.body, /<img src="https?:/)
    assert.deepEqual([gallery[1], prose.author, author], [{}, value.author, value.author])
    assert.deepEqual([widget, mediaFields], [value.widget, {}])
    const { token } = await does('POST', '/previews', { objectId: _id })
    const preview = await group.get(`/tenant/preview?token=${token}`)
    assert.equal(JSON.stringify(preview.json().data.objectValue), JSON.stringify(item.objectValue))
  })

  it('count as users of the files inside, and cannot name missing ones', async () => {
    const { post, value, does, send, pictures, collection, media } = await pages(engine)
    const { _id } = await post(value)
    for (const picture of pictures) {
      const { items } = await does('GET', `/media/${picture._id}/usage`)
      assert.deepEqual(items.map((item: Data) => item._id), [_id]) // biome-ignore format: short
      assertRefused(await send('DELETE', `/media/${picture._id}`), 409, /is used by the object/)
    }
    const missing = { ...media.a, key: media.a?.key.replace(/\w+\.png$/, 'gone.png') }
    const path = `/collections/${collection._id}/objects`
    for (const over of [{ seo: { image: missing } }, { sections: [{ type: 'hero', image: missing }] }, { gallery: [{ image: missing }] }])
      assertRefused(await send('POST', path, { objectValue: { ...value, ...over } }), 400, /there is no file with the key/)
    const foreign = { ...media.a, key: `${'0'.repeat(24)}/2026/03/a.png` }
    assertRefused(await send('POST', path, { objectValue: { ...value, gallery: [{ image: foreign }] } }), 400, /does not belong to this group/)
    const html = { type: 'prose', body: `<img src="media:${missing.key}">` }
    assertRefused(await send('POST', path, { objectValue: { ...value, sections: [html] } }), 400, /there is no file with the key/)
  }) // biome-ignore format: one line a case reads better

  it('are found by words inside, and by a reference', async () => {
    const { post, value, delivered, collection, ada, group } = await pages(engine)
    const { _id } = await post(value)
    await post({ title: 'Other' })
    const found = async (query: string) => (await delivered(collection._id, query)).map((item) => item._id)
    for (const word of ['rye', 'sourdough']) assert.deepEqual(await found(`&search=${word}`), [_id], word)
    for (const word of ['ours', 'secret', 'hero', 'map']) assert.deepEqual(await found(`&search=${word}`), [], word)
    assert.deepEqual(await found(`&filters[author]=${ada._id}`), [_id])
    const refused = await group.get(`/tenant/collectionObjects?collectionId=${collection._id}&filters[seo]=x`)
    assertRefused(refused, 400, /Usable fields: _id, title, author/)
    await assertIndexIsRight(group.store)
  })

  it('are the same after a duplicate, a restored version, and an export and import', async () => {
    const { post, value, does, delivered, collection, group, service, clock, ...managed } = await pages(engine)
    const { _id } = await post(value)
    const copy = await does('POST', `/objects/${_id}/duplicate`, {})
    assert.deepEqual({ ...copy.objectValue, title: 'Start' }, value)
    await does('PATCH', `/objects/${_id}`, { version: 1, objectValue: { sections: [], gallery: null } })
    const restored = await does('POST', `/objects/${_id}/versions/1/restore`, {})
    assert.deepEqual(restored.objectValue, value)
    const before = await delivered(collection._id)
    const harness = { service, clock, ...managed }
    const folder = await exportOf(harness, group.groupId)
    await does('PATCH', `/objects/${_id}`, { version: 3, objectValue: { seo: null } })
    await importInto(harness, folder, { isEdited: true })
    const strip = (items: Data[]) => items.map(({ objectValue }) => objectValue)
    assert.deepEqual(strip(await delivered(collection._id)), strip(before))
    const shown = await does('GET', `/collections/${collection._id}`)
    assert.deepEqual(shown.schema, schema, 'with the rules for editors')
  })

  it('are changed by a schema change after a dry run that lists what is lost inside', async () => {
    const { post, value, does, send, collection, delivered, media, group } = await pages(engine)
    const { _id } = await post(value)
    const { note: _, ...fields } = schema.seo.fields
    const change = {
      version: 1,
      schema: {
        ...schema,
        seo: { type: 'object', fields: { ...fields, index: { type: 'boolean' } } },
        sections: { type: 'blocks', blocks: { banner: schema.sections.blocks.hero } },
      },
      renames: { 'sections.hero': 'sections.banner' },
      defaults: { 'seo.index': true },
    }
    const path = `/collections/${collection._id}/schema`
    const { report } = await does('POST', path, { ...change, dryRun: true })
    assert.deepEqual(report.lost.objects, [
      { objectId: _id, field: 'seo.note', value: '"ours"' },
      { objectId: _id, field: 'sections.1', value: report.lost.objects[1].value },
    ])
    assert.deepEqual(report.fields, {
      added: ['seo.index'],
      removed: ['seo.note', 'sections.prose'],
      renamed: [{ from: 'sections.hero', to: 'sections.banner' }],
      retyped: [],
    })
    assertRefused(await send('POST', path, change), 409, /2 values would be lost, such as seo\.note/)
    await does('POST', path, { ...change, allowLoss: true })
    const { objectValue } = await does('GET', `/objects/${_id}`)
    assert.deepEqual(objectValue.seo, { image: media.a, words: 'Rye', index: true })
    assert.deepEqual(objectValue.sections, [{ type: 'banner', image: media.b, secret: media.c }])
    const [item] = await delivered(collection._id)
    assert.deepEqual(Object.keys(item.objectValue.sections[0]), ['type', 'image'])
    await assertIndexIsRight(group.store)
  })

  it('have no effect on new objects by a default', async () => {
    const { send, collection } = await pages(engine)
    const refused = await send('POST', `/collections/${collection._id}/objects`, { objectValue: {} })
    assertRefused(refused, 400, /objectValue\.title is required/)
  })
})
