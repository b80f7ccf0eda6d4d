import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { sql } from 'kysely'
import { changeObject } from '../../src/store/content/change-objects.ts'
import { changeSchema } from '../../src/store/content/change-schema.ts'
import { findContainerById } from '../../src/store/content/containers.ts'
import { findObjects } from '../../src/store/content/objects.ts'
import type { Database } from '../../src/store/engine/database.ts'
import type { ContentTables } from '../../src/store/schema/tables.ts'
import { authoring, createPreviewToken, createSite, write } from '../helpers/authoring.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { smallPicture } from '../helpers/pictures.ts'
import { upload } from '../transfer/library.ts'
import { assertOnly, assertSound, createPatient, patient } from './patient.ts'

const repairAs = authoring(0).author

/** A group with posts and products, whose rows a test may corrupt. */
async function shop(engine: TestEngine, create = patient) {
  const created = await create(engine)
  const group = await created.newGroup({ name: 'Shop' })
  const posts = await group.collection('Posts', {
    title: { type: 'text', required: true },
    tags: { type: 'list', of: { type: 'text' } },
    rank: { type: 'integer' },
  })
  const products = await group.integration('stripe', { name: { type: 'text' } })
  const stored = await group.add(
    posts,
    { value: { title: 'Rye', tags: ['bread', 'dark'], rank: 2 } },
    { value: { title: 'Wheat', tags: ['bread'] }, publishMs: Date.now() + 1e9 },
    { value: { title: 'Oat' }, archived: true },
  )
  await group.add(products, { value: { name: 'Loaf' }, externalId: 'x', accountHandle: 'acct_1' })
  const titles = async (query: string): Promise<string[]> => {
    const answer = await group.get(`/tenant/collectionObjects?collectionId=${posts.id}&${query}`)
    return answer.json().data.items.map((item: { objectValue: { title: string } }) => item.objectValue.title)
  }
  return { ...created, group, posts, products, stored, titles, database: group.store.database }
}

/** External damage to the object index. */
const damageCases: [what: string, damage: (database: Database<ContentTables>) => Promise<unknown>][] = [
  ['rows are missing', ({ write }) => write((db) => db.deleteFrom('object_fields').where('field', '=', 'title').execute())],
  ['a key differs', ({ write }) => write((db) => db.updateTable('object_fields').set({ filter_key: '=Spelt' }).where('filter_key', '=', '=Rye').execute())],
  ['a sort key differs', ({ write }) => write((db) => db.updateTable('object_fields').set({ sort_key: 'tzz' }).where('filter_key', '=', '=Rye').execute())],
  ['the state differs', ({ write }) => write((db) => db.updateTable('object_fields').set({ archived: 1 }).where('filter_key', '=', '=Rye').execute())],
  ['the search text differs', ({ write }) => write((db) => db.updateTable('objects').set({ search_text: '' }).where('search_text', 'like', '%rye%').execute())],
  ['an entry in the search index is missing', ({ write }) => write((db) => db.deleteFrom('search_entries').where('words', 'like', '%rye%').execute())],
  ['an entry in the search index has other words', ({ write }) => write((db) => db.updateTable('search_entries').set({ words: 'wry' }).where('words', 'like', '%rye%').execute())],
  ['an entry in the search index has another state', ({ write }) => write((db) => db.updateTable('search_entries').set({ archived: 1 }).where('words', 'like', '%rye%').execute())],
  ['the search index lacks a container', ({ write }) => write((db) => db.deleteFrom('search_containers').where('container_id', 'in', (eb) => eb.selectFrom('search_entries').select('container_id').where('words', 'like', '%rye%')).execute())],
  ['a row is too many', ({ write }) => write((db) => db.insertInto('object_fields').columns(['object_id', 'field', 'filter_key', 'container_id', 'archived', 'publish_ms']).expression((eb) => eb.selectFrom('objects').select(['id', sql.lit('rank').as('field'), sql.lit('=9').as('filter_key'), 'container_id', 'archived', 'publish_ms']).where('search_text', 'like', '%rye%')).execute())],
] // biome-ignore format: a table

onBothEngines('the doctor’s check of the object index', (engine) => {
  let repaired: Awaited<ReturnType<typeof shop>>
  before(async () => {
    repaired = await shop(engine, createPatient)
    assertSound(await repaired.examine())
  })
  after(() => repaired.close())

  for (const [what, damage] of damageCases) {
    it(`finds that ${what}, and repairs it`, async () => {
      const { examine, database, titles, stored } = repaired
      await damage(database)
      const finding = assertOnly(await examine(), {
        check: 'Index of objects',
        level: 'wrong',
        what: /^[13] objects? (is|are) filtered, sorted or searched by values that they do not have/,
        commands: ['npx sluice doctor --repair'],
      })
      assert.equal(finding.examples?.[0], `Shop, Posts: ${stored[0]?.id}`)
      assertOnly(await examine({ repairAs }), {
        check: 'Index of objects',
        level: 'attention',
        what: /^The index of [13] objects? did not match their values, and was rebuilt/,
        advice: /Nothing is left to do/,
      })
      assertSound(await examine())
      assert.deepEqual(await titles('filters[title]=Rye'), ['Rye'])
      assert.deepEqual(await titles('filters[rank]=2&search=RYE&sort=title:asc'), ['Rye'])
      assert.deepEqual(await titles('filters[rank]=9'), [])
    })
  }

  it('repairs in one transaction of the group, with a record and a new revision', async () => {
    const { examine, database, group, posts, clock } = await shop(engine)
    await database.write((db) => db.deleteFrom('object_fields').where('field', '=', 'title').execute())
    const url = `/tenant/collectionObjects?collectionId=${posts.id}&filters[title]=Rye`
    const before = await group.get(url)
    assert.deepEqual(before.json().data.items, [])
    await examine({ repairAs })
    const newest = await database.read.selectFrom('changes').selectAll().orderBy('seq', 'desc').executeTakeFirst()
    assert.equal(newest?.type, 'collection.updated')
    assert.equal(newest?.verb, 'doctor.repair')
    assert.equal(newest?.subject_id, posts.id)
    assert.equal(newest?.note, 'index of 3 objects rebuilt')
    clock.now += 1000
    const after = await group.get(url, { 'if-none-match': String(before.headers.etag) })
    assert.equal(after.statusCode, 200)
    assert.equal(after.json().data.items[0].objectValue.title, 'Rye')
  })

  it('repairs products, which are found by their account', async () => {
    const { examine, database, group } = await shop(engine)
    await database.write((db) => db.deleteFrom('object_fields').where('field', '=', '@accountHandle').execute())
    await examine({ repairAs })
    assertSound(await examine())
    const answer = await group.get('/tenant/integrationObjects?type=stripe&accountHandle=acct_1')
    assert.equal(answer.json().data.items?.length ?? answer.json().data.length, 1)
  })

  it('repairs only the given group', async () => {
    const { examine, database, newGroup, group } = await shop(engine)
    const other = await newGroup({ name: 'Other' })
    const notes = await other.collection('Notes', { title: { type: 'text' } })
    await other.add(notes, { value: { title: 'Note' } })
    await database.write((db) => db.deleteFrom('object_fields').execute())
    await examine({ repairAs, groupNamed: 'Other' })
    assertSound(await examine({ groupNamed: other.group.id }))
    assertOnly(await examine({ groupNamed: group.group.id }), {
      check: 'Index of objects',
      level: 'wrong',
      what: /^4 objects are/,
    })
  })

  it('reports nothing while objects and schemas are being changed', async () => {
    const { examine, group, posts } = await shop(engine)
    const stored = await group.add(posts, ...Array.from({ length: 300 }, (_, n) => ({ value: { title: `Post ${n}` } })))
    const ids = stored.map(({ id }) => id)
    const change = (turn: number) =>
      write(group.store, Date.now(), async (writer) => {
        const container = await findContainerById(writer.group, posts.id)
        if (!container) return
        const schema = new Map([
          ...container.schema,
          ['rank', { type: 'integer', filterable: turn % 2 === 0 }],
        ] as const)
        const changed = await changeSchema(
          writer,
          container,
          { schema, renames: {}, defaults: {} },
          { allowLoss: false },
        )
        const found = await findObjects(writer.group, ids.slice(turn % 7, 50))
        for (const { object } of found)
          await changeObject(writer, changed.container, object, { value: { title: `Turn ${turn}` } }, 'updated')
      })
    let turns = 0
    let running = true
    const writing = (async () => {
      for (; running; turns += 1) await change(turns)
    })()
    try {
      while (turns < 6) assertSound(await examine())
    } finally {
      running = false
      await writing
    }
  })
})

onBothEngines('the doctor’s check of content', (engine) => {
  it('finds invalid values, names the first five, and shows how to list them', async () => {
    const { examine, database, posts, group, stored } = await shop(engine)
    const others = await group.add(posts, ...Array.from({ length: 6 }, (_, n) => ({ value: { title: `More ${n}` } })))
    const schema = { title: { type: 'text', required: true }, tags: { type: 'list', of: { type: 'text' } }, rank: { type: 'integer', max: 1, required: true } } // biome-ignore format: short
    await database.write((db) =>
      db
        .updateTable('containers')
        .set({ schema: JSON.stringify(schema) })
        .where('id', '=', posts.id)
        .execute(),
    )
    const finding = assertOnly(await examine(), {
      check: 'Values',
      level: 'attention',
      what: /^9 objects or sites do not satisfy the current rules for values/,
      advice: /delivered as they are/,
      commands: [`npx sluice object show ${group.group.id} ${stored[0]?.id}`],
    })
    assert.equal(others.length, 6)
    assert.equal(finding.examples?.length, 5)
    assert.equal(finding.examples[0], `Shop, Posts: ${stored[0]?.id}: objectValue.rank must be at most 1`)
  })

  it('finds a site that is no longer valid', async () => {
    const { examine, database, group } = await shop(engine)
    const site = await createSite(group.store, { name: 'Site', domainName: 'shop.example', settings: {} }, Date.now())
    await database.write((db) => db.updateTable('sites').set({ domain_name: 'No Host' }).execute())
    assertOnly(await examine(), {
      check: 'Values',
      level: 'attention',
      what: /^1 object or site does not satisfy/,
      commands: [`npx sluice site show ${group.group.id} ${site.id}`],
    })
  })

  it('finds pages that show missing collections', async () => {
    const { examine, group, posts } = await shop(engine)
    const missing = 'f'.repeat(24)
    const collections = [{ collectionId: posts.id }, { collectionId: missing }]
    const settings = { pages: [{ name: 'Blog', slug: 'blog', collections }] }
    const site = await createSite(group.store, { name: 'Site', domainName: 'shop.example', settings }, Date.now())
    const finding = assertOnly(await examine(), {
      check: 'Pages of sites',
      level: 'wrong',
      what: /Pages of the site "Site" of Shop show 1 collection that the group does not have/,
      commands: [
        `npx sluice site show ${group.group.id} ${site.id}`,
        new RegExp(`^npx sluice site update ${group.group.id} ${site.id} --version 1 --settings`),
      ],
    })
    assert.deepEqual(finding.examples, [missing])
  })

  it('finds leftovers of a group that does not exist, which the given command removes', async () => {
    const created = await shop(engine)
    const { examine, database, group, stored, service } = created
    await createPreviewToken(group.store, { objectId: stored[0]?.id ?? '' }, Date.now())
    const { id } = group.group
    await upload(created, id, 'bread.png', await smallPicture('png')) // which adds a job
    await service.media.storage.removeFolder(group.group.bucketName, id)
    await service.store.control.write(async (db) => {
      await db.deleteFrom('api_keys').where('group_id', '=', id).execute()
      await db.deleteFrom('groups').where('id', '=', id).execute()
    })
    const finding = assertOnly(await examine(), {
      check: 'Left-overs of groups',
      level: 'attention',
      what: new RegExp(`main\\S* holds \\d+ rows of the group ${id}, which does not exist: 4 in objects, 1 in preview_tokens, 2 in containers, \\d+ in changes, 1 in media, 1 in media_files, 1 in jobs`),
      advice: /An import or a deletion was interrupted, or is running/,
      commands: [engine === 'postgres' ? /^psql "\$DATABASE_URL" -c '/ : /^sqlite3 \S+main\.sqlite 'pragma foreign_keys = on; /],
    }) // biome-ignore format: short
    const [, statements = ''] = /^\S+ \S+ (?:-c )?'(.*)'$/.exec(finding.commands?.[0] ?? '') ?? []
    for (const statement of statements
      .replaceAll("'\\''", "'")
      .split('; ')
      .filter((text) => text.startsWith('delete')))
      await database.write((db) => sql.raw(statement).execute(db))
    assertSound(await examine())
  })
})
