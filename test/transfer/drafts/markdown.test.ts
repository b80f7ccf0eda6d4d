import assert from 'node:assert/strict'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { AppError } from '../../../src/core/errors.ts'
import type { Draft } from '../../../src/transfer/drafts/draft.ts'
import { type MarkdownOptions, readMarkdownFolder } from '../../../src/transfer/drafts/markdown.ts'
import { folderOf } from '../files.ts'

async function readAll(t: TestContext, files: Record<string, string | Uint8Array>, options?: MarkdownOptions) {
  return Array.fromAsync(readMarkdownFolder(folderOf(t, files), options))
}

async function readOne(t: TestContext, text: string | Uint8Array, path = 'page.md'): Promise<Draft> {
  const [draft, ...others] = await readAll(t, { [path]: text })
  assert.ok(draft)
  assert.deepEqual(others, [])
  return draft
}

describe('a folder of Markdown', () => {
  it('is read in the order of full paths, without hidden files, node_modules and other files', async (t) => {
    const files = ['b.md', 'a/z.md', 'a/b/c.markdown', 'a.md', 'a-b.md', 'Z.MD', 'ü.md']
    const others = ['.hidden.md', '.git/x.md', 'node_modules/x/readme.md', 'a/node_modules/y.md', 'c.txt', 'md']
    const drafts = await readAll(t, Object.fromEntries([...files, ...others].map((path) => [path, 'text'])))
    assert.deepEqual(
      drafts.map((draft) => draft.source),
      files.toSorted(),
    )
  })

  it('does not follow symbolic links, neither to files nor to folders', async (t) => {
    const folder = folderOf(t, { 'site/a.md': 'text', 'secret/b.md': 'text' })
    symlinkSync(join(folder, 'secret/b.md'), join(folder, 'site/b.md'))
    symlinkSync(join(folder, 'secret'), join(folder, 'site/secret'))
    symlinkSync(join(folder, 'site'), join(folder, 'site/loop'))
    const drafts = await Array.fromAsync(readMarkdownFolder(join(folder, 'site')))
    assert.deepEqual(
      drafts.map((draft) => draft.source),
      ['a.md'],
    )
  })

  it('may be empty', async (t) => assert.deepEqual(await readAll(t, {}), []))

  it('that is missing is refused with its name', async () => {
    const reading = Array.fromAsync(readMarkdownFolder('/nowhere/at-all'))
    await assert.rejects(
      reading,
      (error) => error instanceof AppError && /\/nowhere\/at-all cannot be/.test(error.message),
    )
  })

  it('with thousands of files is read one file at a time', async (t) => {
    const folder = folderOf(t, {})
    for (let hundred = 0; hundred < 30; hundred++) {
      mkdirSync(join(folder, `${hundred}`))
      for (let number = 0; number < 100; number++) {
        const text = `---\ntitle: Page ${number}\ntags: [a, b]\n---\n\n## Part\n\nSome *text* of ${hundred}.\n`
        writeFileSync(join(folder, `${hundred}/${number}.md`), text)
      }
    }
    let count = 0
    for await (const { problems } of readMarkdownFolder(folder)) {
      assert.deepEqual(problems, [])
      count++
    }
    assert.equal(count, 3000)
  })
})

describe('a Markdown file', () => {
  it('becomes its front matter, an HTML body and a slug', async (t) => {
    const text =
      '---\ntitle: Hello\ntags: [a, b]\nrating: 5\nfeatured: true\nseo: { robots: none }\n---\n\nSome *text*.\n'
    assert.deepEqual(await readOne(t, text, 'posts/My First Post.md'), {
      source: 'posts/My First Post.md',
      value: {
        title: 'Hello',
        tags: ['a', 'b'],
        rating: 5,
        featured: true,
        seo: { robots: 'none' },
        slug: 'my-first-post',
        body: '<p>Some <em>text</em>.</p>',
      },
      problems: [],
      derived: ['slug', 'body'],
    })
  })

  it('needs no front matter', async (t) => {
    const draft = await readOne(t, 'Just text.\n\n---\n\nMore.')
    assert.deepEqual(draft.value, { slug: 'page', body: '<p>Just text.</p>\n<hr>\n<p>More.</p>' })
  })

  for (const text of ['---\ntitle: A\n---', '---\ntitle: A\n---\n\n \n', '--- \ntitle: A\n---\t\n']) {
    it(`needs no body: ${JSON.stringify(text)}`, async (t) => {
      assert.deepEqual((await readOne(t, text)).value, { title: 'A', slug: 'page' })
    })
  }

  for (const text of ['', '\uFEFF', '---\n---\n', '---\n# nothing\n---\n']) {
    it(`may be empty: ${JSON.stringify(text)}`, async (t) => {
      const { value, problems } = await readOne(t, text)
      assert.deepEqual({ value, problems }, { value: { slug: 'page' }, problems: [] })
    })
  }

  it('may have a byte order mark and Windows line ends', async (t) => {
    const { value } = await readOne(
      t,
      '\uFEFF---\r\ntitle: A\r\nlead: |\r\n  one\r\n  two\r\n---\r\n\r\nOne\r\ntwo\r\n',
    )
    assert.deepEqual(value, { title: 'A', lead: 'one\ntwo\n', slug: 'page', body: '<p>One\ntwo</p>' })
  })

  it('is GitHub Flavored Markdown', async (t) => {
    const { value } = await readOne(t, '~~old~~ https://example.com\n\n| a |\n|---|\n| 1 |\n\n- [x] done')
    for (const part of ['<del>old</del>', '<a href="https://example.com">', '<td>1</td>', 'type="checkbox"']) {
      assert.ok(String(value.body).includes(part), String(value.body))
    }
  })

  it('preserves the digits of numbers that would be printed differently', async (t) => {
    const { value } = await readOne(
      t,
      '---\na: 4.50\nb: 007\nc: 12345678901234567890\nd: 1e10\ne: 4.5\nf: [-1, 1.0]\n---',
    )
    const numbers = { a: '4.50', b: '007', c: '12345678901234567890', d: '1e10', e: 4.5, f: [-1, '1.0'] }
    assert.deepEqual(value, { ...numbers, slug: 'page' })
  })

  it('reads YAML 1.2: yes, no and dates are text, and a name like __proto__ is a name', async (t) => {
    const { value } = await readOne(t, '---\na: yes\nb: NO\nc: 2024-05-01\nd: 09:30\n__proto__: { admin: true }\n---')
    assert.deepEqual(Object.entries(value), [
      ['a', 'yes'],
      ['b', 'NO'],
      ['c', '2024-05-01'],
      ['d', '09:30'],
      ['__proto__', { admin: true }],
      ['slug', 'page'],
    ])
    assert.equal(({} as Record<string, unknown>).admin, undefined)
  })

  it('may use anchors', async (t) => {
    const { value } = await readOne(t, '---\na: &list [x, y]\nb: *list\n---')
    assert.deepEqual(value.b, ['x', 'y'])
  })

  const laughs = Array.from({ length: 9 }, (_, n) => `l${n + 1}: &l${n + 1} [${Array(9).fill(`*l${n}`).join(', ')}]`)
  const unusable: Record<string, [text: string | Uint8Array, problem: RegExp]> = {
    'front matter that is never closed': ['---\ntitle: A\n\nText', /no other --- line closes it/],
    'a lone opening line': ['---', /no other --- line closes it/],
    'TOML front matter': ['+++\ntitle = "A"\n+++\n', /TOML.*YAML/],
    'a key twice': ['---\ntitle: A\nlead: x\ntitle: B\n---\n', /unique at line 4/],
    'a custom tag': ['---\nwhen: !ruby/object:Gem 1\n---\n', /Unresolved tag.* at line 2/],
    'a YAML 1.1 tag': ['---\nwhen: !!binary aGk=\n---\n', /Unresolved tag/],
    'front matter that is a list': ['---\n- a\n---\n', /lines of "name: value"/],
    'front matter that is a sentence': ['---\nHello there\n---\n', /lines of "name: value"/],
    'a key that is no name': ['---\n? [a]\n: 1\n---\n', /keys must be strings/],
    'broken YAML': ['---\ntitle: [a\n---\n', /not valid: .* at line \d/],
    'more than one YAML document': ['---\na: 1\n--- b\nc: 1\n---\n', /not valid/],
    'an anchor that is not there': ['---\na: *b\n---\n', /Unresolved alias/],
    'a billion laughs': [`---\nl0: &l0 ha\n${laughs.join('\n')}\n---\n`, /Excessive alias count/],
    'very deep YAML': [`---\na: ${'['.repeat(30_000)}\n---\n`, /not valid/],
    'very long front matter': [`---\na: ${'x'.repeat(70_000)}\n---\n`, /longer than/],
    'a very deep body': ['> - '.repeat(5000), /cannot be read as Markdown/],
    'bytes that are not UTF-8': [Buffer.from('caf\xe9', 'latin1'), /not UTF-8/],
    'UTF-16': [Buffer.from('\uFEFFtext', 'utf16le'), /not UTF-8/],
    'more than 2 MB': ['x'.repeat(2 * 1024 * 1024 + 1), /larger than 2 MB/],
  }
  for (const [name, [text, problem]] of Object.entries(unusable)) {
    it(`with ${name} is reported as such`, async (t) => {
      const draft = await readOne(t, text)
      assert.deepEqual({ ...draft, problems: [] }, { source: 'page.md', value: {}, problems: [] })
      assert.equal(draft.problems.length, 1)
      assert.match(draft.problems[0] ?? '', problem)
    })
  }

  it('that cannot be opened is reported, and the others are read', async (t) => {
    const folder = folderOf(t, { 'a.md': 'text', 'b.md': 'text', 'c.md': 'text' })
    const problems: Record<string, string[]> = {}
    for await (const draft of readMarkdownFolder(folder)) {
      problems[draft.source] = draft.problems
      rmSync(join(folder, 'b.md'), { force: true })
    }
    assert.deepEqual({ ...problems, 'b.md': [] }, { 'a.md': [], 'b.md': [], 'c.md': [] })
    assert.match(problems['b.md']?.[0] ?? '', /cannot be read: ENOENT/)
  })

  it('that would take the parsers hours is reported, and the others are read', async (t) => {
    const endless = { 'a.md': `a${'*'.repeat(400_000)}x`, 'b.md': `a${'_a'.repeat(200_000)}` }
    const [stars, lines, last] = await readAll(t, { ...endless, 'c.md': '# Hello' }, { maxPageMs: 500 })
    assert.match(stars?.problems.join() ?? '', /^parsing the page took more than 500 ms/)
    assert.match(lines?.problems.join() ?? '', /^parsing the page took more than 500 ms/)
    assert.deepEqual([last?.value.title, last?.problems], ['Hello', []])
  })

  it('with a body in its front matter and text below it is reported', async (t) => {
    const { value, problems } = await readOne(t, '---\nbody: mine\n---\nText')
    assert.equal(value.body, 'mine')
    assert.match(problems.join(), /"body"/)
  })
})

describe('the title of a page', () => {
  it('is the first heading of level one, which is removed from the body', async (t) => {
    const draft = await readOne(t, 'Before\n\n## Small\n\n# The *real* <b>one</b> \\& `co`\n\nText\n\n# Second')
    assert.equal(draft.value.title, 'The real one & co')
    assert.equal(draft.value.body, '<p>Before</p>\n<h2>Small</h2>\n<p>Text</p>\n<h1>Second</h1>')
    assert.match(draft.bodyWithTitle ?? '', /<h1>The <em>real<\/em>/)
    assert.deepEqual(draft.derived, ['slug', 'title', 'body'])
  })

  it('may be the whole page', async (t) => {
    const { value } = await readOne(t, '# Hello')
    assert.deepEqual(value, { slug: 'page', title: 'Hello', body: '' })
  })

  for (const key of ['title', 'Title']) {
    it(`is the value of ${key}, and the heading remains`, async (t) => {
      const { value } = await readOne(t, `---\n${key}: Mine\n---\n# Heading`)
      assert.deepEqual(value, { [key]: 'Mine', slug: 'page', body: '<h1>Heading</h1>' })
    })
  }

  it('is missing without a heading', async (t) => {
    for (const text of ['## Small', '#', 'Text', '    # code', '> # quoted']) {
      assert.equal(Object.hasOwn((await readOne(t, text)).value, 'title'), false, text)
    }
  })
})

describe('the slug of a page', () => {
  const slugs: [path: string, slug: string, withFolders: string][] = [
    ['hello.md', 'hello', 'hello'],
    ['blog/2024/Hello World!.md', 'hello-world', 'blog/2024/hello-world'],
    ['blog/first-post/index.md', 'first-post', 'blog/first-post'],
    ['Crème Brûlée.md', 'creme-brulee', 'creme-brulee'],
    ['Cre\u0300me.md', 'creme', 'creme'],
    ['Straße & Łódź Ærø.md', 'strasse-lodz-aero', 'strasse-lodz-aero'],
    ['v1.2_final.md', 'v1.2_final', 'v1.2_final'],
    ['--a..b__c--.md', 'a-b-c', 'a-b-c'],
    ['2024-05-01-spring.md', 'spring', 'spring'],
    ['2024-05-01-spring/index.md', 'spring', 'spring'],
    ['2024-13-01-not-a-date.md', '2024-13-01-not-a-date', '2024-13-01-not-a-date'],
    ['2024-05-01.md', '2024-05-01', '2024-05-01'],
    ['2024-05-01--.md', '2024-05-01', '2024-05-01'],
    ['𝓕ancy №5.md', 'fancy-no5', 'fancy-no5'],
  ]
  for (const [path, slug, withFolders] of slugs) {
    it(`of ${path} is ${slug}`, async (t) => {
      const folder = folderOf(t, { [path]: 'text' })
      const [plain] = await Array.fromAsync(readMarkdownFolder(folder))
      const [kept] = await Array.fromAsync(readMarkdownFolder(folder, { keepFolders: true }))
      assert.equal(plain?.value.slug, slug)
      assert.equal(kept?.value.slug, withFolders)
      assert.match(slug, /^[a-z0-9]+(?:[-/_.][a-z0-9]+)*$/)
    })
  }

  it('of the top index page is the name of the folder', async (t) => {
    const folder = folderOf(t, { 'Our Site/index.md': 'text' })
    const [draft] = await Array.fromAsync(readMarkdownFolder(join(folder, 'Our Site')))
    assert.equal(draft?.value.slug, 'our-site')
  })

  it('is the author’s, valid or not', async (t) => {
    const draft = await readOne(t, '---\nslug: Mine!\n---')
    assert.deepEqual(draft.value, { slug: 'Mine!' })
    assert.deepEqual(draft.derived, [])
  })

  it('of a name without a usable letter is that name, which validation refuses', async (t) => {
    assert.equal((await readOne(t, 'text', '日本語.md')).value.slug, '日本語')
  })
})

describe('the state of a page', () => {
  const dates: Record<string, string> = {
    'publishDate: 2024-05-01': '2024-05-01T00:00:00.000Z',
    'pubDate: "2024-05-01"': '2024-05-01T00:00:00.000Z',
    'date: 2024-05-01T10:00:00Z': '2024-05-01T10:00:00.000Z',
    'Date: 2024-05-01T10:00+02:00': '2024-05-01T08:00:00.000Z',
    'date: 2024-05-01 10:00:00 +0200': '2024-05-01T08:00:00.000Z',
    'date: 2024-05-01 9:30:00': '2024-05-01T09:30:00.000Z',
    'date: 2024-05-01t10:00:00.5 -05': '2024-05-01T15:00:00.500Z',
  }
  for (const [line, moment] of Object.entries(dates)) {
    it(`has the publish date of ${line}`, async (t) => {
      const { value, publishDate, problems } = await readOne(t, `---\n${line}\n---`, '2020-01-01-page.md')
      assert.deepEqual({ value, publishDate, problems }, { value: { slug: 'page' }, publishDate: moment, problems: [] })
    })
  }

  it('has the date of the file name by default', async (t) => {
    for (const text of ['text', '---\ndate:\n---\ntext']) {
      assert.equal((await readOne(t, text, '2024-05-01-page.md')).publishDate, '2024-05-01T00:00:00.000Z')
    }
  })

  it('uses one date: others remain fields', async (t) => {
    const text = '---\ndate: 2024-01-01\npublishDate: 2024-02-02\n---'
    const { value, publishDate } = await readOne(t, text)
    assert.equal(publishDate, '2024-02-02T00:00:00.000Z')
    assert.deepEqual(value, { date: '2024-01-01', slug: 'page' })
  })

  it('leaves a date to the fields on request', async (t) => {
    const options = { publishDateKeys: ['publishDate'] }
    const [draft] = await readAll(t, { 'fair.md': '---\ndate: 2024-01-01\n---' }, options)
    assert.equal(draft?.publishDate, undefined)
    assert.deepEqual(draft?.value, { date: '2024-01-01', slug: 'fair' })
  })

  it('is a draft, or archived, if marked so', async (t) => {
    const page = await readOne(t, '---\ndraft: true\narchived: "TRUE"\n---')
    assert.deepEqual([page.draft, page.archived, page.value], [true, true, { slug: 'page' }])
    const capital = await readOne(t, '---\nDraft: true\n---')
    assert.deepEqual([capital.draft, capital.value], [true, { slug: 'page' }])
    const denied = await readOne(t, '---\ndraft: false\n---')
    assert.deepEqual([denied.draft, denied.archived], [false, undefined])
  })

  for (const line of [
    'date: tomorrow',
    'date: 2024-02-30',
    'date: 2024',
    'date: 1.5.2024',
    'date: [2024-05-01]',
    'draft: maybe',
    'draft: [true]',
    'archived: 1',
  ]) {
    it(`is a problem with ${line}`, async (t) => {
      const { problems } = await readOne(t, `---\n${line}\n---`)
      assert.equal(problems.length, 1)
      assert.match(problems[0] ?? '', /^(date must be a date|(draft|archived) must be true or false)/)
    })
  }
})
