import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { deliverCollectionObject, deliverIntegrationObject, type SignMedia } from '../../src/content/delivery.ts'
import {
  itemPieces,
  type OutgoingObject,
  prepareItems,
  toDeliverable,
  type VisibleObject,
} from '../../src/content/delivery-text.ts'
import { isKeyOfGroup } from '../../src/content/media-keys.ts'
import { type Container, unsetPublishMs } from '../../src/content/model.ts'
import type { Field, Schema } from '../../src/content/schema.ts'
import { listPieces } from '../../src/delivery/make-content.ts'
import { createContentCache } from '../../src/store/lists/content-cache.ts'
import { type Kind, nestedKind, storedJson } from '../helpers/nested-arbitrary.ts'

const groupId = '66f0c0ffee0123456789abcd'
const ownKey = `${groupId}/2026/03/a.png`
const sign: SignMedia = (key) =>
  isKeyOfGroup(groupId, key) ? { source: `https://cdn.example/${key}?a=1&b=2`, expiresAt: 'later' } : undefined

const names = ['title', 'body', 'n', 'tags', 'size', 'picture', 'pictures', 'secret', 'key', 'a-b', 'A_1']
const leaves: Field[] = [{ type: 'text' }, { type: 'longText' }, { type: 'integer' }, { type: 'enum', values: ['x'] }]
const image: Field = { type: 'image' }
const field: fc.Arbitrary<Field> = fc
  .oneof(
    fc.constantFrom(...leaves),
    fc.constant(image),
    fc.constantFrom<Field>(
      { type: 'list', of: { type: 'text' } },
      { type: 'list', of: { type: 'image' } },
      { type: 'variant', of: { type: 'text' } },
      { type: 'variant', of: { type: 'image' } },
      { type: 'variant', of: { type: 'list', of: { type: 'longText' } } },
    ),
  )
  .chain((made) => fc.constantFrom(made, made, made, { ...made, private: true }))
const schemas: fc.Arbitrary<Schema> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...names), field), { selector: ([name]) => name, maxLength: 6 })
  .map((entries) => new Map(entries))

const encodedId = `${groupId.slice(0, 3)}%${groupId.charCodeAt(3).toString(16)}${groupId.slice(4)}`
const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom(
    '',
    '"',
    '\\',
    '\\"',
    '{"secret":"x"}',
    '","secret":"x',
    ']},{',
    '\u2028\u0001\n',
    'Müller 😀',
    `<img src="media:${ownKey}">`,
    `<img src="media:${encodedId}/b.png">`,
    `<IMG SRC='MEDIA:&#54;${ownKey.slice(1)}'>`,
    `<a href="media:&percnt;36${ownKey.slice(1)}#page=2">`,
    `<img src="media:${'0'.repeat(24)}/foreign.png">`,
    '<img src="media:&#x36;6">',
    '100 %, 5 & 6, %30, &amp;',
  ),
)
const media = fc.constantFrom(
  { name: 'a', key: ownKey, type: 'image' },
  { name: 'b', key: `${groupId}/b.png`, type: 'file' },
)
const scalars = fc.oneof(texts, fc.constantFrom(0, -0, 1.5, 1e21, -3, true, false, null))
const variantNames = fc.constantFrom('Small', '10', '2', 'a"b', 'secret')
const values = fc.oneof(
  { weight: 4, arbitrary: scalars },
  { weight: 1, arbitrary: media },
  { weight: 2, arbitrary: fc.array(fc.oneof(scalars, media), { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.dictionary(variantNames, fc.oneof(texts, media), { maxKeys: 3 }) },
)
/** Includes names that are unknown, private, or written by the service itself. */
const hostileNames = ['_id', 'mediaFields', 'gone', 'ti"tle', 'ti\\tle', 'title:', '', 'title","secret', '10']
const objectValues = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...names, ...names, ...hostileNames), values), {
    selector: ([name]) => name,
    maxLength: 6,
  })
  .map((entries) => Object.fromEntries(entries))
const moments = fc.oneof(fc.constantFrom(unsetPublishMs, 0, 1, -1), fc.integer({ min: -6e13, max: 2.5e14 }))
const visible: fc.Arbitrary<VisibleObject> = fc.record({
  id: fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 24, maxLength: 24 }),
  valueText: objectValues.map((value) => JSON.stringify(value)),
  publishMs: moments,
  createdMs: fc.integer({ min: 0, max: 4e12 }),
  updatedMs: fc.integer({ min: 0, max: 4e12 }),
  externalId: fc.constantFrom(null, 'prod_1', '"\\'),
  accountHandle: fc.constantFrom('', 'a"b'),
})
/** Fields inside others are delivered as the schema says, so their values fit it. */
const plainText = fc.constantFrom('', 'a "b" \\ c', ']},{', 'Müller')
const leafKind = fc.constantFrom<Kind>(
  { field: { type: 'slug' }, values: plainText },
  { field: { type: 'list', of: { type: 'text' } }, values: fc.array(plainText, { maxLength: 2 }) },
  { field: { type: 'text' }, values: texts },
  { field: { type: 'decimal' }, values: fc.constantFrom(0, 1.5, 1e21, '4.50') },
  { field: { type: 'image' }, values: media },
  { field: { type: 'list', of: { type: 'longText' } }, values: fc.array(texts, { maxLength: 2 }) },
  { field: { type: 'list', of: { type: 'image' } }, values: fc.array(media, { maxLength: 2 }) },
  { field: { type: 'reference' }, values: fc.constant(groupId) },
  { field: { type: 'json' }, values: storedJson },
)
const visibleWith = ({ values }: Kind): fc.Arbitrary<VisibleObject> =>
  fc.tuple(visible, values, fc.boolean()).map(([object, page, isAlone]) => ({
    ...object,
    valueText: JSON.stringify(isAlone ? { page } : { ...JSON.parse(object.valueText), page }),
  }))
const containerOf = (kind: Container['kind'], schema: Schema): Container => ({
  id: '66f0c0ffee0123456789abcf',
  kind,
  name: 'Team "A" \\ é',
  schema,
  settings: {},
  version: 1,
})

/** The objects delivered one by one, or the error. */
function attempt(deliver: () => string): string {
  try {
    return deliver()
  } catch (error) {
    return String(error)
  }
}

const pageText = (container: Container, outgoing: readonly OutgoingObject[], shown?: Schema): string =>
  listPieces(outgoing.map((each) => itemPieces(container, each, sign, shown))).join('')

function assertSame(schema: Schema, objects: VisibleObject[]): { plain: number } {
  const parsed = objects.map((object) => toDeliverable({ object, value: JSON.parse(object.valueText) }))
  const collection = containerOf('collection', schema)
  const outgoing = prepareItems(collection, groupId, objects, new Map())
  assert.equal(
    attempt(() => pageText(collection, outgoing)),
    attempt(() => JSON.stringify(parsed.map((object) => deliverCollectionObject(collection, object, sign)))),
  )
  const integration = containerOf('integration', schema)
  assert.equal(
    attempt(() => pageText(integration, prepareItems(integration, groupId, objects, new Map()))),
    attempt(() => JSON.stringify(parsed.map((object) => deliverIntegrationObject(integration, object, sign)))),
  )
  return { plain: outgoing.filter(({ value }) => value === undefined).length }
}

/** Of a page with some fields: the same bytes as those of the objects delivered one by one, whichever page was made before. */
function assertSameFields(schema: Schema, shown: Schema, objects: VisibleObject[]): { plain: number } {
  const parsed = objects.map((object) => toDeliverable({ object, value: JSON.parse(object.valueText) }))
  let plain = 0
  for (const kind of ['collection', 'integration'] as const) {
    const container = containerOf(kind, schema)
    const deliver = kind === 'collection' ? deliverCollectionObject : deliverIntegrationObject
    const cache = new Map()
    const page = (fields?: Schema) => {
      const outgoing = prepareItems(container, groupId, objects, cache, fields)
      if (fields) plain += outgoing.filter(({ value }) => value === undefined).length
      return attempt(() => pageText(container, outgoing, fields))
    }
    const truth = (fields?: Schema) =>
      attempt(() => JSON.stringify(parsed.map((object) => deliver(container, object, sign, fields))))
    assert.equal(page(shown), truth(shown))
    assert.equal(page(), truth())
    assert.equal(page(shown), truth(shown))
  }
  return { plain: plain / 4 }
}

describe('a page as JSON', () => {
  it('is reused for the same container, and rebuilt for a new reading of it', () => {
    const schema: Schema = new Map<string, Field>([['title', { type: 'text' }]])
    const object: VisibleObject = {
      id: '66f0c0ffee0123456789abce',
      valueText: '{"title":"a"}',
      publishMs: 1000,
      createdMs: 1000,
      updatedMs: 1000,
      externalId: null,
      accountHandle: '',
    }
    const cache = createContentCache()
    const changed = { ...object, valueText: '{"title":"b"}', publishMs: 5000, updatedMs: 5000 }
    for (const kind of ['collection', 'integration'] as const) {
      const [before, after] = [containerOf(kind, schema), { ...containerOf(kind, schema), name: 'Another' }]
      const page = (container: Container, each: VisibleObject) =>
        pageText(container, prepareItems(container, groupId, [each], cache.framesOf(container)))
      const first = page(before, object)
      assert.equal(page(before, object), first)
      const deliver = kind === 'collection' ? deliverCollectionObject : deliverIntegrationObject
      const truth = deliver(after, toDeliverable({ object: changed, value: { title: 'b' } }), sign)
      assert.equal(page(after, changed), JSON.stringify([truth]))
      assert.equal(page(before, object), first, 'and back')
    }
  })

  const properties = {
    'has the same bytes whether stored values are passed through or parsed': fc.tuple(
      schemas,
      fc.array(visible, { maxLength: 3 }),
    ),
    'has the same bytes with nested values, too': fc
      .tuple(schemas, nestedKind(leafKind))
      .chain(([schema, kind]) =>
        fc.tuple(
          fc.constant(new Map([...schema, ['page', kind.field]])),
          fc.array(visibleWith(kind), { maxLength: 3 }),
        ),
      ),
  }
  for (const [guarantee, cases] of Object.entries(properties))
    it(guarantee, (context) => {
      const seen = { plain: 0, objects: 0 }
      fc.assert(
        fc.property(cases, ([schema, objects]) => {
          seen.plain += assertSame(schema, objects).plain
          seen.objects += objects.length
        }),
        { numRuns: 3000 },
      )
      context.diagnostic(JSON.stringify(seen))
      assert.ok(seen.plain > seen.objects / 20 && seen.plain < seen.objects, 'both cases must have occurred')
    })

  it('with some of the fields has the same bytes whether they are cut out of the stored text or parsed', (context) => {
    const seen = { plain: 0, objects: 0 }
    fc.assert(
      fc.property(schemas, fc.subarray(names), fc.array(visible, { maxLength: 3 }), (schema, chosen, objects) => {
        const shown: Schema = new Map(
          [...schema].filter(([name, { private: hidden }]) => !hidden && chosen.includes(name)),
        )
        seen.plain += assertSameFields(schema, shown, objects).plain
        seen.objects += objects.length
      }),
      { numRuns: 2000 },
    )
    context.diagnostic(JSON.stringify(seen))
    assert.ok(seen.plain > seen.objects / 5 && seen.plain < seen.objects, 'both cases must have occurred')
  })

  const object = (value: object): VisibleObject => ({
    id: '66f0c0ffee0123456789abce',
    valueText: JSON.stringify(value),
    publishMs: 0,
    createdMs: 0,
    updatedMs: 0,
    externalId: null,
    accountHandle: '',
  })
  const schema: Schema = new Map<string, Field>([
    ['title', { type: 'text' }],
    ['tags', { type: 'list', of: { type: 'text' } }],
    ['size', { type: 'variant', of: { type: 'text' } }],
    ['email', { type: 'text', private: true }],
    ['picture', { type: 'image' }],
  ])
  const isPassedThrough = (value: object): boolean => {
    const [outgoing] = prepareItems(containerOf('collection', schema), groupId, [object(value)], new Map())
    return outgoing?.value === undefined
  }

  it('passes stored values through when they are delivered unchanged', () => {
    for (const value of [
      {},
      { title: 'a "quoted" \\ text, {braces} [and] commas: "email":' },
      { tags: ['a', ']', '"'], title: 'x', size: 'one' },
      { title: null, tags: [] },
      { title: `media:${'0'.repeat(24)}/a.png, 5 % & more` },
    ])
      assert.ok(isPassedThrough(value), JSON.stringify(value))
  })

  it('parses values that contain a private field, a file, an unknown field, a variant map or a media reference', () => {
    for (const value of [
      { title: 'x', email: 'a@b.c' },
      { picture: { name: 'a', key: ownKey, type: 'image' } },
      { picture: null },
      { title: 'x', gone: 1 },
      { _id: 'x' },
      { mediaFields: {} },
      { size: { Small: 'x' } },
      { title: `<img src="media:${ownKey}">` },
      { title: '<img src="media:&#54;6f0">' },
      { title: '<img src="media:%36">' },
      { title: '<img src="media:&percnt;36">' },
    ])
      assert.ok(!isPassedThrough(value), JSON.stringify(value))
  })

  it('does not pass through text that is not a JSON object', () => {
    for (const valueText of ['', '{', '{"title', '{"title":', '{"title":"', '{"title":"x"', '{"title":[}', '[]', '1'])
      assert.throws(() => {
        const [outgoing] = prepareItems(
          containerOf('collection', schema),
          groupId,
          [{ ...object({}), valueText }],
          new Map(),
        )
        if (outgoing?.value !== undefined) throw new Error('it was parsed')
      }, `${valueText} was passed through`)
  })
})
