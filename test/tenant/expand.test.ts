import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createPreviewToken } from '../helpers/authoring.ts'
import type { Data } from '../helpers/editing.ts'
import { harness, onBothEngines, type TestEngine } from '../helpers/harness.ts'

const hourMs = 3_600_000
const authorSchema = {
  name: { type: 'text' },
  photo: { type: 'image' },
  email: { type: 'text', private: true },
  employer: { type: 'reference', collections: ['Authors'] },
  friends: { type: 'list', of: { type: 'reference' } },
}
const postSchema = {
  title: { type: 'text' },
  author: { type: 'reference', collections: ['Authors'] },
  related: { type: 'list', of: { type: 'reference', collections: ['Posts'], products: ['books'] } },
  reviewer: { type: 'reference', private: true },
  about: { type: 'object', fields: { person: { type: 'reference' } } },
  sections: {
    type: 'blocks',
    blocks: {
      quote: { fields: { text: { type: 'text' }, by: { type: 'reference' } } },
      team: { fields: { people: { type: 'list', of: { type: 'reference' } } } },
    },
  },
}

async function blog(engine: TestEngine, env: Record<string, string> = {}) {
  const created = await harness(engine, { env })
  const group = await created.newGroup()
  const authors = await group.collection('Authors', authorSchema)
  const posts = await group.collection('Posts', postSchema)
  const books = await group.integration('books', { name: { type: 'text' }, by: { type: 'reference' } })
  const ids = async (...added: Parameters<typeof group.add>) =>
    (await group.add(...added)).map(({ id }) => id) as [string, string, ...string[]]
  const ask = (query: string) => group.get(`/tenant/collectionObjects?collectionId=${posts.id}&${query}`)
  const list = async (query: string): Promise<Data[]> => {
    const answer = await ask(query)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json().data.items
  }
  /** As the target's own listing delivers it. */
  async function shown(path: string): Promise<Map<string, Data>> {
    const answer = await group.get(path)
    return new Map(answer.json().data.items.map((item: Data) => [item._id, item]))
  }
  const shownAuthors = () => shown(`/tenant/collectionObjects?collectionId=${authors.id}`)
  const shownBooks = () => shown('/tenant/integrationObjects?type=books')
  return { ...created, group, authors, posts, books, ids, ask, list, shownAuthors, shownBooks }
}

onBothEngines('expand', (engine) => {
  it('adds the objects that a field refers to beside objectValue, each as its own listing delivers it', async () => {
    const { group, authors, posts, books, ids, list, shownAuthors, shownBooks } = await blog(engine)
    const photo = { name: 'ada', key: `${group.group.id}/ada.png`, type: 'image' }
    const [ada, bob] = await ids(
      authors,
      { value: { name: 'Ada', photo, email: 'a@b.example' } },
      { value: { name: 'Bob' } },
    )
    const [book] = await ids(books, { value: { name: 'Bread', by: bob }, externalId: 'b1', accountHandle: 'main' })
    const [first] = await ids(posts, { value: { title: 'One', author: ada, related: [book] } })
    await ids(
      posts,
      { value: { title: 'Two', author: ada, related: [book, first, book] } },
      { value: { title: 'Three' } },
    )
    const plain = await list('')
    const people = await shownAuthors()
    const goods = await shownBooks()
    assert.equal(people.get(ada).objectValue.email, undefined)
    assert.ok(people.get(ada).objectValue.photo.currentFile.source)
    const [one, two, three] = plain
    assert.deepEqual(await list('expand=author,related'), [
      { ...one, expanded: { author: people.get(ada), related: [goods.get(book)] } },
      { ...two, expanded: { author: people.get(ada), related: [goods.get(book), one, goods.get(book)] } },
      { ...three, expanded: { author: null, related: [] } },
    ])
    assert.deepEqual(await list(''), plain)
  })

  it('follows references of targets, at most three in a row, and ends cycles there', async () => {
    const { group, authors, posts, books, ids, list, shownAuthors, shownBooks } = await blog(engine)
    const [ada] = await ids(authors, { value: { name: 'Ada' } })
    const [bob] = await ids(authors, { value: { name: 'Bob', employer: ada, friends: [ada] } })
    const [book] = await ids(books, { value: { name: 'Bread', by: bob } })
    await ids(posts, { value: { author: bob, related: [book] } })
    const [plain] = await list('')
    const people = await shownAuthors()
    const goods = await shownBooks()
    const [item] = await list('expand=related.by.friends,author.employer.employer,author')
    assert.deepEqual(item, {
      ...plain,
      expanded: {
        author: {
          ...people.get(bob),
          expanded: { employer: { ...people.get(ada), expanded: { employer: null } } },
        },
        related: [
          {
            ...goods.get(book),
            expanded: { by: { ...people.get(bob), expanded: { friends: [people.get(ada)] } } },
          },
        ],
      },
    })
    const answer = await group.get('/tenant/integrationObjects?type=books&expand=by')
    assert.deepEqual(answer.json().data.items, [{ ...goods.get(book), expanded: { by: people.get(bob) } }])
  })

  it('names fields inside objects and blocks by their path, with positions in the answer', async () => {
    const { authors, posts, ids, list, shownAuthors } = await blog(engine)
    const [ada, bob] = await ids(authors, { value: { name: 'Ada' } }, { value: { name: 'Bob' } })
    const sections = [
      { type: 'quote', text: 'Good.', by: ada },
      { type: 'team', people: [bob, ada] },
      { type: 'quote', text: 'Bad.' },
    ]
    await ids(posts, { value: { about: { person: bob }, sections } })
    const people = await shownAuthors()
    const [item] = await list('expand=about.person,sections.quote.by,sections.team.people')
    assert.deepEqual(item.expanded, {
      'about.person': people.get(bob),
      'sections.0.by': people.get(ada),
      'sections.1.people': [people.get(bob), people.get(ada)],
      'sections.2.by': null,
    })
  })

  it('leaves out hidden, archived, scheduled, deleted and foreign objects alike', async () => {
    const { newGroup, group, authors, posts, ids, list, clock } = await blog(engine)
    const other = await newGroup()
    const [foreign] = await other.add(await other.collection('Authors', authorSchema), { value: { name: 'Eve' } })
    const hidden = await ids(
      authors,
      { value: { name: 'Draft' }, publishMs: Date.UTC(9999, 11, 31, 23, 59, 59, 999) },
      { value: { name: 'Archived' }, archived: true },
      { value: { name: 'Scheduled' }, publishMs: clock.now + hourMs },
    )
    const all = [...hidden, foreign?.id ?? '', '0123456789abcdef01234567']
    await ids(posts, ...all.map((author) => ({ value: { author } })), { value: { related: all } })
    const items = await list('expand=author,related')
    assert.equal(new Set(items.map(({ expanded }) => JSON.stringify(expanded))).size, 1)
    assert.deepEqual(items[0].expanded, { author: null, related: [] })
    assert.equal(group.group.id === other.group.id, false)
  })

  it('shows a target from the second at which it becomes visible, though the answer was cached', async () => {
    const { authors, posts, ids, list, clock } = await blog(engine)
    const [ada] = await ids(authors, { value: { name: 'Ada' }, publishMs: clock.now + 5000 })
    await ids(posts, { value: { author: ada } })
    const names = async () => (await list('expand=author')).map(({ expanded }) => expanded.author?.objectValue.name)
    assert.deepEqual(await names(), [undefined])
    clock.now += 4999
    assert.deepEqual(await names(), [undefined])
    clock.now += 1
    assert.deepEqual(await names(), ['Ada'])
  })

  it('is refused for anything but references that are delivered, with the usable names', async () => {
    const { ask } = await blog(engine)
    const usable = 'Usable: author, related, about\\.person, sections\\.quote\\.by, sections\\.team\\.people\\.'
    for (const [expand, message] of [
      ['title', `expand names "title", which is not a reference that can be expanded\\. ${usable}`],
      ['reviewer', `expand names "reviewer".+ ${usable}`],
      ['author,', 'expand names ""'],
      ['sections.by', 'expand names "sections\\.by"'],
      ['constructor', 'expand names "constructor"'],
      ['author.email', 'expand names "author\\.email".+Usable: author\\.employer, author\\.friends\\.'],
      ['related.by.name', 'expand names "related\\.by\\.name".+related\\.by\\.employer'],
      ['author.employer.employer.employer', 'expand follows at most 3 references in a row'],
      [Array.from({ length: 21 }, (_, n) => `f${n}`).join(), 'expand takes at most 20 paths'],
      ['x'.repeat(2001), 'expand must have at most 2000 characters'],
      ['', 'expand must not be empty'],
    ] as const) {
      const answer = await ask(`expand=${expand}`)
      assert.equal(answer.statusCode, 400, `${expand}: ${answer.body}`)
      assert.match(answer.json().error, new RegExp(message))
    }
  })

  it('is refused with 400 when the answer becomes too long, however often its parts are shared', async () => {
    const { authors, posts, ids, ask, list } = await blog(engine, { MAX_ANSWER_BYTES: '200000' })
    const [big] = await ids(authors, { value: { name: 'x'.repeat(9000) } })
    await ids(posts, ...Array.from({ length: 30 }, () => ({ value: { author: big } })))
    assert.equal((await list('expand=author&limit=15')).length, 15)
    const tooLong = /The answer would exceed the maximum of 200000 bytes/
    const answer = await ask('expand=author')
    assert.deepEqual([answer.statusCode, tooLong.test(answer.json().error)], [400, true])
    // Few objects, but each many times.
    let [friend] = await ids(authors, { value: { name: 'Star' } })
    for (let level = 0; level < 2; level += 1)
      [friend] = await ids(authors, { value: { name: `${level}`, friends: Array(1000).fill(friend) } })
    const [star] = await ids(posts, { value: { author: friend } })
    const shared = await ask(`expand=author.friends.friends&filters[_id]=${star}`)
    assert.deepEqual([shared.statusCode, tooLong.test(shared.json().error)], [400, true])
  })

  it('is limited to 2,000 objects', async () => {
    const { authors, posts, ids, ask, list } = await blog(engine)
    const many = await ids(authors, ...Array.from({ length: 1001 }, (_, n) => ({ value: { name: `${n}` } })))
    const [first] = await ids(posts, { value: { title: 'One', related: many.slice(0, 1000) } })
    const items = await list('expand=related')
    assert.deepEqual(
      items[0].expanded.related.map(({ _id }: Data) => _id),
      many.slice(0, 1000),
    )
    const more = await ids(authors, ...Array.from({ length: 1000 }, (_, n) => ({ value: { name: `${n}` } })))
    await ids(posts, { value: { related: more } }, { value: { related: many.slice(1000) } })
    const answer = await ask('expand=related')
    assert.deepEqual(
      [answer.statusCode, answer.json().error],
      [400, 'The answer would expand more than 2000 objects. Request fewer items with limit, or expand less.'],
    )
    assert.ok(first)
  })

  it('expands a preview too, with targets that are published', async () => {
    const { group, authors, posts, ids, list, clock, shownAuthors } = await blog(engine)
    const [ada, draft] = await ids(authors, { value: { name: 'Ada' } }, { value: { name: 'Draft' }, archived: true })
    const [post] = await ids(posts, { value: { author: ada, related: [draft] }, publishMs: clock.now + hourMs })
    const { token } = await createPreviewToken(group.store, { objectId: post }, clock.now)
    const preview = async (more: string) => (await group.get(`/tenant/preview?token=${token}${more}`)).json()
    const plain = (await preview('')).data
    const people = await shownAuthors()
    assert.deepEqual((await preview('&expand=author,related')).data, {
      ...plain,
      expanded: { author: people.get(ada), related: [] },
    })
    assert.match((await preview('&expand=title')).error, /expand names "title"/)
    assert.deepEqual(await list(''), [])
  })
})
