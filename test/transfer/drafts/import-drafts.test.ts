import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { draftPublishMs } from '../../../src/content/model.ts'
import { countObjects, listContainers } from '../../../src/store/content/containers.ts'
import { iterateObjects } from '../../../src/store/content/objects.ts'
import { readRevision } from '../../../src/store/content/revisions.ts'
import { listVersions } from '../../../src/store/content/versions.ts'
import { onBothEngines, type TestEngine } from '../../helpers/harness.ts'
import { terminal } from '../../helpers/terminal.ts'
import { dumpOf } from '../exports.ts'
import { folderOf } from '../files.ts'
import { upload } from '../library.ts'

const schema = {
  title: { type: 'text', required: true },
  slug: { type: 'slug' },
  stars: { type: 'integer' },
  body: { type: 'longText' },
  email: { type: 'text', private: true },
}

/** The command line with a separate group. */
async function shop(engine: TestEngine) {
  const created = await terminal(engine)
  const group = await created.newGroup({ name: 'Shop' })
  const dump = () => dumpOf(created.service.store)
  const objectsIn = (collectionId: string) => Array.fromAsync(iterateObjects(group.store, collectionId))
  return { ...created, group, dump, objectsIn }
}

const pages = (t: TestContext): string =>
  folderOf(t, {
    'hello.md': '---\ntitle: Hello\nstars: 5\ndate: 2026-02-01\n---\nThe *first* one.\n',
    'blog/later.md': '# Later\n\nNot yet.\n',
    'blog/draft.md': '---\ntitle: A draft\ndraft: true\ndate: 2026-02-02\n---\n',
  })

onBothEngines('an import of Markdown', (engine) => {
  it('creates objects from pages, and changes nothing the second time', async (t) => {
    const { group, json, run, dump, objectsIn, clock } = await shop(engine)
    const posts = await group.collection('Posts', schema)
    const folder = pages(t)
    const report = await json('import', 'markdown', 'Shop', 'Posts', folder)
    assert.deepEqual(report.objects, { added: 3, changed: 0, equal: 0 })
    const objects = await objectsIn(posts.id)
    assert.deepEqual(
      objects.map(({ value, publishMs }) => [value.slug, value.title, value.stars, publishMs]),
      [
        ['draft', 'A draft', undefined, draftPublishMs],
        ['later', 'Later', undefined, clock.now],
        ['hello', 'Hello', 5, Date.UTC(2026, 1, 1)],
      ],
    )
    assert.equal(objects[2]?.value.body, '<p>The <em>first</em> one.</p>')
    const before = await dump()
    assert.match(await run('import', 'markdown', 'Shop', posts.id, folder), /objects +0 +0 +3/)
    assert.equal(await dump(), before)
  })

  it('adds one version to changed objects, and leaves fields that are not in the file', async (t) => {
    const { group, json, clock, objectsIn } = await shop(engine)
    const posts = await group.collection('Posts', schema)
    const [object] = await group.add(posts, {
      value: { title: 'Old', slug: 'hello', email: 'a@b.example' },
      publishMs: 5,
    })
    await group.add(posts, { value: { title: 'Untouched', slug: 'other' } })
    clock.now += 1000
    const revision = await readRevision(group.store)
    const folder = folderOf(t, { 'hello.md': '---\ntitle: New\nstars: 4\n---\n' })
    assert.deepEqual((await json('import', 'markdown', 'Shop', 'Posts', folder)).objects, {
      added: 0,
      changed: 1,
      equal: 0,
    })
    assert.equal(await readRevision(group.store), revision + 1)
    const [changed, other] = await objectsIn(posts.id)
    assert.deepEqual(changed?.value, { title: 'New', slug: 'hello', email: 'a@b.example', stars: 4 })
    assert.deepEqual([changed?.publishMs, changed?.version, other?.version], [5, 2, 1])
    assert.equal((await listVersions(group.store, object?.id ?? ''))[0]?.change, 'imported')
  })

  it('is refused before the first write, with every problem and its file', async (t) => {
    const { group, run, dump } = await shop(engine)
    await group.collection('Posts', schema)
    const folder = folderOf(t, {
      'a.md': '---\ntitle: A\nstars: many\n---\n',
      'b.md': '---\nstars: 1\n---\n',
      'c.md': '---\ntitle: [\n---\n',
      'd.md': '---\ntitle: D\nslug: good\ncolor: red\n---\n',
      'good.md': '---\ntitle: Good\n---\n',
    })
    const before = await dump()
    await assert.rejects(run('import', 'markdown', 'Shop', 'Posts', folder, '--json'), (error: Error) => {
      assert.match(error.message, /cannot be imported\. Nothing was changed\. There are 5 problems:/)
      assert.match(error.message, /a\.md: objectValue\.stars must be a whole number/)
      assert.match(error.message, /b\.md: objectValue\.title is required/)
      assert.match(error.message, /c\.md: the front matter is not valid/)
      assert.match(error.message, /d\.md: objectValue\.color is not a field of this collection/)
      assert.match(error.message, /good\.md: has the same slug as d\.md/)
      return true
    })
    assert.equal(await dump(), before)
  })

  it('creates a collection with matching fields on request, and prints them', async (t) => {
    const { group, json, run, dump } = await shop(engine)
    const folder = pages(t)
    await assert.rejects(
      run('import', 'markdown', 'Shop', 'Blog', folder, '--json'),
      /no collection "Blog"\. To create it .+, add --create/,
    )
    const before = await dump()
    const dry = await json('import', 'markdown', 'Shop', 'Blog', folder, '--create', '--dry-run')
    assert.equal(await dump(), before)
    const report = await json('import', 'markdown', 'Shop', 'Blog', folder, '--create')
    assert.deepEqual(report.collection.schema, dry.collection.schema)
    assert.deepEqual(report.collection.schema.stars, { type: 'integer' })
    const [made] = await listContainers(group.store)
    assert.deepEqual([made?.name, (await countObjects(group.store)).get(made?.id ?? '')], ['Blog', 3])
    assert.deepEqual((await json('import', 'markdown', 'Shop', 'Blog', folder, '--create')).objects.equal, 3)
  })
})

onBothEngines('an import of CSV', (engine) => {
  const rows = 'slug,title,stars,email,archived\none,One,1,one@b.example,\ntwo,"Two, too",,two@b.example,true\n'

  it('creates objects from rows, removes the values of emptied cells, and changes nothing without changes', async (t) => {
    const { group, json, dump, objectsIn } = await shop(engine)
    const posts = await group.collection('Posts', schema)
    const file = join(folderOf(t, { 'posts.csv': rows }), 'posts.csv')
    assert.deepEqual((await json('import', 'csv', 'Shop', 'Posts', file)).objects, { added: 2, changed: 0, equal: 0 })
    const before = await dump()
    assert.deepEqual((await json('import', 'csv', 'Shop', 'Posts', file)).objects, { added: 0, changed: 0, equal: 2 })
    assert.equal(await dump(), before)
    writeFileSync(file, rows.replace('One,1', 'One,'))
    appendFileSync(file, 'three,Three,3,,\n')
    assert.deepEqual((await json('import', 'csv', 'Shop', 'Posts', file)).objects, { added: 1, changed: 1, equal: 1 })
    const objects = await objectsIn(posts.id)
    assert.deepEqual(
      objects.map(({ value, archived }) => [value.title, value.stars, archived]),
      [
        ['One', undefined, false],
        ['Two, too', undefined, true],
        ['Three', 3, false],
      ],
    )
  })

  it('identifies objects by the given field, also a private one, or by none', async (t) => {
    const { group, json, run, objectsIn } = await shop(engine)
    const people = await group.collection('People', { email: { type: 'text', private: true }, name: { type: 'text' } })
    const file = join(folderOf(t, { 'people.csv': 'email;name\na@b.example;Ann\nb@b.example;Bob\n' }), 'people.csv')
    await assert.rejects(
      run('import', 'csv', 'Shop', 'People', file, '--json'),
      /no field "slug" .+ --key <field>, or add all as new objects with --append/,
    )
    await assert.rejects(
      run('import', 'csv', 'Shop', 'People', file, '--key', 'phone', '--json'),
      /--key phone is not a field/,
    )
    await json('import', 'csv', 'Shop', 'People', file, '--key', 'email')
    writeFileSync(file, 'email;name\nb@b.example;Bobby\n')
    assert.deepEqual((await json('import', 'csv', 'Shop', 'People', file, '--key', 'email')).objects, {
      added: 0,
      changed: 1,
      equal: 0,
    })
    await json('import', 'csv', 'Shop', 'People', file, '--append')
    const people3 = await objectsIn(people.id)
    assert.deepEqual(
      people3.map(({ value }) => value.name),
      ['Ann', 'Bobby', 'Bobby'],
    )
    await assert.rejects(
      run('import', 'csv', 'Shop', 'People', file, '--key', 'email', '--json'),
      /people\.csv line 2: 2 objects of the collection have this email/,
    )
  })

  it('is one transaction: 600 rows are one revision, and an error at the end leaves none', async (t) => {
    const { group, json, run, dump } = await shop(engine)
    await group.collection('Posts', schema)
    const lines = Array.from({ length: 600 }, (_, n) => `post-${n},Post ${n},${n},,\n`)
    const file = join(folderOf(t, { 'posts.csv': `slug,title,stars,email,archived\n${lines.join('')}` }), 'posts.csv')
    const revision = await readRevision(group.store)
    await json('import', 'csv', 'Shop', 'Posts', file)
    assert.equal(await readRevision(group.store), revision + 1)
    appendFileSync(file, 'post-600,Post,x,,\n')
    const before = await dump()
    await assert.rejects(
      run('import', 'csv', 'Shop', 'Posts', file, '--json'),
      /posts\.csv line 602: objectValue\.stars must be a whole number/,
    )
    assert.equal(await dump(), before)
  })
})

onBothEngines('an import of pages that show files', (engine) => {
  it('reports pages with files that are not in the library, also in a dry run, and imports the others', async (t) => {
    const created = await shop(engine)
    const { group, run, json, dump, objectsIn } = created
    const { id } = group.group
    const posts = await group.collection('Posts', { slug: { type: 'slug' }, cover: { type: 'file' } })
    const page = (key: string) => `---\ncover: { name: a, key: ${key}, type: file }\n---\n`
    const missing = folderOf(t, { 'one.md': page(`${id}/none.txt`), 'two.md': '---\n---\n' })
    for (const dryRun of [['--dry-run'], []]) {
      const before = await dump()
      await assert.rejects(
        run('import', 'markdown', 'Shop', 'Posts', missing, ...dryRun),
        /cannot be imported\. Nothing was changed\. There is one problem:\n {2}one\.md: there is no file with the key "\w+\/none\.txt": upload it first/,
      )
      assert.equal(await dump(), before)
    }
    const { key } = await upload(created, id, 'a.txt', 'a')
    await json('import', 'markdown', 'Shop', 'Posts', folderOf(t, { 'one.md': page(key) }))
    assert.deepEqual(
      (await objectsIn(posts.id)).map(({ value }) => value.cover),
      [{ name: 'a', key, type: 'file' }],
    )
  })
})
