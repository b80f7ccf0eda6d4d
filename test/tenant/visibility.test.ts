import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { NewObject } from '../../src/store/content/objects.ts'
import { createPreviewToken } from '../helpers/authoring.ts'
import { harness, onBothEngines, testStartMs } from '../helpers/harness.ts'

/** The table of spec §3, with its boundaries. */
const table: [state: string, publication: Pick<NewObject, 'publishMs' | 'archived'>, visible: boolean][] = [
  ['publishDate in the future, archived missing', { publishMs: testStartMs + 1 }, false],
  ['publishDate in the future, archived false', { publishMs: testStartMs + 86_400_000, archived: false }, false],
  ['publishDate in the future, archived true', { publishMs: testStartMs + 1, archived: true }, false],
  ['publishDate in the past, archived true', { publishMs: testStartMs - 1, archived: true }, false],
  ['publishDate unset, archived true', { archived: true }, false],
  ['publishDate exactly now, archived true', { publishMs: testStartMs, archived: true }, false],
  ['publishDate in the past, archived missing', { publishMs: testStartMs - 1 }, true],
  ['publishDate in the past, archived false', { publishMs: testStartMs - 1, archived: false }, true],
  ['publishDate unset, archived missing', {}, true],
  ['publishDate unset, archived false', { archived: false }, true],
  ['publishDate exactly now', { publishMs: testStartMs }, true],
  ['publishDate in 1970', { publishMs: 0 }, true],
]

const listings = [
  { kind: 'collection', path: (id: string) => `/tenant/collectionObjects?collectionId=${id}` },
  { kind: 'integration', path: () => '/tenant/integrationObjects?type=stripe' },
] as const

onBothEngines('visibility', (engine) => {
  for (const { kind, path } of listings) {
    it(`follows the table of spec §3 in the listing of a ${kind}, filtered, sorted and searched`, async () => {
      const { newGroup } = await harness(engine)
      const group = await newGroup()
      const container = await group[kind]('stripe', { name: { type: 'text' }, kind: { type: 'text' } })
      const objects = table.map(([name, publication], position) => ({
        value: { name, kind: 'same' },
        externalId: `prod_${position}`,
        accountHandle: 'a',
        ...publication,
      }))
      await group.add(container, ...objects)
      const expected = table.filter(([, , visible]) => visible).map(([name]) => name)
      for (const more of [
        '',
        '&sort=name:desc',
        '&filters[kind]=same',
        '&search=publishdate',
        '&sort=publishDate:asc',
        '&filters[kind]=same&sort=name:asc',
      ]) {
        const { data } = (await group.get(path(container.id) + more)).json()
        const names = data.items.map((item: { objectValue: { name: string } }) => item.objectValue.name)
        assert.deepEqual(names.toSorted(), expected.toSorted(), more)
        assert.equal(data.totalCount, expected.length)
      }
    })

    it(`makes an item of a ${kind} visible at its publish date, by time alone`, async () => {
      const { newGroup, clock } = await harness(engine)
      const group = await newGroup()
      const container = await group[kind]('stripe', { name: { type: 'text' } })
      await group.add(container, {
        value: { name: 'Tomorrow' },
        publishMs: testStartMs + 5000,
        externalId: 'p',
        accountHandle: 'a',
      })
      const total = async () => (await group.get(path(container.id))).json().data.totalCount
      clock.now = testStartMs + 4999
      assert.equal(await total(), 0)
      clock.now = testStartMs + 5000
      assert.equal(await total(), 1)
    })
  }

  it('does not apply to a preview', async () => {
    const { newGroup, clock } = await harness(engine)
    const group = await newGroup()
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    for (const [title, publication] of table) {
      const [object] = await group.add(posts, { value: { title }, ...publication })
      const { token } = await createPreviewToken(group.store, { objectId: object?.id ?? '' }, clock.now)
      const answer = await group.get(`/tenant/preview?token=${token}`)
      assert.equal(answer.statusCode, 200)
      assert.equal(answer.json().data.objectValue.title, title)
    }
  })
})
