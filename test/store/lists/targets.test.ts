import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createContentCache } from '../../../src/store/lists/content-cache.ts'
import { findContainerToList } from '../../../src/store/lists/list-visible.ts'
import { readAtOneRevision } from '../../../src/store/lists/reading.ts'
import { findExpansion, readTargets } from '../../../src/store/lists/targets.ts'
import { harness, onBothEngines, testStartMs } from '../../helpers/harness.ts'
import { measureRows } from '../../helpers/measure-rows.ts'

const collections = 20
/** About 100,000 characters. */
const large = { type: 'enum', values: Array.from({ length: 500 }, (_, n) => `${n}`.padEnd(200, '-')) }
const references = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`link${n}`, { type: 'reference' }]))

onBothEngines('the targets of references', (engine) => {
  it('have their schemas read in parts, and once for all paths and all queries of a revision', async () => {
    const group = await (await harness(engine)).newGroup()
    const ids: string[] = []
    for (let n = 0; n < collections; n++) {
      const collection = await group.collection(`c${n}`, { large, ...references })
      ids.push(...(await group.add(collection, { value: {} })).map(({ id }) => id))
    }
    const listed = await group.collection('listed', references)
    const cache = createContentCache()
    async function partsOf(expand: string): Promise<number[]> {
      const parts: number[] = []
      const store = measureRows(group.store, 'schema', (characters) => parts.push(characters))
      await readAtOneRevision(store, cache, testStartMs, async (reading) => {
        const found = await findContainerToList(reading, { kind: 'collection', id: listed.id })
        assert.ok(found)
        if (expand !== '') await findExpansion(reading, found, expand)
        else assert.equal((await readTargets(reading, ids, 1_000_000)).targets.length, collections)
      })
      return parts.filter((characters) => characters > 10_000)
    }
    const paths = Array.from({ length: 20 }, (_, n) => `link${n % 10}.link${n > 9 ? 1 : 0}.link2`).join(',')
    const assertInParts = (parts: number[]): void => {
      assert.ok(parts.length > 1 && parts.length < collections, `${parts}`)
      assert.ok(Math.max(...parts) < 700_000, `${parts}`)
    }
    assertInParts(await partsOf(paths))
    assert.deepEqual(await partsOf('link3.link4'), [])
    assertInParts(await partsOf(''))
  })
})
