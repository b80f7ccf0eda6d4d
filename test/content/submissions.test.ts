import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Container,
  type ContainerSettings,
  type StoredObject,
  type StoredSite,
  type SubmissionType,
  unsetPublishMs,
} from '../../src/content/model.ts'
import { nextNoticeMs, noticeSubject, noticeTitle, sitesToNotify, summaryOf } from '../../src/content/notices.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { checkSubmission, deliverSubmission, stateOfSubmission, stripHoneypot } from '../../src/content/submissions.ts'

const schema = parseSchema({
  email: { type: 'text', private: true },
  name: { type: 'text', required: true },
  tags: { type: 'list', of: { type: 'text' } },
  sizes: { type: 'variant', of: { type: 'text' } },
  photos: { type: 'list', of: { type: 'image' } },
})

const collection = (settings: ContainerSettings): Container => ({
  id: 'c1',
  kind: 'collection',
  name: 'Things',
  schema,
  settings,
  version: 1,
})
const both = collection({ accepts: ['createReview', 'subscribeUser'] })

const object = (value: Record<string, unknown>, review: StoredObject['review'] = 'approved'): StoredObject => ({
  id: 'o1',
  value,
  publishMs: unsetPublishMs,
  archiveMs: null,
  archived: false,
  createdMs: 5,
  updatedMs: 5,
  externalId: null,
  accountHandle: '',
  version: 1,
  review,
})

function problemOf(type: SubmissionType, value: Record<string, unknown>, of = both): string {
  try {
    checkSubmission(of, type, value)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('checkSubmission', () => {
  it('accepts a valid submission', () => {
    assert.equal(problemOf('createReview', { name: 'Ada', tags: ['a'], sizes: { S: 'x' } }), '')
    assert.equal(problemOf('subscribeUser', { name: 'Ada', email: 'ada@visitor.example' }), '')
  })

  it('requires an address of subscribers only', () => {
    assert.equal(problemOf('createReview', { name: 'Ada', email: 'none' }), '')
    assert.equal(problemOf('subscribeUser', {}), 'objectValue.name is required; objectValue.email is required.')
  })

  it('finds files in lists and in variants', () => {
    const html = '<img src="media:g/a.png">'
    assert.match(problemOf('createReview', { name: 'Ada', tags: ['a', html] }), /^objectValue\.tags must not refer/)
    assert.match(problemOf('createReview', { name: 'Ada', sizes: { S: 'a', L: html } }), /^objectValue\.sizes must not/)
    for (const photos of [[], [5], 'x', { a: 1 }])
      assert.match(problemOf('createReview', { name: 'Ada', photos }), /^objectValue\.photos must be left out/)
  })

  it('names the accepted type when it refuses another', () => {
    assert.match(
      problemOf('createReview', {}, collection({ accepts: ['subscribeUser'] })),
      /accepts only subscribeUser\./,
    )
    assert.match(problemOf('createReview', {}, collection({})), /accepts no submissions\./)
  })
})

describe('stripHoneypot', () => {
  it('detects a filled honeypot, and removes the field whether filled or empty', () => {
    const filled: unknown[] = ['x', ' ', 0, true, [], {}]
    for (const company_website of filled) {
      assert.deepEqual(stripHoneypot(both, { objectValue: { a: 1, company_website } }), {
        objectValue: { a: 1 },
        isHoneypotFilled: true,
      })
      assert.equal(stripHoneypot(both, { objectValue: {}, company_website }).isHoneypotFilled, true)
    }
    for (const company_website of [undefined, null, '', false])
      assert.deepEqual(stripHoneypot(both, { company_website, objectValue: { a: 1, company_website } }), {
        objectValue: { a: 1 },
        isHoneypotFilled: false,
      })
  })
})

describe('deliverSubmission', () => {
  it('omits private fields and files', () => {
    const photos = [{ name: 'a', key: 'g/a.png', type: 'image' }]
    const value = { email: 'ada@visitor.example', name: '<img src="media:g/a.png">', photos }
    const { objectValue } = deliverSubmission(both, object(value))
    assert.deepEqual(objectValue, { _id: 'o1', name: value.name, mediaFields: {} })
  })

  it('returns an archived object when the collection is moderated', () => {
    const [seen, waiting] = [stateOfSubmission(both, 5), stateOfSubmission(collection({ moderation: true }), 5)]
    assert.deepEqual(seen, { archived: false, review: 'approved', publishMs: 5 })
    assert.deepEqual(waiting, { archived: true, review: 'pending', publishMs: unsetPublishMs })
  })
})

describe('a notification', () => {
  it('for each submission is due at once, and a daily one at the next 07:00 UTC', () => {
    const at = (text: string) => Date.parse(text)
    const now = at('2026-03-01T06:59:59.999Z')
    assert.equal(nextNoticeMs('each', now), now)
    const daily: [now: string, due: string][] = [
      ['2026-03-01T00:00:00.000Z', '2026-03-01T07:00:00.000Z'],
      ['2026-03-01T06:59:59.999Z', '2026-03-01T07:00:00.000Z'],
      ['2026-03-01T07:00:00.000Z', '2026-03-02T07:00:00.000Z'],
      ['2026-12-31T23:00:00.000Z', '2027-01-01T07:00:00.000Z'],
    ]
    for (const [from, due] of daily) assert.equal(new Date(nextNoticeMs('daily', at(from))).toISOString(), due)
  })

  it('goes to the sites whose pages show the collection, else to all with notifications', () => {
    const site = (id: string, isTold: boolean, shown: string[]): StoredSite => ({
      id,
      name: id,
      domainName: '',
      settings: { pages: [{ collections: shown.map((collectionId) => ({ collectionId })) }] },
      privateSettings: isTold ? { submissionNotices: { to: `${id}@shop.example`, rhythm: 'each' } } : {},
      version: 1,
      createdMs: 0,
      updatedMs: 0,
    })
    const notified = (...sites: StoredSite[]) => sitesToNotify(sites, 'c1').map(({ id }) => id)
    assert.deepEqual(notified(site('a', true, ['c1']), site('b', true, ['c2']), site('c', false, ['c1'])), ['a'])
    assert.deepEqual(notified(site('a', true, []), site('b', true, ['c2']), site('c', false, [])), ['a', 'b'])
    assert.deepEqual(notified(site('a', true, []), site('b', false, ['c1'])), [])
  })

  it('describes the submission in words, truncated, including private fields', () => {
    const value = { name: `${'x'.repeat(298)}🙂🙂`, email: 'ada@visitor.example', tags: ['a', 'b'], sizes: { S: 'x' } }
    assert.deepEqual(summaryOf(both, object({ ...value, photos: null }, 'pending')), {
      collection: 'Things',
      createdMs: 5,
      waits: true,
      fields: [
        { name: 'email', text: 'ada@visitor.example' },
        { name: 'name', text: `${'x'.repeat(298)}…` },
        { name: 'tags', text: 'a, b' },
        { name: 'sizes', text: '{"S":"x"}' },
      ],
    })
    const fields = Array.from({ length: 30 }, (_, n) => [`f${n}`, { type: 'integer' }])
    const wide = { ...both, schema: parseSchema(Object.fromEntries(fields)) }
    const values = Object.fromEntries(fields.map(([name]) => [name, 7]))
    assert.equal(summaryOf(wide, object(values)).fields.length, 12)
  })

  it('has a one-line subject', () => {
    const reviews = collection({ accepts: ['createReview'] })
    const titles = [noticeTitle(1, reviews), noticeTitle(1, collection({ accepts: ['subscribeUser'] }))]
    assert.deepEqual(titles, ['New review', 'New subscriber'])
    assert.deepEqual([noticeTitle(1, both), noticeTitle(1, undefined)], ['New submission', 'New submission'])
    assert.equal(noticeTitle(2, reviews), '2 new submissions')
    assert.equal(noticeSubject('New review', 'Shop\r\nBcc: all\u0085'), 'New review – Shop Bcc: all')
  })
})
