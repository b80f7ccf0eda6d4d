import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { sql } from 'kysely'
import { readDueMs } from '../../src/store/content/due.ts'
import { readRevision } from '../../src/store/content/revisions.ts'
import { type Database, qualifiedTable } from '../../src/store/engine/database.ts'
import type { ContentTables } from '../../src/store/schema/tables.ts'
import { authoring } from '../helpers/authoring.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { assertRangesAreRight } from '../helpers/range-totals.ts'
import { assertTotalsAreRight } from '../helpers/totals.ts'
import { assertOnly, assertSound, createPatient, findingsOf, patient } from './patient.ts'

const repairAs = authoring(0).author

async function shop(engine: TestEngine, create = patient) {
  const created = await create(engine)
  const group = await created.newGroup({ name: 'Shop' })
  const posts = await group.collection('Posts', { title: { type: 'text' }, rank: { type: 'integer' } })
  await group.add(posts, { value: { title: 'Rye', rank: 1 } }, { value: { title: 'Oat', rank: 1 } })
  return { ...created, group, posts, database: group.store.database }
}

/** External damage to totals. */
const damageCases: [what: string, fields: string[], damage: (database: Database<ContentTables>) => Promise<unknown>][] = [
  ['is too high', ['by title'], ({ write }) => write((db) => db.updateTable('totals').set({ total: 7 }).where('filter_key', '=', '=Rye').execute())],
  ['of all objects is missing', ['all objects'], ({ write }) => write((db) => db.deleteFrom('totals').where('field', '=', '').execute())],
  ['is one of a value that is not there', ['by rank'], ({ write }) => write((db) => db.updateTable('totals').set({ filter_key: '=2' }).where('field', '=', 'rank').execute())],
  ['is one of a field that is not there', ['by size'], ({ write }) => write((db) => db.insertInto('totals').columns(['container_id', 'field', 'filter_key', 'total']).expression((eb) => eb.selectFrom('containers').select(['id', sql.lit('size').as('field'), sql.lit('=1').as('filter_key'), sql.lit(1).as('total')])).execute())],
  ['of a range is too high', ['by title'], ({ write }) => write((db) => db.updateTable('range_totals').set({ total: 7 }).where('field', '=', 'title').execute())],
  ['of a range begins too late', ['by rank'], ({ write }) => write((db) => db.updateTable('range_totals').set({ lower_key: 'n1' }).where('field', '=', 'rank').execute())],
  ['and all the others are gone', ['all objects', 'by rank', 'by title'], ({ write }) => write((db) => db.deleteFrom('totals').execute())],
] // biome-ignore format: a table

onBothEngines('the doctor’s check of totals', (engine) => {
  let repaired: Awaited<ReturnType<typeof shop>>
  before(async () => {
    repaired = await shop(engine, createPatient)
    assertSound(await repaired.examine())
  })
  after(() => repaired.close())

  for (const [what, fields, damage] of damageCases) {
    it(`finds that one ${what}, and recounts`, async () => {
      const { examine, database, group, posts } = repaired
      await damage(database)
      const expected = { check: 'Totals', level: 'wrong', what: /totals? (is|are|was|were) wrong/ } as const
      const { examples } = assertOnly(await examine(), expected)
      assert.deepEqual(examples?.map((example) => example.replace('Shop, Posts: ', '')).toSorted(), fields)
      const recounted = assertOnly(await examine({ repairAs }), { ...expected, level: 'attention' })
      assert.match(recounted.what, new RegExp(`^${fields.length} totals? (was|were) .* recounted`))
      assertSound(await examine())
      await assertTotalsAreRight(group.store)
      await assertRangesAreRight(group.store, posts.id)
    })
  }

  it('recounts in one transaction of the group, with a record and a new revision', async () => {
    const { examine, database, posts } = await shop(engine)
    const revision = () => database.read.selectFrom('group_revisions').select('revision').executeTakeFirstOrThrow()
    const before = await revision()
    await database.write((db) => db.updateTable('totals').set({ total: 9 }).where('field', '=', '').execute())
    await examine({ repairAs })
    const newest = await database.read.selectFrom('changes').selectAll().orderBy('seq', 'desc').executeTakeFirst()
    assert.deepEqual(
      [newest?.type, newest?.verb, newest?.subject_id, newest?.note],
      ['collection.updated', 'doctor.repair', posts.id, 'objects recounted'],
    )
    assert.equal((await revision()).revision, before.revision + 1)
  })

  it('finds missing triggers, recreates them, and corrects what they missed', async () => {
    const { examine, database, group, posts } = await shop(engine)
    const dropped =
      engine === 'sqlite'
        ? sql`drop trigger objects_added`
        : sql`drop trigger count_objects_on_insert on ${qualifiedTable(database, 'objects')}`
    await database.write((db) => dropped.execute(db))
    await group.add(posts, { value: { title: 'Spelt' } })
    const sick = findingsOf(await examine())
    assert.deepEqual(
      sick.map(({ check, level }) => [check, level]),
      [
        ['Totals', 'wrong'],
        ['Totals', 'wrong'],
      ],
    )
    assert.match(
      sick[0]?.what ?? '',
      /lacks 1 trigger by which it counts and indexes objects: its totals and searches become wrong/,
    )
    await examine({ repairAs })
    assertSound(await examine())
    await group.add(posts, { value: { title: 'Barley' } })
    await assertTotalsAreRight(group.store)
    await assertRangesAreRight(group.store, posts.id)
  })
})

onBothEngines('the doctor’s check of schedules', (engine) => {
  const dueMs = Date.UTC(2999, 0)

  async function withArchiveDate() {
    const created = await shop(engine)
    await created.group.add(created.posts, { value: { title: 'Stollen' }, archiveMs: dueMs })
    const setDue = (due: number | null) =>
      created.database.write((db) => db.updateTable('group_revisions').set({ due_ms: due }).execute())
    return { ...created, setDue, readDue: () => readDueMs(created.group.store) }
  }

  it('finds a due time that is missing or too late, and corrects it with a new revision', async () => {
    const { examine, setDue, readDue, group } = await withArchiveDate()
    assertSound(await examine())
    for (const wrongDue of [null, dueMs + 1]) {
      await setDue(wrongDue)
      const expected = {
        check: 'Schedules',
        level: 'wrong',
        what: /^The next due time of 1 group is too late/,
      } as const
      assert.deepEqual(assertOnly(await examine(), expected).examples, ['Shop'])
      assert.equal(await readDue(), wrongDue)
      const revision = await readRevision(group.store)
      assertOnly(await examine({ repairAs }), { ...expected, level: 'attention', what: /was too late, and corrected/ })
      assert.equal(await readDue(), dueMs)
      assert.equal(await readRevision(group.store), revision + 1)
      assertSound(await examine())
    }
  })

  it('accepts one that is too early, as after a deletion by an older server', async () => {
    const { examine, setDue } = await withArchiveDate()
    await setDue(dueMs - 1)
    assertSound(await examine())
  })
})
