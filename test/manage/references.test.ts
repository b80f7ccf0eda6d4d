import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findCollection } from '../../src/store/content/containers.ts'
import { assertIndexIsRight, assertRefused, type Data, editing, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'

const missing = '0123456789abcdef01234567'
const postSchema = {
  title: { type: 'text' },
  author: { type: 'reference', collections: ['Authors'] },
  related: { type: 'list', of: { type: 'reference' } },
  sections: {
    type: 'blocks',
    blocks: { quote: { fields: { by: { type: 'reference', collections: ['Authors'], products: ['books'] } } } },
  },
}

async function blog(engine: TestEngine) {
  const created = await editing(engine)
  const { does, send } = created
  const authors = await does('POST', '/collections', { name: 'Authors', schema: { name: { type: 'text' } } })
  const posts = await does('POST', '/collections', { name: 'Posts', schema: postSchema })
  const books = await does('POST', '/integrationTypes', { type: 'books', schema: { name: { type: 'text' } } })
  const put = (container: Data, objectValue: object, state: object = {}) =>
    send('POST', `/collections/${container._id}/objects`, { objectValue, ...state })
  const make = async (container: Data, objectValue: object, state: object = {}): Promise<Data> => {
    const answer = await put(container, objectValue, state)
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json().data
  }
  return { ...created, authors, posts, books, put, make }
}

onBothEngines('a reference', (engine) => {
  it('must lead to an object of the group, in a collection or integration that the field names', async () => {
    const { authors, posts, books, put, make, group, newManagedGroup } = await blog(engine)
    const ada = await make(authors, { name: 'Ada' }, { archived: true })
    const book = await make(books, { name: 'Bread' }, { draft: true })
    const post = await make(posts, {
      author: ada._id,
      related: [book._id, ada._id],
      sections: [{ type: 'quote', by: book._id }],
    })
    const other = await newManagedGroup()
    const foreign = await other.collection('Authors', { name: { type: 'text' } })
    const [stranger] = await other.add(foreign, { value: { name: 'Eve' } })
    const before = await everythingIn(group.store)
    const refused: [value: object, message: RegExp][] = [
      [{ author: missing }, /objectValue\.author is "0123456789abcdef01234567", which is not an object of this group/],
      [{ author: stranger?.id }, /objectValue\.author is ".+", which is not an object of this group/],
      [{ author: book._id }, /objectValue\.author is an object of "books"; it must be one of "Authors"/],
      [{ related: [ada._id, missing] }, /objectValue\.related\.1 is .+ not an object/],
      [
        { sections: [{ type: 'quote' }, { type: 'quote', by: post._id }] },
        /objectValue\.sections\.1\.by is an object of "Posts"; it must be one of "Authors" or "books"/,
      ],
    ]
    for (const [value, message] of refused) assertRefused(await put(posts, value), 400, message)
    assert.deepEqual(await everythingIn(group.store), before)
    await assertIndexIsRight(group.store)
  })

  it('that stays is not checked again, so an object can be edited after its target is gone', async () => {
    const { authors, posts, make, does, send } = await blog(engine)
    const ada = await make(authors, { name: 'Ada' })
    const post = await make(posts, { author: ada._id })
    await does('DELETE', `/objects/${ada._id}?force=true`)
    const edited = await does('PATCH', `/objects/${post._id}`, { version: 1, objectValue: { title: 'Edited' } })
    assert.equal(edited.objectValue.author, ada._id)
    const copy = await does('POST', `/objects/${post._id}/duplicate`)
    assert.equal(copy.objectValue.author, ada._id)
    assertRefused(
      await send('PATCH', `/objects/${post._id}`, { version: 2, objectValue: { related: [ada._id] } }),
      400,
      /not an object/,
    )
  })

  it('is found from its target, with its places in every object that has it', async () => {
    const { authors, posts, make, does, send, group } = await blog(engine)
    const ada = await make(authors, { name: 'Ada' })
    const first = await make(posts, { author: ada._id, sections: [{ type: 'quote' }, { type: 'quote', by: ada._id }] })
    const second = await make(posts, { related: [first._id, ada._id] }, { draft: true })
    const usersOf = (id: string, query = '') => does('GET', `/objects/${id}/references${query}`)
    assert.deepEqual(await usersOf(ada._id), {
      items: [
        { _id: first._id, collectionId: posts._id, paths: ['author', 'sections.1.by'] },
        { _id: second._id, collectionId: posts._id, paths: ['related.1'] },
      ],
      totalCount: 2,
    })
    assert.deepEqual(
      (await usersOf(ada._id, '?limit=1&skip=1')).items.map(({ _id }: Data) => _id),
      [second._id],
    )
    assert.deepEqual(await usersOf(second._id), { items: [], totalCount: 0 })
    await does('PATCH', `/objects/${first._id}`, { version: 1, objectValue: { author: null, sections: null } })
    assert.equal((await usersOf(ada._id)).totalCount, 1)
    assertRefused(await send('GET', `/objects/${missing}/references`), 404, /no such object/)
    await assertIndexIsRight(group.store)
  })

  it('prevents the deletion of its target, unless that is forced or deletes both', async () => {
    const { authors, posts, make, send, does, group } = await blog(engine)
    const ada = await make(authors, { name: 'Ada' })
    const bob = await make(authors, { name: 'Bob' })
    const post = await make(posts, { author: ada._id, related: [bob._id] }, { archived: true })
    const before = await everythingIn(group.store)
    const details = assertRefused(
      await send('DELETE', `/objects/${ada._id}`),
      409,
      new RegExp(`referred to by the object ${post._id}\\..+force=true`),
    )
    assert.deepEqual(details, { usedBy: [{ _id: post._id, collectionId: posts._id }], totalCount: 1 })
    const bulk = (...items: object[]) => send('POST', '/objects/bulk', { action: 'delete', items })
    assertRefused(
      await bulk({ objectId: ada._id }, { objectId: bob._id }),
      409,
      /Some of these objects are referred to/,
    )
    assertRefused(await bulk({ objectId: ada._id, force: true }, { objectId: bob._id }), 409, new RegExp(bob._id))
    assert.deepEqual(await everythingIn(group.store), before)
    await does('DELETE', `/objects/${ada._id}?force=true`)
    assert.equal((await bulk({ objectId: bob._id }, { objectId: post._id })).statusCode, 200)
    await assertIndexIsRight(group.store)
  })

  it('is refused after a bounded number of references has been counted, for which other writers wait', async () => {
    const { authors, posts, make, send, group } = await blog(engine)
    const ada = await make(authors, { name: 'Ada' })
    const container = await findCollection(group.store, posts._id)
    assert.ok(container)
    await group.add(container, ...Array.from({ length: 1100 }, () => ({ value: { author: ada._id } })))
    const details = assertRefused(await send('DELETE', `/objects/${ada._id}`), 409, / and more than 999 more\./)
    assert.deepEqual([details.usedBy.length, details.totalCount, details.hasMore], [20, 1000, true])
  })

  it('of an object to itself does not prevent its deletion', async () => {
    const { posts, make, does } = await blog(engine)
    const post = await make(posts, { title: 'Self' })
    await does('PATCH', `/objects/${post._id}`, { version: 1, objectValue: { related: [post._id] } })
    await does('DELETE', `/objects/${post._id}`)
  })

  it('follows a collection that is renamed, and prevents its deletion and that of an integration type', async () => {
    const { authors, posts, make, does, send, put } = await blog(engine)
    await does('PATCH', `/collections/${authors._id}`, { version: 1, name: 'Writers' })
    const { schema, version } = await does('GET', `/collections/${posts._id}`)
    assert.deepEqual(
      [schema.author.collections, schema.sections.blocks.quote.fields.by.collections, version],
      [['Writers'], ['Writers'], 2],
    )
    const ada = await make(authors, { name: 'Ada' })
    await make(posts, { author: ada._id })
    await does('DELETE', `/objects/${ada._id}?force=true`)
    assertRefused(
      await send('DELETE', `/collections/${authors._id}`),
      409,
      /the field "author" of "Posts" refers to it; the field "sections"/,
    )
    assertRefused(await send('DELETE', '/integrationTypes/books'), 409, /the field "sections" of "Posts" refers to it/)
    await does('DELETE', `/collections/${authors._id}?force=true`)
    assertRefused(await put(posts, { author: ada._id }), 400, /not an object of this group/)
  })

  it('leaves the index when its field is removed, and returns with a restored version', async () => {
    const { authors, posts, make, does, send, group } = await blog(engine)
    const ada = await make(authors, { name: 'Ada' })
    const post = await make(posts, { author: ada._id })
    await does('PATCH', `/objects/${post._id}`, { version: 1, objectValue: { author: null } })
    await does('POST', `/objects/${post._id}/versions/1/restore`, { version: 2 })
    assert.equal((await does('GET', `/objects/${ada._id}/references`)).totalCount, 1)
    const { author: _, ...rest } = postSchema
    const change = { version: 1, schema: rest }
    assertRefused(await send('POST', `/collections/${posts._id}/schema`, change), 409, /would be lost/)
    await does('POST', `/collections/${posts._id}/schema`, { ...change, allowLoss: true })
    assert.equal((await does('GET', `/objects/${ada._id}/references`)).totalCount, 0)
    await does('DELETE', `/objects/${ada._id}`)
    await assertIndexIsRight(group.store)
  })
})
