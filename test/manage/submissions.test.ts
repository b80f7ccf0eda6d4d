import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { NewObject } from '../../src/store/content/objects.ts'
import { assertIndexIsRight, assertRefused, editing, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'

const schema = {
  text: { type: 'text' },
  stars: { type: 'integer' },
  tags: { type: 'list', of: { type: 'text' } },
  email: { type: 'text', private: true },
}
const waiting = (value: NewObject['value']): NewObject => ({ value, archived: true, review: 'pending' })

async function withReviews(engine: TestEngine) {
  const created = await editing(engine)
  const { group, delivered } = created
  const reviews = await group.collection('Reviews', schema)
  const sent = await group.add(
    reviews,
    waiting({ text: 'Good', stars: 5, email: 'a@example.com' }),
    waiting({ text: 'Bad', stars: 1 }),
  )
  await group.add(reviews, { value: { text: 'Our own' } })
  const [good, bad] = sent.map(({ id }) => id)
  const shown = async () => (await delivered(reviews.id)).map(({ objectValue }) => objectValue.text)
  return { ...created, reviews, good, bad, shown }
}

onBothEngines('submissions', (engine) => {
  it('are listed newest first, by collection and state, without other objects', async () => {
    const { does, group, reviews, good, bad } = await withReviews(engine)
    const signups = await group.collection('Signups', { email: { type: 'text' } })
    const [signup] = await group.add(signups, { value: { email: 'b@example.com' }, review: 'approved' })
    const list = async (query = '') => {
      const { items, totalCount } = await does('GET', `/submissions?${query}`)
      return [items.map(({ _id }: { _id: string }) => _id), totalCount]
    }
    assert.deepEqual(await list(), [[signup?.id, bad, good], 3])
    assert.deepEqual(await list('review=pending'), [[bad, good], 2])
    assert.deepEqual(await list(`collectionId=${signups.id}`), [[signup?.id], 1])
    assert.deepEqual(await list(`collectionId=${reviews.id}&review=approved`), [[], 0])
    assert.deepEqual(await list('limit=1&skip=1'), [[bad], 3])
    const [first] = (await does('GET', '/submissions?review=approved')).items
    assert.deepEqual(
      [first.review, first.collectionId, first.objectValue.email],
      ['approved', signups.id, 'b@example.com'],
    )
    const { totalCount } = await does('GET', `/collections/${reviews.id}/objects?review=pending&status=archived`)
    assert.equal(totalCount, 2)
  })

  it('become visible when approved, hidden when rejected, and the other way round again', async () => {
    const { does, shown, good, bad, group, clock } = await withReviews(engine)
    assert.deepEqual(await shown(), ['Our own'])
    const steps: [id: string | undefined, word: string, review: string, status: string, shown: string[]][] = [
      [good, 'approve', 'approved', 'published', ['Good', 'Our own']],
      [bad, 'reject', 'rejected', 'archived', ['Good', 'Our own']],
      [good, 'reject', 'rejected', 'archived', ['Our own']],
      [bad, 'approve', 'approved', 'published', ['Bad', 'Our own']],
    ]
    for (const [id, word, review, status, expected] of steps) {
      clock.now += 1000
      const after = await does('POST', `/submissions/${id}/${word}`, undefined, group.tokens.editor)
      assert.deepEqual([after.review, after.status], [review, status])
      assert.deepEqual(await shown(), expected)
    }
    await assertIndexIsRight(group.store)
    const before = await everythingIn(group.store)
    clock.now += 1000
    await does('POST', `/submissions/${bad}/approve`)
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('get the time at which they first become visible as their date, with any verb', async () => {
    const { does, group, reviews, delivered, clock } = await withReviews(engine)
    const ways: [way: (id: string) => Promise<unknown>, date: 'now' | null | string][] = [
      [(id) => does('POST', `/submissions/${id}/approve`), 'now'],
      [(id) => does('POST', `/objects/${id}/restore`), 'now'],
      [(id) => does('PATCH', `/objects/${id}`, { version: 1, archived: false }), 'now'],
      [(id) => does('PATCH', `/objects/${id}`, { version: 1, archived: false, publishDate: null }), null],
      [async (id) => {
        await does('PATCH', `/objects/${id}`, { version: 1, publishDate: '2026-01-02T00:00:00Z' })
        await does('POST', `/submissions/${id}/approve`)
      }, '2026-01-02T00:00:00.000Z'],
    ] // biome-ignore format: a table
    for (const [way, date] of ways) {
      clock.now += 60_000
      const [{ id } = { id: '' }] = await group.add(reviews, waiting({ text: 'New' }))
      clock.now += 60_000
      const seenAt = date === 'now' ? new Date(clock.now).toISOString() : date
      await way(id)
      const dateOf = async () => (await delivered(reviews.id)).find(({ _id }) => _id === id)?.publishDate
      assert.equal(await dateOf(), seenAt)
      clock.now += 60_000
      await does('POST', `/submissions/${id}/reject`)
      await does('POST', `/submissions/${id}/approve`)
      const again = date === null ? new Date(clock.now).toISOString() : seenAt
      assert.equal(await dateOf(), again, 'a second approval keeps the date')
    }
    const sorted = await group.get(`/tenant/collectionObjects?collectionId=${reviews.id}&sort=publishDate:desc`)
    const dates: string[] = sorted.json().data.items.flatMap(({ publishDate }: { publishDate: string | null }) => publishDate ?? []) // biome-ignore format: short
    assert.deepEqual(dates, dates.toSorted().toReversed())
    assert.equal(dates.length, ways.length)
    await assertIndexIsRight(group.store)
  })

  it('include only objects sent by visitors', async () => {
    const { does, send, reviews } = await withReviews(engine)
    const own = (await does('GET', `/collections/${reviews.id}/objects?status=published`)).items[0]
    assertRefused(await send('POST', `/submissions/${own._id}/approve`), 409, /not a submission/)
    assertRefused(await send('POST', '/submissions/nope/reject'), 404, /no such object/)
  })

  it('are exported as CSV that a spreadsheet reads and does not execute', async () => {
    const { send, group, reviews, good, bad, does } = await withReviews(engine)
    const [tricky] = await group.add(
      reviews,
      waiting({ text: '=HYPERLINK("http://evil.example","x")', stars: -3, tags: ['a', 'b'], email: '@sum\r\n"q", ü' }),
    )
    await does('POST', `/submissions/${good}/approve`)
    const path = `/collections/${reviews.id}/submissions.csv`
    const answer = await send('GET', path)
    assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8')
    const at = '2026-03-01T12:00:00.000Z'
    assert.equal(
      answer.body,
      [
        '_id,review,createdAt,text,stars,tags,email\r\n',
        `${tricky?.id},pending,${at},"'=HYPERLINK(""http://evil.example"",""x"")",-3,"[""a"",""b""]","'@sum\r\n""q"", ü"\r\n`,
        `${bad},pending,${at},Bad,1,,\r\n`,
        `${good},approved,${at},Good,5,,a@example.com\r\n`,
      ].join(''),
    )
    const approved = await send('GET', `${path}?review=approved`)
    assert.equal(approved.body.split('\r\n').length, 3)
    assertRefused(await send('GET', '/collections/nope/submissions.csv'), 404, /no such collection/)
  })
})
