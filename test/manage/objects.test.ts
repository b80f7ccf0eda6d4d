import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertRefused, editingPosts, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, testStartMs } from '../helpers/harness.ts'

const schema = {
  title: { type: 'text', required: true },
  body: { type: 'longText' },
  rating: { type: 'integer', min: 1, max: 5 },
  tags: { type: 'list', of: { type: 'text' } },
  note: { type: 'text', private: true },
}
const iso = (ms: number): string => new Date(ms).toISOString()
const dayMs = 86_400_000
const [past, now, tomorrow] = [testStartMs - dayMs, testStartMs, testStartMs + dayMs].map(iso)
const centuryMs = 100 * 365 * dayMs

/** Visible now, and scheduled for tomorrow. */
type Seen = [now: boolean, tomorrow: boolean]
const seenIn: Record<string, Seen> = {
  published: [true, true],
  scheduled: [false, true],
  draft: [false, false],
  archived: [false, false],
}

const births: [what: string, state: object, status: string, publishDate: string | null | undefined][] = [
  ['without a word of its state', {}, 'published', now],
  ['with publishDate null', { publishDate: null }, 'published', null],
  ['with a date in the past', { publishDate: past }, 'published', past],
  ['with this very moment as its date', { publishDate: now }, 'published', now],
  ['with a date in another time zone', { publishDate: '2026-03-02T14:00:00+02:00' }, 'scheduled', tomorrow],
  ['with a date to come', { publishDate: tomorrow }, 'scheduled', tomorrow],
  ['as a draft', { draft: true }, 'draft', '9999-12-31T23:59:59.999Z'],
  ['archived', { archived: true }, 'archived', null],
  ['archived, with a date to come', { archived: true, publishDate: tomorrow }, 'archived', tomorrow],
]

const actions = ['publish', 'schedule', 'unpublish', 'archive', 'restore']
const transitions: [from: string, state: object, to: string[]][] = [
  ['published', {}, ['published', 'scheduled', 'draft', 'archived', 'published']],
  ['scheduled', { publishDate: tomorrow }, ['published', 'scheduled', 'draft', 'archived', 'scheduled']],
  ['draft', { draft: true }, ['published', 'scheduled', 'draft', 'archived', 'draft']],
  ['archived', { archived: true }, ['published', 'scheduled', 'archived', 'archived', 'published']],
  [
    'archived before its date',
    { archived: true, publishDate: tomorrow },
    ['published', 'scheduled', 'archived', 'archived', 'scheduled'],
  ],
  ['archived as a draft', { archived: true, draft: true }, ['published', 'scheduled', 'archived', 'archived', 'draft']],
]

onBothEngines('objects', (engine) => {
  it('are created in every state, and delivered according to spec §3', async () => {
    const { post, posts, delivered, clock } = await editingPosts(engine, schema)
    const expected = []
    for (const [what, state, status, publishDate] of births) {
      const made = await post({ title: what, note: 'private' }, state)
      assert.deepEqual([made.status, made.publishDate, made.version], [status, publishDate, 1], what)
      assert.deepEqual(made.objectValue, { title: what, note: 'private' })
      expected.push({ what, seen: seenIn[status] as Seen })
    }
    for (const [position, atMs] of [testStartMs, testStartMs + dayMs, testStartMs + centuryMs].entries()) {
      clock.now = atMs
      const items = await delivered(posts._id)
      assert.deepEqual(
        items.map(({ objectValue }) => objectValue.title),
        expected.filter(({ seen }) => seen[Math.min(position, 1)]).map(({ what }) => what),
      )
      assert.ok(items.every(({ objectValue }) => !('note' in objectValue)))
    }
  })

  it('go from every state to every other by the actions, and are delivered according to their state', async () => {
    const { post, does, deliveredValues, clock } = await editingPosts(engine, schema)
    const expected: [string, Seen][] = []
    for (const [from, state, to] of transitions) {
      for (const [position, action] of actions.entries()) {
        const title = `${from}: ${action}`
        const { _id } = await post({ title }, state)
        const body = action === 'schedule' ? { publishDate: tomorrow } : undefined
        const { status } = await does('POST', `/objects/${_id}/${action}`, body)
        assert.equal(status, to[position] as string, title)
        expected.push([title, seenIn[status] as Seen])
      }
    }
    const seen = (moment: 0 | 1): string[] => expected.filter(([, when]) => when[moment]).map(([title]) => title)
    assert.deepEqual(await deliveredValues('title'), seen(0))
    clock.now += dayMs
    assert.deepEqual(await deliveredValues('title'), seen(1))
  })

  it('are published at the moment of the call, or keep an earlier date', async () => {
    const { post, does, clock } = await editingPosts(engine, schema)
    const dates = [
      [{ draft: true }, iso(testStartMs + 5)],
      [{ publishDate: tomorrow }, iso(testStartMs + 5)],
      [{ publishDate: past, archived: true }, past],
      [{ archived: true }, iso(testStartMs + 5)],
      [{ publishDate: null }, iso(testStartMs + 5)],
    ] as const
    for (const [state, publishDate] of dates) {
      clock.now = testStartMs
      const { _id } = await post({ title: 'x' }, state)
      clock.now += 5
      assert.equal((await does('POST', `/objects/${_id}/publish`)).publishDate, publishDate)
    }
  })

  it('that are new come first with the newest, however they became visible; null is preserved', async () => {
    const { post, does, delivered, posts, clock } = await editingPosts(engine, schema)
    const steps: [title: string, make: () => Promise<unknown>][] = [
      ['undated', () => post({ title: 'undated' }, { publishDate: null })],
      ['dated', () => post({ title: 'dated' }, { publishDate: past })],
      ['made', () => post({ title: 'made' })],
      [
        'made with others',
        () =>
          does('POST', `/collections/${posts._id}/objects/bulk`, {
            items: [{ objectValue: { title: 'made with others' } }],
          }),
      ],
      [
        'published',
        async () => does('POST', `/objects/${(await post({ title: 'published' }, { draft: true }))._id}/publish`),
      ],
      [
        'no longer a draft',
        async () => {
          const { _id, version } = await post({ title: 'no longer a draft' }, { draft: true })
          return does('PATCH', `/objects/${_id}`, { version, draft: false })
        },
      ],
    ]
    for (const [, make] of steps) {
      await make()
      clock.now += 1000
    }
    assert.deepEqual(
      (await delivered(posts._id, '&sort=publishDate:desc')).map(({ objectValue }) => objectValue.title),
      ['no longer a draft', 'published', 'made with others', 'made', 'dated', 'undated'],
    )
  })

  it('are scheduled only for a future moment', async () => {
    const { post, send } = await editingPosts(engine, schema)
    const { _id } = await post({ title: 'x' })
    for (const publishDate of [now, past])
      assertRefused(await send('POST', `/objects/${_id}/schedule`, { publishDate }), 400, /must lie in the future/)
    for (const publishDate of ['tomorrow', '2026-03-02', '2026-13-01T00:00:00Z', ''])
      assertRefused(
        await send('POST', `/objects/${_id}/schedule`, { publishDate }),
        400,
        /publishDate must be a moment/,
      )
    assertRefused(await send('POST', `/objects/${_id}/schedule`, {}), 400, /publishDate is required/)
  })

  it('are listed in every state, with status, filters, sort, search and pages', async () => {
    const { post, posts, does, delivered } = await editingPosts(engine, schema)
    const states = [{}, { publishDate: tomorrow }, { draft: true }, { archived: true }]
    for (const [position, state] of [...states, ...states].entries()) {
      const tags = position < 4 ? ['early'] : ['late', 'hour']
      await post({ title: `Loaf ${position}`, rating: (position % 4) + 1, tags, note: 'hidden' }, state)
    }
    const list = async (query = '') => {
      const { items, totalCount } = await does('GET', `/collections/${posts._id}/objects?${query}`)
      return [items.map(({ objectValue }: { objectValue: { title: string } }) => objectValue.title.slice(5)).join(''), totalCount] // biome-ignore format: short
    }
    const lists: [query: string, titles: string, total: number][] = [
      ['', '01234567', 8],
      ['status=published', '04', 2],
      ['status=scheduled', '15', 2],
      ['status=draft', '26', 2],
      ['status=archived', '37', 2],
      ['sort=title:desc', '76543210', 8],
      ['sort=rating:desc,title:asc', '37261504', 8],
      ['filters[tags]=late', '4567', 4],
      ['filters[tags]=late&filters[tags]=early&limit=3', '012', 8],
      ['filters[rating]=4&status=archived', '37', 2],
      ['search=LOAF 5', '5', 1],
      ['search=hidden', '', 0],
      ['limit=3&skip=6', '67', 8],
      ['status=draft&filters[tags]=hour&search=loaf&sort=title:asc', '6', 1],
      ['sort=publishDate:desc&status=scheduled', '51', 2],
      ['filters[rating][gte]=2&filters[rating][lt]=4', '1256', 4],
      ['filters[tags][ne]=early&sort=publishDate:desc', '6547', 4],
      ['filters[publishDate][exists]=true&filters[publishDate][gt]=9000-01-01', '26', 2],
      ['filters[createdAt][lt]=2000-01-01', '', 0],
    ]
    for (const [query, titles, total] of lists) assert.deepEqual(await list(query), [titles, total], query)
    const { items } = await does('GET', `/collections/${posts._id}/objects?limit=1&fields=note,title`)
    assert.deepEqual(items[0].objectValue, { title: 'Loaf 0', note: 'hidden' }, 'editors see private fields')
    assert.equal((await delivered(posts._id)).length, 2)
  })

  it('are not listed with an unknown or invalid parameter', async () => {
    const { send, posts } = await editingPosts(engine, schema)
    const bad: [query: string, message: RegExp][] = [
      ['state=draft', /state is not a parameter here/],
      ['status=hidden', /status must be one of published, scheduled, draft, archived/],
      ['filters[note]=x', /filters\[note\] names "note"/],
      ['sort=note:asc', /sort names "note"/],
      ['filters[rating][gte]=x', /filters\[rating\]\[gte\] must be a number/],
      ['fields=nope', /fields names "nope".*Usable fields: _id, title/],
      ['limit=101', /limit must be a whole number from 1 to 100/],
      ['status=draft&status=archived', /status must be given once/],
    ]
    for (const [query, message] of bad)
      assertRefused(await send('GET', `/collections/${posts._id}/objects?${query}`), 400, message)
    assertRefused(await send('GET', '/collections/nope/objects'), 404, /no such collection/)
  })

  it('are replaced by PUT: missing fields are removed, a missing state is retained', async () => {
    const { post, does, delivered, posts, clock } = await editingPosts(engine, schema)
    const { _id } = await post({ title: 'Old', rating: 3, note: 'n' }, { publishDate: past })
    clock.now += 1000
    const after = await does('PUT', `/objects/${_id}`, { version: 1, objectValue: { title: 'New', body: '<p>b</p>' } })
    assert.deepEqual(after.objectValue, { title: 'New', body: '<p>b</p>' })
    assert.deepEqual([after.version, after.publishDate, after.updatedAt], [2, past, iso(clock.now)])
    const [item] = await delivered(posts._id, '&search=b&filters[title]=New')
    assert.deepEqual(item.objectValue, { _id, title: 'New', body: '<p>b</p>', mediaFields: {} })
    assert.deepEqual([item.updatedAt, item.createdAt], [iso(clock.now), now])
    assert.equal((await delivered(posts._id, '&filters[rating]=3')).length, 0)
    const hidden = await does('PUT', `/objects/${_id}`, { version: 2, objectValue: { title: 'New' }, archived: true })
    assert.equal(hidden.status, 'archived')
    assert.deepEqual(await does('GET', `/objects/${_id}`), { ...hidden, workingCopy: null })
    assert.equal((await delivered(posts._id)).length, 0)
  })

  it('are changed in part by PATCH: missing fields are retained, null removes a field', async () => {
    const { post, does, deliveredValues, send } = await editingPosts(engine, schema)
    const { _id } = await post({ title: 'Old', rating: 3, body: null, tags: ['a'] })
    const patch = async (version: number, objectValue: object) =>
      (await does('PATCH', `/objects/${_id}`, { version, objectValue })).objectValue
    assert.deepEqual(await patch(1, { title: 'New' }), { title: 'New', rating: 3, body: null, tags: ['a'] })
    assert.deepEqual(await patch(2, { rating: null, tags: ['b'] }), { title: 'New', body: null, tags: ['b'] })
    assert.deepEqual(await patch(3, { body: null }), { title: 'New', tags: ['b'] })
    assertRefused(
      await send('PATCH', `/objects/${_id}`, { version: 4, objectValue: { title: null } }),
      400,
      /title is required/,
    )
    assert.deepEqual(await deliveredValues('tags', '&filters[tags]=b'), [['b']])
    assert.equal((await does('PATCH', `/objects/${_id}`, { version: 4, draft: true })).status, 'draft')
    assert.deepEqual(await deliveredValues('title'), [])
  })

  it('are deleted permanently, with versions and preview links, and only in the given version', async () => {
    const { post, does, send, group, delivered, posts } = await editingPosts(engine, schema)
    const [kept, gone] = [await post({ title: 'Kept' }), await post({ title: 'Gone' })]
    await does('PATCH', `/objects/${gone._id}`, { version: 1, objectValue: { rating: 1 } })
    const { token } = await does('POST', '/previews', { objectId: gone._id })
    assertRefused(await send('DELETE', `/objects/${gone._id}?version=1`), 409, /at version 2, you started from 1/)
    assert.deepEqual(await does('DELETE', `/objects/${gone._id}?version=2`), { done: true })
    for (const path of ['', '/versions', '/diff?from=1&to=2'])
      assertRefused(await send('GET', `/objects/${gone._id}${path}`), 404, /no such object/)
    assertRefused(await send('DELETE', `/objects/${gone._id}`), 404, /no such object/)
    assert.equal((await group.get(`/tenant/preview?token=${token}`)).statusCode, 404)
    assert.deepEqual((await delivered(posts._id)).map(({ _id }) => _id), [kept._id]) // biome-ignore format: short
    const { object_fields, object_versions } = await everythingIn(group.store)
    assert.ok(![...(object_fields ?? []), ...(object_versions ?? [])].join('').includes(gone._id))
    assert.deepEqual(await does('DELETE', `/objects/${kept._id}`), { done: true })
  })

  it('are copied as drafts', async () => {
    const { post, does, deliveredValues } = await editingPosts(engine, schema)
    const original = await post({ title: 'Bread', tags: ['a'], note: 'n' })
    const copy = await does('POST', `/objects/${original._id}/duplicate`)
    assert.notEqual(copy._id, original._id)
    assert.deepEqual([copy.status, copy.version, copy.objectValue], ['draft', 1, original.objectValue])
    assert.deepEqual(await deliveredValues('title'), ['Bread'])
    await does('POST', `/objects/${copy._id}/publish`)
    assert.deepEqual(await deliveredValues('title'), ['Bread', 'Bread'])
  })

  it('are refused with all errors listed, and nothing is stored', async () => {
    const { post, send, group, posts } = await editingPosts(engine, schema)
    const { _id } = await post({ title: 'Good' })
    const before = await everythingIn(group.store)
    const bad = { rating: 9, tags: 'a', surprise: 1 }
    const all = /surprise is not a field.*rating must be at most 5.*tags must be a list/
    const calls: [method: 'POST' | 'PUT' | 'PATCH', path: string, body: object, message: RegExp][] = [
      ['POST', `/collections/${posts._id}/objects`, { objectValue: bad }, /title is required/],
      ['POST', `/collections/${posts._id}/objects`, { objectValue: bad }, all],
      ['PUT', `/objects/${_id}`, { version: 1, objectValue: bad }, all],
      ['PATCH', `/objects/${_id}`, { version: 1, objectValue: bad }, all],
      [
        'PUT',
        `/objects/${_id}`,
        { version: '1', value: {} },
        /objectValue is required.*value cannot be given.*version must be a whole number/,
      ],
      ['PUT', `/objects/${_id}`, { objectValue: { title: 'x' } }, /version is required/],
      ['PATCH', `/objects/${_id}`, { version: 1, publishDate: 'soon' }, /publishDate must be a moment/],
      ['PATCH', `/objects/${_id}`, { version: 1, publishDate: null, draft: true }, /publishDate or draft, not both/],
      ['POST', `/collections/${posts._id}/objects`, { objectValue: { title: 'a\0b' } }, /cannot be stored/],
    ]
    for (const [method, path, body, message] of calls) assertRefused(await send(method, path, body), 400, message)
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('are not affected by a call that changes nothing: version, dates, revision and record stay', async () => {
    const { post, send, group, clock } = await editingPosts(engine, schema)
    const [shown, dated] = [
      await post({ title: 'a', rating: 1, body: null }),
      await post({ title: 'b' }, { publishDate: past }),
    ]
    const [draft, away] = [await post({ title: 'c' }, { draft: true }), await post({ title: 'd' }, { archived: true })]
    const before = await everythingIn(group.store)
    clock.now += 60_000
    const calls: [object: { _id: string }, method: 'POST' | 'PUT' | 'PATCH', path: string, body?: object][] = [
      [shown, 'PUT', '', { version: 1, objectValue: { body: null, rating: 1, title: 'a' }, archived: false }],
      [shown, 'PATCH', '', { version: 1 }],
      [shown, 'PATCH', '', { version: 1, objectValue: { rating: 1, tags: null }, publishDate: shown.publishDate }],
      [shown, 'POST', '/publish'],
      [shown, 'POST', '/restore'],
      [shown, 'POST', '/versions/1/restore'],
      [dated, 'POST', '/publish', { version: 1 }],
      [dated, 'PATCH', '', { version: 1, publishDate: '2026-02-28T13:00:00+01:00' }],
      [draft, 'POST', '/unpublish'],
      [draft, 'PATCH', '', { version: 1, draft: true }],
      [away, 'POST', '/archive'],
    ]
    for (const [object, method, path, body] of calls) {
      const answer = await send(method, `/objects/${object._id}${path}`, body)
      assert.deepEqual(answer.json().data, object, `${method} ${path}: ${answer.body}`)
    }
    assert.deepEqual(await everythingIn(group.store), before)
  })
})
