import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertNoGaps, type Data, type Editing, editingPosts } from '../helpers/editing.ts'
import { onBothEngines, testStartMs } from '../helpers/harness.ts'
import type { Method } from '../helpers/manage.ts'

const schema = { title: { type: 'text' } }
const iso = (ms: number): string => new Date(ms).toISOString()
const hourMs = 3_600_000
const inAnHour = iso(testStartMs + hourMs)

const feed = async ({ does }: Pick<Editing, 'does'>, since = 0): Promise<Data[]> =>
  (await does('GET', `/events?since=${since}`)).items
const lastSeq = async ({ does }: Pick<Editing, 'does'>): Promise<number> =>
  (await does('GET', '/events?limit=1')).lastSeq

/** An action on a post half an hour before its publish date, and when it is then reported as published. */
const fates: [what: string, calls: [method: Method, path: string, body?: object][], publishedAt: (number | undefined)[]][] = [
  ['left alone', [], [1]],
  ['unpublished', [['POST', '/unpublish']], []],
  ['archived', [['POST', '/archive']], []],
  ['deleted', [['DELETE', '']], []],
  ['published', [['POST', '/publish']], [0.5]],
  ['put off', [['POST', '/schedule', { publishDate: iso(testStartMs + 3 * hourMs) }]], [3]],
  ['changed', [['PATCH', '', { version: 1, objectValue: { title: 'Better' } }]], [1]],
  ['archived and restored', [['POST', '/archive'], ['POST', '/restore']], [1]],
  ['given a date in the past', [['PATCH', '', { version: 1, publishDate: iso(testStartMs - hourMs) }]], [0.5]],
] // biome-ignore format: a table

onBothEngines('events', (engine) => {
  it('report every change in order, with its subject, version and author', async () => {
    const created = await editingPosts(engine, schema)
    const { does, post, posts, group, clock } = created
    const { _id } = await post({ title: 'a' })
    const draft = await post({ title: 'b' }, { draft: true })
    const site = await does('POST', '/sites', { name: 'Site' })
    const path = `/objects/${_id}`
    const expected: [type: string, subjectId: string, version: number | null, note?: string][] = [
      ['collection.created', posts._id, 1, 'Posts'],
      ['content.created', _id, 1],
      ['content.published', _id, 1],
      ['content.created', draft._id, 1],
      ['site.created', site._id, 1, 'Site'],
    ]
    const steps: [method: Method, path: string, body: object | undefined, ...events: typeof expected][] = [
      ['PATCH', path, { version: 1, objectValue: { title: 'c' } }, ['content.updated', _id, 2, 'updated: title']],
      ['POST', `${path}/archive`, undefined, ['content.updated', _id, 3, 'archived: archived']],
      ['POST', `${path}/restore`, undefined, ['content.updated', _id, 4, 'restored: archived'], ['content.published', _id, 4]],
      ['POST', `${path}/unpublish`, undefined, ['content.updated', _id, 5, 'unpublished: publishDate']],
      ['POST', `${path}/publish`, undefined, ['content.updated', _id, 6, 'published: publishDate'], ['content.published', _id, 6]],
      ['PATCH', `/sites/${site._id}`, { version: 1, domainName: 'a.example' }, ['site.updated', site._id, 2, 'domainName']],
      ['PATCH', `/collections/${posts._id}`, { version: 1, moderation: true }, ['collection.updated', posts._id, 2, 'settings']],
      ['DELETE', path, undefined, ['content.deleted', _id, 6]],
      ['DELETE', `/sites/${site._id}`, undefined, ['site.deleted', site._id, null, 'Site']],
      ['DELETE', `/collections/${posts._id}?force=true`, undefined, ['collection.deleted', posts._id, null, 'Posts']],
    ] // biome-ignore format: a table
    for (const [method, where, body, ...events] of steps) {
      clock.now += 1000
      await does(method, where, body)
      expected.push(...events)
    }
    const events = await feed(created)
    assert.deepEqual(
      events.map(({ seq, type, subjectId, version, note, actor }) => [seq, type, subjectId, version, note, actor]),
      expected.map(([type, subjectId, version, note = ''], position) => [position + 1, type, subjectId, version, note, 'The owner']), // biome-ignore format: short
    )
    assert.ok(
      events.filter(({ type }) => type.startsWith('content.')).every(({ containerId }) => containerId === posts._id),
    )
    assert.deepEqual([events[0].at, events.at(-1).at], [iso(testStartMs), iso(clock.now)])
    assert.equal((await does('GET', '/events', undefined, group.tokens.viewer)).lastSeq, expected.length)
  })

  it('are numbered without gaps in one order, also with 20 concurrent writers', async () => {
    const created = await editingPosts(engine, schema)
    const { post, does, group } = created
    const { _id } = await post({ title: 'a' })
    const write = (n: number) => (n % 2 === 0 ? post({ title: `${n}` }) : does('POST', `/objects/${_id}/${n % 4 === 1 ? 'archive' : 'restore'}`)) // biome-ignore format: short
    await Promise.all(Array.from({ length: 20 }, (_, n) => write(n)))
    await assertNoGaps(group.store)
    const events = await feed(created)
    assert.deepEqual(events.map(({ seq }) => seq), events.map((_, position) => position + 1)) // biome-ignore format: short
    assert.equal(events.filter(({ type }) => type === 'content.created').length, 11)
    const versions = events.filter(({ subjectId, type }) => subjectId === _id && type === 'content.updated')
    assert.deepEqual(versions.map(({ version }) => version), versions.map((_, position) => position + 2)) // biome-ignore format: short
  })

  it('report that something became visible by time alone: at its moment, once, and before later events', async () => {
    const created = await editingPosts(engine, schema)
    const { post, clock, does } = created
    const late = await post({ title: 'late' }, { publishDate: iso(testStartMs + 2 * hourMs) })
    const soon = await post({ title: 'soon' }, { publishDate: inAnHour })
    const before = await lastSeq(created)
    clock.now = testStartMs + hourMs - 1
    assert.deepEqual(await feed(created, before), [])
    clock.now += 1
    const answers = await Promise.all(Array.from({ length: 10 }, () => feed(created, before)))
    for (const events of answers) {
      assert.deepEqual(
        events.map(({ type, at, subjectId, version, actor, seq }) => ({ type, at, subjectId, version, actor, seq })),
        [
          {
            type: 'content.published',
            at: inAnHour,
            subjectId: soon._id,
            version: 1,
            actor: 'schedule',
            seq: before + 1,
          },
        ],
      )
    }
    clock.now = testStartMs + 5 * hourMs
    await does('POST', `/objects/${late._id}/archive`)
    const events = (await feed(created, before + 1)).map(({ type, at, subjectId }) => [type, at, subjectId])
    assert.deepEqual(events, [
      ['content.published', iso(testStartMs + 2 * hourMs), late._id],
      ['content.updated', iso(clock.now), late._id],
    ])
    clock.now += 100 * hourMs
    assert.equal((await feed(created, before + 1)).length, 2)
  })

  it('report a scheduled post as published exactly when it was', async () => {
    const created = await editingPosts(engine, schema)
    const { post, does, clock, deliveredValues } = created
    const ids: string[] = []
    for (const [what] of fates) ids.push((await post({ title: what }, { publishDate: inAnHour }))._id)
    clock.now += hourMs / 2
    for (const [position, [, calls]] of fates.entries()) {
      for (const [method, path, body] of calls) await does(method, `/objects/${ids[position]}${path}`, body)
    }
    for (const hours of [1, 2, 3, 50]) {
      clock.now = testStartMs + hours * hourMs
      await feed(created)
    }
    const published = (await feed(created)).filter(({ type }) => type === 'content.published')
    for (const [position, [what, , publishedAt]] of fates.entries()) {
      const moments = published.filter(({ subjectId }) => subjectId === ids[position]).map(({ at }) => at)
      assert.deepEqual(moments, publishedAt.map((hours = 0) => iso(testStartMs + hours * hourMs)), what) // biome-ignore format: short
    }
    const seen = fates.filter(([, , publishedAt]) => publishedAt.length > 0).length
    assert.equal((await deliveredValues('title')).length, seen)
  })

  it('report a post archived at its publish date when it is restored', async () => {
    const created = await editingPosts(engine, schema)
    const { post, does, clock } = created
    const { _id } = await post({ title: 'a' }, { publishDate: inAnHour })
    await does('POST', `/objects/${_id}/archive`)
    clock.now += 2 * hourMs
    const before = await lastSeq(created)
    await does('POST', `/objects/${_id}/restore`)
    clock.now += hourMs
    const events = (await feed(created, before)).map(({ type, at, actor }) => [type, at, actor])
    const at = iso(testStartMs + 2 * hourMs)
    assert.deepEqual(events, [['content.updated', at, 'The owner'], ['content.published', at, 'The owner']]) // biome-ignore format: short
  })

  it('are each read exactly once by a reader that continues from the last number, during concurrent writes', async () => {
    const created = await editingPosts(engine, schema)
    const { post, does, group } = created
    let isDone = false
    const writers = Promise.all(
      [0, 1, 2, 3].map(async (writer) => {
        for (let n = 0; n < 10; n += 1) await post({ title: `${writer}.${n}` }, { draft: n % 2 === 0 })
      }),
    ).finally(() => {
      isDone = true
    })
    const read: Data[] = []
    for (let isLast = false; !isLast; ) {
      isLast = isDone
      const { items } = await does('GET', `/events?since=${read.at(-1)?.seq ?? 0}&limit=7`)
      assert.ok(items.length <= 7)
      read.push(...items)
      isLast &&= items.length === 0
    }
    await writers
    assert.deepEqual(read.map(({ seq }) => seq), read.map((_, position) => position + 1)) // biome-ignore format: short
    assert.equal(read.length, 1 + 40 + 20)
    assert.equal(await lastSeq(created), read.length)
    await assertNoGaps(group.store)
  })

  it('of one group are never in another’s feed', async () => {
    const created = await editingPosts(engine, schema)
    const { post, newManagedGroup, ask, clock } = created
    const other = await newManagedGroup()
    const theirs = await other.collection('Theirs', schema)
    await other.add(theirs, { value: { title: 'x' }, publishMs: testStartMs + hourMs })
    const mine = await post({ title: 'mine' }, { publishDate: inAnHour })
    clock.now += hourMs
    const [here, there] = [await feed(created), (await ask('GET', `/manage/groups/${other.groupId}/events`)).items]
    assert.deepEqual(here.map(({ type }) => type), ['collection.created', 'content.created', 'content.published']) // biome-ignore format: short
    assert.deepEqual(there.map(({ seq }: Data) => seq), [1, 2, 3]) // biome-ignore format: short
    assert.ok(!JSON.stringify(there).includes(mine._id))
    assert.ok(!JSON.stringify(here).includes(theirs.id))
  })
})
