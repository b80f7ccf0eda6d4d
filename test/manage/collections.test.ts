import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readRevision } from '../../src/store/content/revisions.ts'
import { assertRefused, editing, editingPosts, everythingIn } from '../helpers/editing.ts'
import { onBothEngines } from '../helpers/harness.ts'

const schema = { title: { type: 'text', required: true } }
const pageOf = (collectionId: string) => ({ name: 'Blog', slug: 'blog', collections: [{ collectionId }] })

onBothEngines('collections', (engine) => {
  it('are created, listed with the number of their objects, and delivered under their name', async () => {
    const { does, post, posts, delivered } = await editingPosts(engine, schema)
    const settings = { accepts: [], moderation: false, hourlyLimit: 0 }
    assert.deepEqual(posts, { _id: posts._id, name: 'Posts', schema, ...settings, version: 1 })
    const reviews = await does('POST', '/collections', {
      name: 'Reviews',
      schema: {},
      accepts: ['createReview'],
      moderation: true,
      hourlyLimit: 50,
    })
    assert.deepEqual([reviews.accepts, reviews.moderation, reviews.hourlyLimit], [['createReview'], true, 50])
    await post({ title: 'a' })
    await post({ title: 'b' }, { archived: true })
    const { items, totalCount } = await does('GET', '/collections')
    assert.deepEqual(
      [items, totalCount],
      [
        [
          { ...posts, objectCount: 2 },
          { ...reviews, objectCount: 0 },
        ],
        2,
      ],
    )
    assert.deepEqual(await does('GET', `/collections/${posts._id}`), posts)
    const [item] = await delivered(posts._id)
    assert.deepEqual(item.collectionObj, { name: 'Posts', refID: posts._id })
  })

  it('have a unique name in the group', async () => {
    const { does, send, posts, newManagedGroup, ask } = await editingPosts(engine, schema)
    const other = await does('POST', '/collections', { name: 'Other', schema })
    assertRefused(await send('POST', '/collections', { name: 'Posts', schema }), 409, /already a collection "Posts"/)
    const renamed = send('PATCH', `/collections/${other._id}`, { version: 1, name: 'Posts' })
    assertRefused(await renamed, 409, /already a collection "Posts"/)
    const answers = await Promise.all([1, 2, 3].map(() => send('POST', '/collections', { name: 'New', schema })))
    assert.deepEqual(answers.map(({ statusCode }) => statusCode).toSorted(), [201, 409, 409])
    const { groupId } = await newManagedGroup()
    await ask('POST', `/manage/groups/${groupId}/collections`, { name: 'Posts', schema })
    await does('PATCH', `/collections/${posts._id}`, { version: 1, name: 'Old posts' })
    await does('PATCH', `/collections/${other._id}`, { version: 1, name: 'Posts' })
  })

  it('must have a valid schema', async () => {
    const { send, group } = await editing(engine)
    const bad: [schema: object, message: RegExp][] = [
      [{ _id: { type: 'text' } }, /"_id" cannot be a field name/],
      [{ mediaFields: { type: 'text' } }, /"mediaFields" is reserved/],
      [{ title: { type: 'string' } }, /title\.type must be one of text/],
      [{ title: { type: 'text', max: 3 } }, /title has the rule "max"/],
      [{ kind: { type: 'enum' } }, /kind is an enum and needs "values"/],
      [{ n: { type: 'integer', min: 3, max: 1 } }, /n\.min must not be greater than n\.max/],
    ]
    for (const [wrong, message] of bad)
      assertRefused(await send('POST', '/collections', { name: 'Bad', schema: wrong }), 400, message)
    assertRefused(await send('POST', '/collections', { name: '' }), 400, /name must not be empty.*schema is required|schema is required.*name must not be empty/) // biome-ignore format: short
    const withoutAddress = { name: 'Bad', schema: { email: { type: 'integer' } }, accepts: ['subscribeUser'] }
    assertRefused(await send('POST', '/collections', withoutAddress), 400, /subscribeUser needs a field "email"/)
    assert.deepEqual((await everythingIn(group.store)).containers, [])
  })

  it('are renamed for the delivery API at once, while settings for submissions change no answer', async () => {
    const { does, post, posts, delivered, group, clock } = await editingPosts(engine, schema)
    await post({ title: 'a' })
    const path = `/collections/${posts._id}`
    const revision = await readRevision(group.store)
    const accepting = await does('PATCH', path, { version: 1, accepts: ['createReview'], moderation: true })
    assert.deepEqual([accepting.accepts, accepting.moderation, accepting.version], [['createReview'], true, 2])
    assert.equal(await readRevision(group.store), revision)
    const renamed = await does('PATCH', path, { version: 2, name: 'Stories' })
    assert.deepEqual([renamed.accepts, renamed.moderation, renamed.version], [['createReview'], true, 3])
    assert.equal(await readRevision(group.store), revision + 1)
    const [item] = await delivered(posts._id)
    assert.equal(item.collectionObj.name, 'Stories')
    assert.deepEqual((await does('PATCH', path, { version: 3, accepts: [] })).accepts, [])
    clock.now += 1000
    const before = await everythingIn(group.store)
    for (const same of [{}, { name: 'Stories' }, { accepts: [] }, { moderation: true }])
      assert.equal((await does('PATCH', path, { version: 4, ...same })).version, 4)
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('accept their hourly limit of submissions, until the limit is removed', async () => {
    const { does, send, posts } = await editingPosts(engine, schema)
    const path = `/collections/${posts._id}`
    for (const hourlyLimit of [-1, 1.5, 1_000_001, '5', null])
      assertRefused(await send('PATCH', path, { version: 1, hourlyLimit }), 400, /hourlyLimit must be/)
    const steps: [change: object, after: number][] = [
      [{ hourlyLimit: 1_000_000 }, 1_000_000],
      [{ moderation: true }, 1_000_000],
      [{ hourlyLimit: 0 }, 0],
    ]
    for (const [at, [change, after]] of steps.entries())
      assert.equal((await does('PATCH', path, { version: at + 1, ...change })).hourlyLimit, after)
    assert.equal((await does('GET', path)).moderation, true)
  })

  it('record nothing when settings are given their default values', async () => {
    const { does, posts, group } = await editingPosts(engine, schema)
    const before = await everythingIn(group.store)
    const same = await does('PATCH', `/collections/${posts._id}`, {
      version: 1,
      accepts: [],
      moderation: false,
      hourlyLimit: 0,
    })
    assert.deepEqual(same, posts)
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('are not deleted while they have objects or a page shows them, unless forced', async () => {
    const { does, send, post, posts, group } = await editingPosts(engine, schema)
    const [one, two] = [await post({ title: 'a' }, { draft: true }), await post({ title: 'b' })]
    await does('PATCH', `/objects/${two._id}`, { version: 1, objectValue: { title: 'c' } })
    const site = await does('POST', '/sites', { name: 'Bakery', settings: { pages: [pageOf(posts._id)] } })
    await does('POST', '/previews', { objectId: one._id })
    const path = `/collections/${posts._id}`
    const before = await everythingIn(group.store)
    assertRefused(await send('DELETE', path), 409, /it holds 2 objects; pages of the site "Bakery" show it.*force=true/)
    assertRefused(await send('DELETE', `${path}?force=false`), 409, /in use/)
    assert.deepEqual(await everythingIn(group.store), before)
    assert.deepEqual(await does('DELETE', `${path}?force=true`), { done: true })
    const { sites, group_revisions, changes, ...left } = await everythingIn(group.store)
    assert.deepEqual(Object.values(left).flat(), [])
    assertRefused(await send('GET', path), 404, /no such collection/)
    assert.equal((await group.get(`/tenant/collectionObjects?collectionId=${posts._id}`)).statusCode, 404)
    // A page with a deleted collection must not prevent other changes of the site.
    const renamed = await does('PATCH', `/sites/${site._id}`, { version: 1, name: 'Shop', settings: { motto: 'x' } })
    assert.equal(renamed.name, 'Shop')
  })

  it('that are empty and not shown are deleted without force', async () => {
    const { does, post, posts } = await editingPosts(engine, schema)
    const { _id } = await post({ title: 'a' })
    await does('DELETE', `/objects/${_id}`)
    assert.deepEqual(await does('DELETE', `/collections/${posts._id}`), { done: true })
    assert.equal((await does('GET', '/collections')).totalCount, 0)
  })
})
