import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertFailure } from '../helpers/common-suite.ts'
import { type Harness, harness, onBothEngines, type TestGroup } from '../helpers/harness.ts'

type Item = { _id: string; objectValue: Record<string, unknown> }

const schema = {
  title: { type: 'text' },
  body: { type: 'longText' },
  rating: { type: 'integer' },
  price: { type: 'decimal' },
  featured: { type: 'boolean' },
  tags: { type: 'list', of: { type: 'text' } },
  size: { type: 'variant', of: { type: 'text' } },
  email: { type: 'text', private: true },
  note: { type: 'text', filterable: false, sortable: false },
}

const posts = [
  {
    title: 'Bread',
    body: '<p>Flour &amp; <b>water</b></p>',
    rating: 5,
    price: '10.00',
    featured: true,
    tags: ['a', 'b'],
    size: 'M',
    email: 'x@y.z',
  },
  { title: 'apple pie', rating: 3, price: '9.50', featured: false, tags: ['b'], size: { Small: 'S', Large: 'L' } },
  { title: 'Cake', rating: 5, price: '9.5', tags: [], note: 'hidden' },
  { title: 'äpfel', price: '-1' },
]

async function withPosts(engine: 'sqlite' | 'postgres'): Promise<{
  created: Harness
  group: TestGroup
  list: (more?: string) => ReturnType<TestGroup['get']>
  titles: (more?: string) => Promise<unknown[]>
}> {
  const created = await harness(engine)
  const group = await created.newGroup()
  const collection = await group.collection('Posts', schema)
  await group.add(collection, ...posts.map((value) => ({ value })))
  const list = (more = '') => group.get(`/tenant/collectionObjects?collectionId=${collection.id}${more}`)
  const titles = async (more = '') => {
    const answer = await list(more)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json().data.items.map((item: Item) => item.objectValue.title)
  }
  return { created, group, list, titles }
}

onBothEngines('GET /tenant/collectionObjects', (engine) => {
  it('delivers items in the documented shape', async () => {
    const { newGroup, clock } = await harness(engine)
    const group = await newGroup()
    const collection = await group.collection('Posts', { title: { type: 'text' }, cover: { type: 'image' } })
    const key = `${group.group.id}/cover.png`
    const [object] = await group.add(collection, {
      value: { title: 'One', cover: { name: 'cover', key, type: 'image', alt: 'A loaf' } },
      publishMs: clock.now - 1,
    })
    const { data } = (await group.get(`/tenant/collectionObjects?collectionId=${collection.id}`)).json()
    const { source, expiresAt } = data.items[0].objectValue.cover.currentFile
    assert.match(source, /^http:\/\/.*\/media\/media\/[0-9a-f]{24}\/cover\.png\?expires=\d+&signature=[\w-]{43}$/)
    assert.deepEqual(data, {
      items: [
        {
          _id: object?.id,
          objectValue: {
            _id: object?.id,
            title: 'One',
            cover: { name: 'cover', key, type: 'image', alt: 'A loaf', currentFile: { source, expiresAt } },
            mediaFields: { cover: 'image' },
          },
          collectionObj: { name: 'Posts', refID: collection.id },
          publishDate: '2026-03-01T11:59:59.999Z',
          archived: false,
          createdAt: '2026-03-01T12:00:00.000Z',
          updatedAt: '2026-03-01T12:00:00.000Z',
        },
      ],
      totalCount: 1,
    })
  })

  it('delivers the fields of the schema: none without a value, null if null is stored, nothing else', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const collection = await group.collection('Posts', {
      title: { type: 'text' },
      note: { type: 'text' },
      rest: { type: 'text' },
    })
    const [object] = await group.add(collection, { value: { title: 'One' } })
    const value = JSON.stringify({ title: 'One', note: null, fromAnOlderSchema: 'canary' })
    await group.store.database.write((db) =>
      db
        .updateTable('objects')
        .set({ value })
        .where('id', '=', object?.id ?? '')
        .execute(),
    )
    const { data } = (await group.get(`/tenant/collectionObjects?collectionId=${collection.id}`)).json()
    assert.deepEqual(data.items[0].objectValue, { _id: object?.id, title: 'One', note: null, mediaFields: {} })
  })

  it('delivers publishDate null when unset', async () => {
    const { list } = await withPosts(engine)
    assert.equal((await list()).json().data.items[0].publishDate, null)
  })

  it('signs media in galleries and in variant maps', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const image = { type: 'image' }
    const collection = await group.collection('Posts', {
      gallery: { type: 'list', of: image },
      byColour: { type: 'variant', of: image },
      galleries: { type: 'variant', of: { type: 'list', of: image } },
      empty: image,
    })
    const media = (name: string) => ({ name, key: `${group.group.id}/${name}.png`, type: 'image' })
    await group.add(collection, {
      value: {
        gallery: [media('a'), media('b')],
        byColour: { red: media('c'), blue: media('d') },
        galleries: { red: [media('e')], blue: [media('f'), media('g')] },
      },
    })
    const { objectValue } = (await group.get(`/tenant/collectionObjects?collectionId=${collection.id}`)).json().data
      .items[0]
    const all = [
      ...objectValue.gallery,
      ...Object.values(objectValue.byColour),
      ...Object.values(objectValue.galleries).flat(),
    ] as {
      name: string
      currentFile: { source: string }
    }[]
    assert.deepEqual(
      all.map(({ name }) => name),
      ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
    )
    for (const { name, currentFile } of all) assert.match(currentFile.source, new RegExp(`/${name}\\.png\\?expires=`))
    assert.deepEqual(objectValue.mediaFields, { gallery: 'image', byColour: 'image', galleries: 'image' })
  })

  it('answers 500, never an unsigned URL, if signing fails', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const collection = await group.collection('Posts', { cover: { type: 'image' } })
    const [object] = await group.add(collection, { value: {} })
    const value = JSON.stringify({ cover: { name: 'x', key: '../../etc/passwd', type: 'image' } })
    await group.store.database.write((db) =>
      db
        .updateTable('objects')
        .set({ value })
        .where('id', '=', object?.id ?? '')
        .execute(),
    )
    const answer = await group.get(`/tenant/collectionObjects?collectionId=${collection.id}`)
    assertFailure(answer, 500, 'InternalError')
    assert.ok(!answer.body.includes('passwd'))
  })

  const orders: [sort: string, titles: string[]][] = [
    ['', ['Bread', 'apple pie', 'Cake', 'äpfel']],
    ['&sort=title:asc', ['apple pie', 'Bread', 'Cake', 'äpfel']],
    ['&sort=title:desc', ['äpfel', 'Cake', 'Bread', 'apple pie']],
    ['&sort=objectValue.title%3Aasc', ['apple pie', 'Bread', 'Cake', 'äpfel']],
    ['&sort=price:asc', ['äpfel', 'apple pie', 'Cake', 'Bread']],
    ['&sort=price:desc', ['Bread', 'Cake', 'apple pie', 'äpfel']],
    ['&sort=rating:asc', ['apple pie', 'Bread', 'Cake', 'äpfel']],
    ['&sort=rating:desc', ['Cake', 'Bread', 'apple pie', 'äpfel']],
    ['&sort=rating:desc,title:asc', ['Bread', 'Cake', 'apple pie', 'äpfel']],
    ['&sort=featured:asc', ['apple pie', 'Bread', 'Cake', 'äpfel']],
    ['&sort=size:asc', ['Bread', 'apple pie', 'Cake', 'äpfel']],
    ['&sort=size:desc', ['apple pie', 'Bread', 'äpfel', 'Cake']],
    ['&sort=createdAt:desc', ['äpfel', 'Cake', 'apple pie', 'Bread']],
    ['&sort=_id:desc', ['äpfel', 'Cake', 'apple pie', 'Bread']],
    ['&sort=publishDate:asc', ['Bread', 'apple pie', 'Cake', 'äpfel']],
  ]
  it('sorts numbers and decimal strings as numbers, text without case, missing values last, ties by _id', async () => {
    const { titles } = await withPosts(engine)
    for (const [sort, expected] of orders) assert.deepEqual(await titles(sort), expected, sort)
  })

  it('sorts by the field "order" by default if the schema has one', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const collection = await group.collection('Team', { name: { type: 'text' }, order: { type: 'integer' } })
    await group.add(
      collection,
      { value: { name: 'no order' } },
      { value: { name: 'ten', order: 10 } },
      { value: { name: 'nine', order: 9 } },
    )
    const { data } = (await group.get(`/tenant/collectionObjects?collectionId=${collection.id}`)).json()
    assert.deepEqual(
      data.items.map((item: Item) => item.objectValue.name),
      ['nine', 'ten', 'no order'],
    )
  })

  const filters: [filter: string, titles: string[]][] = [
    ['&filters[title]=Bread', ['Bread']],
    ['&filters[title]=bread', []],
    ['&filters%5Btitle%5D=Bread', ['Bread']],
    ['&filters[objectValue.title]=Bread', ['Bread']],
    ['&filters[title]=Bread&filters[title]=Cake', ['Bread', 'Cake']],
    ['&filters[rating]=5', ['Bread', 'Cake']],
    ['&filters[rating]=5&filters[title]=Cake', ['Cake']],
    ['&filters[rating]=5&filters[rating]=3&sort=title:desc', ['Cake', 'Bread', 'apple pie']],
    ['&filters[price]=9.5', ['apple pie', 'Cake']],
    ['&filters[featured]=true', ['Bread']],
    ['&filters[featured]=false', ['apple pie']],
    ['&filters[tags]=b', ['Bread', 'apple pie']],
    ['&filters[tags]=a&filters[tags]=b', ['Bread', 'apple pie']],
    ['&filters[size]=L', ['apple pie']],
    ['&filters[size]=M', ['Bread']],
    ['&filters[title]=', []],
    ['&search=FLOUR%20water', ['Bread']],
    ['&search=pie', ['apple pie']],
    ['&search=ÄPFEL', ['äpfel']],
    ['&search=x@y.z', []],
    ['&search=%3Cb%3E', []],
    ['&search=', ['Bread', 'apple pie', 'Cake', 'äpfel']],
    ['&search=e&filters[rating]=5', ['Bread', 'Cake']],
  ]
  it('filters exactly and by type, by every field and any value of a repeated one; searches every word', async () => {
    const { titles } = await withPosts(engine)
    for (const [filter, expected] of filters) assert.deepEqual(await titles(filter), expected, filter)
  })

  const operated: [filter: string, titles: string[]][] = [
    ['&filters[rating][gte]=5', ['Bread', 'Cake']],
    ['&filters[rating][gt]=3&filters[rating][lte]=5', ['Bread', 'Cake']],
    ['&filters[rating][lt]=5', ['apple pie']],
    ['&filters[price][gte]=9.50&sort=price:desc', ['Bread', 'Cake', 'apple pie']],
    ['&filters[price][gte]=9.5&filters[price][gt]=9.5', ['Bread']],
    ['&filters[price][lt]=9.5', ['äpfel']],
    ['&filters[price][gt]=10', []],
    ['&filters[price]=9.5&filters[price][gte]=0&filters[title][ne]=Cake', ['apple pie']],
    ['&filters[title][gte]=BREAD', ['Bread', 'Cake', 'äpfel']],
    ['&filters[title][lt]=bread&sort=title:asc', ['apple pie']],
    ['&filters%5BobjectValue.title%5D%5Bgt%5D=bread', ['Cake', 'äpfel']],
    ['&filters[size][gte]=s', ['apple pie']],
    ['&filters[size][lte]=M', ['Bread']],
    ['&filters[rating][ne]=5', ['apple pie', 'äpfel']],
    ['&filters[rating][ne]=5&filters[rating][ne]=3', ['äpfel']],
    ['&filters[title][ne]=cake', ['Bread', 'apple pie', 'Cake', 'äpfel']],
    ['&filters[tags][ne]=a', ['apple pie', 'Cake', 'äpfel']],
    ['&filters[size][ne]=L', ['Bread', 'Cake', 'äpfel']],
    ['&filters[rating][exists]=true', ['Bread', 'apple pie', 'Cake']],
    ['&filters[rating][exists]=false', ['äpfel']],
    ['&filters[tags][exists]=false', ['Cake', 'äpfel']],
    ['&filters[rating][exists]=true&filters[rating][exists]=false', []],
    ['&search=e&filters[rating][gte]=4', ['Bread', 'Cake']],
  ]
  it('filters with operators: ranges in the order of sort, other values, and whether there is one', async () => {
    const { titles } = await withPosts(engine)
    for (const [filter, expected] of operated) assert.deepEqual(await titles(filter), expected, filter)
  })

  it('filters with operators on the item’s own dates and _id', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const collection = await group.collection('Posts', { title: { type: 'text' }, publishDate: { type: 'text' } })
    const at = (text: string) => Date.parse(text)
    const [first] = await group.add(
      collection,
      { value: { title: 'old', publishDate: 'x' }, publishMs: at('2026-01-10T00:00:00Z'), createdMs: at('2025-12-01T08:00:00Z') },
      { value: { title: 'new' }, publishMs: at('2026-02-10T12:00:00Z'), createdMs: at('2026-02-01T08:00:00Z') },
      { value: { title: 'unset' }, createdMs: at('2026-02-02T08:00:00Z') },
      { value: { title: 'later' }, publishMs: at('2027-01-01T00:00:00Z') },
    ) // biome-ignore format: a table
    const titles = async (more: string) => {
      const answer = await group.get(`/tenant/collectionObjects?collectionId=${collection.id}${more}`)
      assert.equal(answer.statusCode, 200, answer.body)
      const { items, totalCount } = answer.json().data
      assert.equal(totalCount, items.length)
      return items.map((item: Item) => item.objectValue.title)
    }
    const cases: [more: string, titles: string[]][] = [
      ['&filters[publishDate][gte]=2026-01-10', ['old', 'new']],
      ['&filters[publishDate][gt]=2026-01-10T01:00:00%2B01:00', ['new']],
      ['&filters[publishDate][lt]=2030-01-01', ['old', 'new']],
      ['&filters[publishDate][lt]=2030-01-01&sort=publishDate:desc', ['new', 'old']],
      ['&filters[publishDate][lte]=2026-01-31&sort=publishDate:desc', ['old']],
      ['&filters[publishDate][exists]=false', ['unset']],
      ['&filters[publishDate][exists]=false&sort=publishDate:asc', ['unset']],
      ['&filters[publishDate][exists]=true', ['old', 'new']],
      ['&filters[publishDate][ne]=2026-01-10', ['new', 'unset']],
      ['&filters[createdAt][gte]=2026-02-01T08:00:00Z', ['new', 'unset']],
      ['&filters[createdAt][gte]=2026-01-01&filters[createdAt][lt]=2026-02-02&sort=createdAt:desc', ['new']],
      ['&filters[createdAt][exists]=false', []],
      ['&filters[updatedAt][exists]=true', ['old', 'new', 'unset']],
      ['&filters[updatedAt][lt]=2026-01-01', []],
      [`&filters[_id][ne]=${first?.id}`, ['new', 'unset']],
      [`&filters[_id][gt]=${first?.id}&sort=_id:desc`, ['unset', 'new']],
      ['&filters[objectValue.publishDate][gte]=a', ['old']],
      ['&filters[publishDate]=x', ['old']],
    ]
    for (const [more, expected] of cases) assert.deepEqual(await titles(more), expected, more)
  })

  it('delivers only the fields named by fields, whatever it sorts and filters by', async () => {
    const { list } = await withPosts(engine)
    const values = async (more: string) => {
      const answer = await list(more)
      assert.equal(answer.statusCode, 200, answer.body)
      return (answer.json().data.items as Item[]).map(({ objectValue: { _id, mediaFields, ...value } }) => {
        assert.ok(_id !== undefined && mediaFields !== undefined)
        return value
      })
    }
    const all = (await list()).json().data.items as (Item & { createdAt: string })[]
    assert.deepEqual(await values('&fields=title'), [
      { title: 'Bread' },
      { title: 'apple pie' },
      { title: 'Cake' },
      { title: 'äpfel' },
    ])
    assert.deepEqual(await values('&fields=objectValue.price,size&sort=rating:desc&filters[title][ne]=Cake'), [
      { price: '10.00', size: 'M' },
      { price: '9.50', size: { Small: 'S', Large: 'L' } },
      { price: '-1' },
    ])
    assert.deepEqual(await values('&fields=_id&limit=1'), [{}])
    assert.deepEqual(await values('&fields=body,title&search=flour'), [
      { title: posts[0]?.title, body: posts[0]?.body },
    ])
    const [item] = (await list('&fields=title')).json().data.items
    assert.deepEqual(item, {
      ...all[0],
      objectValue: { _id: item._id, title: 'Bread', mediaFields: {} },
    })
    assert.deepEqual((await list()).json().data.items, all, 'a complete list afterwards is complete')
  })

  it('signs and names only the media among the named fields', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const collection = await group.collection('Posts', {
      title: { type: 'text' },
      cover: { type: 'image' },
      logo: { type: 'image' },
    })
    const media = { name: 'a', key: `${group.group.id}/a.png`, type: 'image' }
    await group.add(collection, { value: { title: 'One', cover: media, logo: media } })
    const url = `/tenant/collectionObjects?collectionId=${collection.id}`
    const [{ objectValue }] = (await group.get(`${url}&fields=cover`)).json().data.items
    assert.deepEqual(Object.keys(objectValue), ['_id', 'cover', 'mediaFields'])
    assert.deepEqual(objectValue.mediaFields, { cover: 'image' })
    assert.ok(objectValue.cover.currentFile.source)
    const [{ objectValue: other }] = (await group.get(`${url}&fields=title`)).json().data.items
    assert.deepEqual(other, { _id: other._id, title: 'One', mediaFields: {} })
  })

  it('filters by _id', async () => {
    const { list, titles } = await withPosts(engine)
    const [, second, third] = (await list()).json().data.items as Item[]
    assert.deepEqual(await titles(`&filters[_id]=${third?._id}&filters[_id]=${second?._id}`), ['apple pie', 'Cake'])
    assert.deepEqual(await titles('&filters[_id]=nothing'), [])
  })

  const refused: [parameters: string, message: RegExp][] = [
    ...['-1', '0', '101', '1e9', '1000000000', '1.5', 'NaN', '', '%20', '5%20', '0x10', '1e1', '+5', 'null'].map(
      (bad): [string, RegExp] => [`&limit=${bad}`, /^limit must be a whole number from 1 to 100/],
    ),
    ...['-1', '1.5', 'NaN', '', '1e3', 'Infinity', '9999999999999999999'].map((bad): [string, RegExp] => [
      `&skip=${bad}`,
      /^skip must be a whole number from 0/,
    ]),
    ['&limit=5&limit=6', /^limit must be given once/],
    ['&sort=title:asc&sort=title:desc', /^sort must be given once/],
    ['&sort=', /^sort must not be empty/],
    ['&sort=title', /^sort is written/],
    ['&sort=title:up', /^sort is written/],
    ['&sort=title:ASC', /^sort is written/],
    ['&sort=title:asc,', /^sort is written/],
    [
      '&sort=nope:asc',
      /^sort names "nope", which cannot be used here\. Usable fields: publishDate, createdAt, updatedAt, _id, title, rating, price, featured, size\.$/,
    ],
    ['&sort=title:asc,title:desc', /^sort names a field twice/],
    ['&sort=title:asc,objectValue.title:desc', /^sort names a field twice/],
    ['&sort=title:asc,rating:asc,price:asc,featured:asc,size:asc,_id:asc', /^sort takes at most 5/],
    ['&filters[nope]=1', /Usable fields: _id, title, rating, price, featured, tags, size\.$/],
    ['&filters[rating]=five', /^filters\[rating\] must be a number/],
    ['&filters[featured]=1', /^filters\[featured\] must be true or false/],
    ['&filters=x', /^filters is written filters\[<field>\]=/],
    ['&filters[]=x', /^filters is written filters\[<field>\]=/],
    ['&filters[title][]=x', /^filters is written filters\[<field>\]=/],
    [
      '&filters[title][$ne]=x',
      /^filters\[title\]\[\$ne\] has an unknown operator\. Known: gte, gt, lte, lt, ne, exists\.$/,
    ],
    [
      '&filters[title][gte][lt]=x',
      /^filters is written filters\[<field>\]=<value> or filters\[<field>\]\[<operator>\]=/,
    ],
    ['&filters[rating][gte]=five', /^filters\[rating\]\[gte\] must be a number/],
    ['&filters[rating][ne]=five', /^filters\[rating\]\[ne\] must be a number/],
    ['&filters[rating][exists]=1', /^filters\[rating\]\[exists\] must be true or false/],
    [
      '&filters[publishDate][gte]=soon',
      /^filters\[publishDate\]\[gte\] must be a date or a moment such as 2026-03-01 /,
    ],
    [
      '&filters[email][gte]=a',
      /Usable fields: publishDate, createdAt, updatedAt, _id, title, rating, price, featured, size\.$/,
    ],
    [
      '&filters[tags][gte]=a',
      /Usable fields: publishDate, createdAt, updatedAt, _id, title, rating, price, featured, size\.$/,
    ],
    ['&filters[note][gte]=a', /^filters\[note\]\[gte\] names "note", which cannot be used here/],
    [
      '&filters[note][exists]=true',
      /Usable fields: publishDate, createdAt, updatedAt, _id, title, rating, price, featured, tags, size\.$/,
    ],
    ['&filters[createdAt]=2026-01-01', /Usable fields: _id, title, rating, price, featured, tags, size\.$/],
    [Array.from({ length: 13 }, (_, at) => `&filters[f${at}]=1`).join(''), /^At most 12 fields/],
    [Array.from({ length: 51 }, (_, at) => `&filters[title]=${at}`).join(''), /^At most 50 filter values/],
    [Array.from({ length: 51 }, (_, at) => `&filters[title][ne]=${at}`).join(''), /^At most 50 filter values/],
    ['&fields=', /^fields must not be empty/],
    ['&fields=title,', /^fields is written <field>,<field>/],
    [
      '&fields=title,email',
      /^fields names "email", which cannot be used here\. Usable fields: _id, title, body, rating, price, featured, tags, size, note\.$/,
    ],
    ['&fields=nope', /^fields names "nope"/],
    ['&fields=title&fields=size', /^fields must be given once/],
    ['&fields[]=title', /^fields\[\] is not a parameter\. Write fields=<value>\.$/],
    [`&fields=${'x'.repeat(5001)}`, /^fields must have at most 5000 characters/],
    [`&search=${'x'.repeat(201)}`, /^search must have at most 200 characters/],
    [`&sort=${'x'.repeat(501)}`, /^sort must have at most 500 characters/],
    ['&skip=1000000001', /^skip must be a whole number from 0 to 1000000000/],
  ]
  const misspelt: [parameters: string, message: RegExp][] = [
    ['&filter[title]=x', /^filter\[title\] is not a parameter\. Write filters\[title\]\.$/],
    ['&Filters%5Btitle%5D=x', /^Filters\[title\] is not a parameter\. Write filters\[title\]\.$/],
    ['&where[title]=x', /^where\[title\] is not a parameter\. With brackets there are filters\[<field>\]\.$/],
    ['&[title]=x', /With brackets there are filters\[<field>\]/],
    ['&sort[]=title:asc', /^sort\[\] is not a parameter\. Write sort=<value>\.$/],
    [`&x[${'y'.repeat(500)}]=1`, /^x\[y{62} is not a parameter/],
  ]
  it('refuses unknown bracketed names, with the correct one; other unknown names are ignored', async () => {
    const { list } = await withPosts(engine)
    for (const [parameters, message] of misspelt) assertFailure(await list(parameters), 400, 'ValidationError', message)
    const plain = await list()
    assert.equal((await list('&filter=x&where=y&populate=*&code=1')).body, plain.body)
  })

  it('refuses invalid parameters with 400 and a message that names them', async () => {
    const { list } = await withPosts(engine)
    for (const [parameters, message] of refused) assertFailure(await list(parameters), 400, 'ValidationError', message)
  })

  const injections = [
    't0.title',
    'title.x',
    'title[0]',
    "title'",
    'title"',
    'title`',
    '*',
    'tïtle',
    '__proto__',
    'constructor',
    'toString',
    'title--',
    'title;drop table objects',
    '$.title',
    'title%',
    '(select 1)',
  ]
  it('refuses field names crafted for SQL or JSON path injection, in filters, sort and everywhere else', async () => {
    const { list } = await withPosts(engine)
    for (const name of injections) {
      const encoded = encodeURIComponent(name)
      assertFailure(await list(`&filters[${encoded}]=1`), 400, 'ValidationError')
      assertFailure(await list(`&filters[${encoded}][gte]=1`), 400, 'ValidationError')
      assertFailure(await list(`&filters[title][${encoded}]=1`), 400, 'ValidationError')
      assertFailure(await list(`&sort=${encoded}:asc`), 400, 'ValidationError')
      assertFailure(await list(`&sort=objectValue.${encoded}:asc`), 400, 'ValidationError')
    }
  })

  it('never delivers, filters, sorts or searches a private field', async () => {
    const { list } = await withPosts(engine)
    assert.ok(!(await list()).body.includes('x@y.z'))
    assert.ok(!(await list()).body.includes('email'))
    for (const more of [
      '&filters[email]=x@y.z',
      '&filters[email][gte]=x',
      '&filters[email][ne]=x',
      '&filters[email][exists]=true',
      '&sort=email:asc',
      '&sort=objectValue.email:asc',
      '&filters[objectValue.email]=x',
    ]) {
      assertFailure(await list(more), 400, 'ValidationError')
    }
  })

  it('answers the same, byte for byte, for any value of a private field', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const collection = await group.collection('Posts', schema)
    const [object] = await group.add(collection, { value: { title: 'One', email: 'a@a.a' } })
    const paths = [
      '',
      '&search=a@a.a',
      '&search=b',
      '&sort=title:asc',
      '&filters[title]=One',
      '&filters[email]=a@a.a',
      '&sort=email:asc',
    ]
    const answers = () =>
      Promise.all(
        paths.map(
          async (more) => (await group.get(`/tenant/collectionObjects?collectionId=${collection.id}${more}`)).body,
        ),
      )
    const before = await answers()
    const value = JSON.stringify({ title: 'One', email: 'b@b.b' })
    await group.store.database.write((db) =>
      db
        .updateTable('objects')
        .set({ value })
        .where('id', '=', object?.id ?? '')
        .execute(),
    )
    assert.deepEqual(await answers(), before)
  })

  it('pages through equal sort keys with every item exactly once, whatever the page size', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const collection = await group.collection('Posts', { kind: { type: 'text' }, n: { type: 'integer' } })
    const stored = await group.add(
      collection,
      ...Array.from({ length: 1203 }, (_, n) => ({
        value: n % 7 === 0 ? { n } : { n, kind: n % 2 ? 'same' : 'other' },
      })),
    )
    const expected = stored.map(({ id }) => id).toSorted()
    for (const [sort, size] of [
      ['kind:asc', 100],
      ['kind:desc', 97],
      ['publishDate:desc', 64],
      ['createdAt:asc', 100],
      ['kind:asc,createdAt:desc', 89],
      ['', 100],
    ] as const) {
      const seen: string[] = []
      for (let skip = 0; skip < 1300; skip += size) {
        const { data } = (
          await group.get(
            `/tenant/collectionObjects?collectionId=${collection.id}&limit=${size}&skip=${skip}${sort && `&sort=${sort}`}`,
          )
        ).json()
        assert.equal(data.totalCount, 1203)
        seen.push(...data.items.map((item: Item) => item._id))
      }
      assert.equal(seen.length, 1203, sort)
      assert.deepEqual(seen.toSorted(), expected, sort)
    }
  })

  it('counts all matches in totalCount, also on a page past the end', async () => {
    const { list } = await withPosts(engine)
    for (const [more, items, total] of [
      ['&limit=1', 1, 4],
      ['&skip=3', 1, 4],
      ['&skip=4', 0, 4],
      ['&skip=1000000', 0, 4],
      ['&filters[rating]=5&skip=50', 0, 2],
      ['&search=pie&skip=9', 0, 1],
    ] as const) {
      const { data } = (await list(more)).json()
      assert.equal(data.items.length, items, more)
      assert.equal(data.totalCount, total, more)
    }
  })

  it('returns 100 items by default', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const collection = await group.collection('Posts', { n: { type: 'integer' } })
    await group.add(collection, ...Array.from({ length: 120 }, (_, n) => ({ value: { n } })))
    const { data } = (await group.get(`/tenant/collectionObjects?collectionId=${collection.id}`)).json()
    assert.equal(data.items.length, 100)
    assert.equal(data.totalCount, 120)
  })

  it('answers 404 for an unknown collection, and for an integration’s id', async () => {
    const { newGroup } = await harness(engine)
    const group = await newGroup()
    const integration = await group.integration('stripe', {})
    for (const id of ['66f0c0ffee0123456789abcd', 'nonsense', '../x', integration.id]) {
      assertFailure(
        await group.get(`/tenant/collectionObjects?collectionId=${encodeURIComponent(id)}`),
        404,
        'NotFound',
      )
    }
  })

  it('answers 304 to clients that have the content, only after authorization, and 200 after a change', async () => {
    const { group, created, list } = await withPosts(engine)
    const first = await list()
    const etag = String(first.headers.etag)
    assert.match(etag, /^"[\w-]{22}"$/)
    assert.equal(first.headers['cache-control'], 'private, no-cache')
    assert.equal(first.headers.vary, 'Authorization, Accept-Encoding')
    const url = `/tenant/collectionObjects?collectionId=${first.json().data.items[0].collectionObj.refID}`
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await group.get(url, { 'if-none-match': tag })
      assert.equal(answer.statusCode, 304)
      assert.equal(answer.body, '')
      assert.equal(answer.headers.etag, etag)
    }
    assert.equal((await group.get(url, { 'if-none-match': '"other"' })).statusCode, 200)
    const stranger = await created.app.inject({ url, headers: { 'if-none-match': etag } })
    assertFailure(stranger, 401, 'Unauthorized')
    assert.equal(stranger.headers.etag, undefined)
    const collection = { id: first.json().data.items[0].collectionObj.refID, name: 'Posts', schema: new Map() }
    await group.add(collection as never, { value: {} })
    assert.equal((await group.get(url, { 'if-none-match': etag })).statusCode, 200)
  })

  it('never answers one key with the content of another, for the same URL', async () => {
    const { newGroup } = await harness(engine)
    const [one, two] = [await newGroup(), await newGroup()]
    for (const [group, word] of [
      [one, 'canary-one'],
      [two, 'canary-two'],
    ] as const) {
      const products = await group.integration('stripe', { name: { type: 'text' } })
      await group.add(products, { value: { name: word }, externalId: 'p', accountHandle: 'a' })
    }
    const url = '/tenant/integrationObjects?type=stripe'
    const [first, second] = [await one.get(url), await two.get(url)]
    assert.ok(first.body.includes('canary-one') && !first.body.includes('canary-two'))
    assert.ok(second.body.includes('canary-two') && !second.body.includes('canary-one'))
    assert.equal((await two.get(url, { 'if-none-match': String(first.headers.etag) })).statusCode, 200)
  })

  it('isolates groups with separate databases, too', async () => {
    const { newGroup } = await harness(engine)
    const one = await newGroup({ database: 'first' })
    const two = await newGroup({ database: 'second' })
    const collection = await one.collection('Posts', { title: { type: 'text' } })
    await one.add(collection, { value: { title: 'canary' } })
    assert.equal((await one.get(`/tenant/collectionObjects?collectionId=${collection.id}`)).json().data.totalCount, 1)
    assertFailure(await two.get(`/tenant/collectionObjects?collectionId=${collection.id}`), 404, 'NotFound')
  })
})
