import fc from 'fast-check'
import type { NewObject } from '../../src/store/content/objects.ts'
import { testStartMs } from './harness.ts'
import type { Item, Query, Rules } from './list-reference.ts'

/** Two in three are visible: more than the 1,000 matches up to which a listing gathers and sorts, so that both plans are used. */
export const itemCount = 1700

/** The fields of the items. */
export const schema = {
  title: { type: 'text' },
  body: { type: 'longText' },
  rating: { type: 'integer' },
  price: { type: 'decimal' },
  active: { type: 'boolean' },
  when: { type: 'dateTime' },
  kind: { type: 'enum', values: ['news', 'recipe', 'Recipe'] },
  tags: { type: 'list', of: { type: 'text' } },
  size: { type: 'variant', of: { type: 'text' } },
  secret: { type: 'text', private: true },
  publishDate: { type: 'text' },
  parts: {
    type: 'blocks',
    blocks: {
      prose: { fields: { text: { type: 'longText' }, note: { type: 'text', private: true } } },
      rows: { fields: { list: { type: 'list', of: { type: 'object', fields: { word: { type: 'text' }, code: { type: 'text', searchable: false } } } } } },
    },
  },
} // biome-ignore format: as a schema is written
const moments = [
  '2026-03-01T12:00:00Z',
  '2026-03-01T13:00:00+01:00',
  '2025-12-31T23:59:59.5Z',
  '2026-01-01T00:00:00-05:00',
]
export const rules: Rules = {
  filterable: new Map([
    ['title', 'text'],
    ['rating', 'number'],
    ['price', 'number'],
    ['active', 'boolean'],
    ['when', 'moment'],
    ['kind', 'text'],
    ['tags', 'text'],
    ['size', 'text'],
    ['publishDate', 'text'],
  ]),
  sortable: new Set(['title', 'rating', 'price', 'active', 'when', 'kind', 'size', 'publishDate']),
  searchable: ['title', 'body', 'kind', 'tags', 'size', 'publishDate', 'parts.text', 'parts.list.word'],
  moments,
}

const words = [
  'apple',
  'Apple',
  'ÄPFEL',
  'äpfel',
  'a\u0308pfel',
  'zebra',
  '10',
  '9',
  '-3',
  '9.5',
  'été',
  '😀',
  '\uffee',
]
const titles = [...words, '', 'x'.repeat(300), `${'x'.repeat(300)}y`]
const prices = ['4.50', '4.5', '10.00', '-1', '0', '0.10', '1000000000000']

/** Deterministic items: many equal values, every field sometimes missing, all states of visibility. */
export function makeItems(count = itemCount): NewObject[] {
  let seed = 42
  const random = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed / 2_147_483_648
  }
  const pick = <Choice>(choices: readonly Choice[]): Choice => choices[Math.floor(random() * choices.length)] as Choice
  const maybe = <Value>(value: Value): Value | undefined => (random() < 0.85 ? value : undefined)
  const publish = [testStartMs, testStartMs + 1, testStartMs - 1, testStartMs - 86_400_000, testStartMs + 86_400_000, 0]
  return Array.from({ length: count }, () => ({
    value: {
      title: maybe(pick(titles)),
      body: maybe(`<p>${pick(['Fresh <b>bread</b>', 'fresh rolls &amp; cake', 'Old news'])}</p>`),
      rating: maybe(Math.floor(random() * 5) + 1),
      price: maybe(pick([...prices, 3, 4.5, 1e21])),
      active: maybe(random() < 0.5),
      when: maybe(pick(moments)),
      kind: maybe(pick(schema.kind.values)),
      tags: maybe([pick(titles), pick(titles)]),
      size: maybe(random() < 0.5 ? pick(titles) : { Small: pick(titles), Large: pick(titles) }),
      secret: pick(titles),
      parts: maybe([
        { type: 'prose', text: `<b>${pick(words)}</b> &amp; rye`, note: `hidden ${pick(words)}` },
        { type: 'rows', list: [{ word: pick(words), code: 'concealed' }, {}] },
      ]),
      publishDate: maybe(pick(titles)),
    },
    ...(random() < 0.7 && { publishMs: pick(publish) }),
    archived: random() < 0.1,
    createdMs: testStartMs - Math.floor(random() * 20) * 1000,
  }))
}

const hostileNames = [
  ...['secret', 'body', 'nope', 't0.title', "title' or 1=1--", 'title"', '__proto__', 'constructor', 'a.b', '*'],
  ...['ti\u0000tle', 'objectValue', '😀', '%', 'title)', '$ne', ' ', 'toString'],
]
const hostileValues = ["' or '1'='1", '%', '_', 'NaN', '1e9', 'null', '\u0000', '$1', '{}', '', '-', '2026-13-01']
const valuesOf = new Map<string, string[]>(
  Object.entries({
    rating: ['1', '2', '3', '5', '5.0', '05', '7'],
    price: [...prices, '4.500', '3'],
    active: ['true', 'false'],
    when: moments,
    kind: ['news', 'recipe', 'Recipe', 'NEWS'],
  }),
)

function usually<Value>(good: readonly Value[], bad: readonly Value[]): fc.Arbitrary<Value> {
  const [often, seldom] = [fc.constantFrom(...good), fc.constantFrom(...bad)]
  return fc.oneof({ weight: 24, arbitrary: often }, { weight: 1, arbitrary: seldom })
}

const equality = usually([...rules.filterable.keys()], hostileNames).chain((field) =>
  fc.tuple(
    fc.boolean().map((prefixed) => (prefixed ? `objectValue.${field}` : field)),
    usually(valuesOf.get(field) ?? titles, hostileValues),
  ),
)
const itemFields = ['publishDate', 'createdAt', 'updatedAt', '_id']
const ownDates = [
  ...['2026-03-01', '2026-02-28T12:00:00Z', '2026-03-01T12:00:00.001Z', '1970-01-01T00:00:00Z', '0001-01-01'],
  ...[0, 5, 19].map((seconds) => new Date(testStartMs - seconds * 1000).toISOString()),
]
/** Stands for the id of an item by its position, which differs between the engines. */
const idAt = (position: number): string => `#${position}`
const operators = ['gte', 'gt', 'lte', 'lt', 'ne', 'exists']
const operated = fc
  .tuple(
    usually([...rules.filterable.keys(), ...itemFields, 'objectValue.publishDate'], [...hostileNames, 'body']),
    usually(operators, ['GTE', '$gt', 'eq', 'toString', '']),
  )
  .chain(([field, operator]) => {
    const values =
      operator === 'exists' ? ['true', 'false'] : field === '_id' ? [0, 7, 900, 1699].map(idAt) : itemFields.includes(field) ? ownDates : (valuesOf.get(field) ?? titles) // biome-ignore format: short
    return fc.tuple(fc.constant(field), usually([...values, ...(field === 'when' ? ['2026-01-01'] : [])], hostileValues), fc.constant(operator)) // biome-ignore format: short
  })
const filter: fc.Arbitrary<Query['filters'][number]> = fc.oneof(equality, operated)
const sortTerm = fc.tuple(
  usually(
    [...rules.sortable, ...itemFields, 'objectValue.title', 'objectValue.publishDate'],
    [...hostileNames, 'tags'],
  ),
  usually(['asc', 'desc'], ['ASC', 'up', '']),
)
const searches = [
  'rye',
  'zebra & rye',
  'hidden',
  'concealed',
  'prose',
  'bread',
  'BREAD fresh',
  'äpfel',
  '<b>',
  '%',
  '_',
  "'",
  'x y',
  '\u0301',
  '',
  '9.5',
]
export const randomQuery: fc.Arbitrary<Query> = fc.record({
  filters: fc.array(filter, { maxLength: 3, size: 'max' }),
  sort: fc.option(fc.array(sortTerm, { minLength: 1, maxLength: 3 }), { nil: undefined }),
  search: fc.option(fc.constantFrom(...searches), { nil: undefined, freq: 1 }),
  limit: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
  skip: fc.option(fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: itemCount })), {
    nil: undefined,
  }),
})

export function toUrl(collectionId: string, { filters, sort, search, limit, skip }: Query, after?: string): string {
  const pairs: [string, string | number | undefined][] = [
    ['collectionId', collectionId],
    ...filters.map(([field, value, operator]): [string, string] => [
      `filters[${field}]${operator === undefined ? '' : `[${operator}]`}`,
      value,
    ]),
    ['sort', sort?.map((term) => term.join(':')).join(',')],
    ['search', search],
    ['limit', limit],
    ['skip', after === undefined ? skip : undefined],
    ['after', after],
  ]
  const given = pairs.filter(([, value]) => value !== undefined)
  return `/tenant/collectionObjects?${given.map((pair) => pair.map((part) => encodeURIComponent(String(part))).join('=')).join('&')}`
}

export const withIds = (asked: Query, items: readonly Item[]): Query => ({
  ...asked,
  filters: asked.filters.map(([field, value, operator]) => [
    field,
    value.replace(/^#(\d+)$/, (_, position) => items[Number(position)]?.id ?? ''),
    operator,
  ]),
})
