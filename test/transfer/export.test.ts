import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { changeObjects } from '../../src/store/content/change-objects.ts'
import { findContainerById } from '../../src/store/content/containers.ts'
import { findObjects } from '../../src/store/content/objects.ts'
import { exportGroup } from '../../src/transfer/export/export-group.ts'
import type { ObjectLine } from '../../src/transfer/export-format.ts'
import { write } from '../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { programEnv } from '../helpers/process.ts'
import { exportOf, newPath, readExport } from './exports.ts'

const main = join(import.meta.dirname, '../../src/main.ts')

async function counted(engine: TestEngine, count: number) {
  const created = await harness(engine)
  const group = await created.newGroup({ name: 'Shop' })
  const posts = await group.collection('Posts', { n: { type: 'integer' } })
  const objects = await group.add(posts, ...Array.from({ length: count }, () => ({ value: { n: 0 } })))
  return { ...created, harness: created, group, posts, objects }
}

onBothEngines('a snapshot', (engine) => {
  it('keeps one state of the database to its end, while others write and read', async () => {
    const { group, posts } = await counted(engine, 1)
    const { database } = group.store
    const count = async (read: typeof database.read): Promise<number> =>
      (await read.selectFrom('objects').select('id').execute()).length
    await database.snapshot(async (read) => {
      assert.equal(await count(read), 1)
      await group.add(posts, { value: { n: 1 } })
      assert.equal(await count(database.read), 2)
      assert.equal(await count(read), 1)
    })
    assert.equal(await database.snapshot(count), 2)
  })

  it('refuses to write', async () => {
    const { database } = (await counted(engine, 1)).group.store
    const emptying = database.snapshot((read) => read.deleteFrom('objects').execute())
    await assert.rejects(emptying, /readonly|read-only/)
  })
})

onBothEngines('an export', (engine) => {
  it('has one state of all objects during concurrent changes of all of them', async (context) => {
    const { group, posts, objects, service, clock } = await counted(engine, 1200)
    const ids = objects.map(({ id }) => id)
    let isDone = false
    let round = 0
    /** Sets the same number on all in one transaction: two different ones in an export mean two states. */
    const keepWriting = async (): Promise<void> => {
      while (!isDone) {
        round += 1
        await write(group.store, clock.now, async (writer) => {
          const current = await findContainerById(writer.group, posts.id)
          assert.ok(current)
          const found = await findObjects(writer.group, [ids[0] ?? '', ids[599] ?? '', ids[1199] ?? ''])
          const planned = found.map(({ object }) => ({ before: object, wanted: { value: { n: round } } }))
          await changeObjects(writer, current, planned, 'updated')
        })
      }
    }
    const writing = keepWriting()
    const seen = new Set<number>()
    for (let exports = 0; exports < 3; exports += 1) {
      const folder = newPath()
      const deps = { store: service.store, storage: service.media.storage, nowMs: clock.now, onProgress: () => {} }
      await exportGroup(deps, group.group, folder)
      const numbers = readExport(folder)
        .filter((line): line is ObjectLine => line.type === 'object')
        .filter(({ id }) => [ids[0], ids[599], ids[1199]].includes(id))
        .map(({ objectValue, version }) => `${objectValue.n} ${version}`)
      assert.equal(numbers.length, 3)
      assert.equal(new Set(numbers).size, 1, `one state, not ${numbers}`)
      seen.add(Number(numbers[0]?.split(' ')[0]))
    }
    isDone = true
    await writing
    context.diagnostic(`${engine}: ${round} changes during three exports, which saw ${[...seen]}`)
  })
})

describe('the folder of an export', () => {
  it('must be new, empty or an earlier export of the same group', async () => {
    const { harness: source, group } = await counted('sqlite', 1)
    const { id } = group.group
    const folder = newPath()
    await mkdir(folder)
    await exportOf(source, id, folder)
    await exportOf(source, id, folder)
    assert.deepEqual(await readdir(folder), ['group.ndjson'])
    assert.equal((await stat(folder)).mode & 0o777, 0o700)
    assert.equal((await stat(join(folder, 'group.ndjson'))).mode & 0o777, 0o600)

    const other = await source.newGroup({ name: 'Other' })
    await assert.rejects(
      exportOf(source, other.group.id, folder),
      /is not empty, and not an earlier export of this group/,
    )
    await writeFile(join(folder, 'notes.txt'), 'mine')
    await assert.rejects(exportOf(source, id, folder), /is not empty/)
    const mine = newPath()
    await mkdir(mine)
    await writeFile(join(mine, 'group.ndjson'), 'my notes')
    await assert.rejects(exportOf(source, id, mine), /is not empty/)
    await assert.rejects(exportOf(source, id, join(mine, 'group.ndjson')), /cannot be written/)
  })

  it('does not exist after the export was killed or failed, and an earlier one remains', async () => {
    const { harness: source, group, service, clock, config } = await counted('sqlite', 1)
    const folder = newPath()
    const deps = { store: service.store, storage: service.media.storage, nowMs: clock.now }
    const fail = () => {
      throw new Error('stopped')
    }
    await assert.rejects(exportGroup({ ...deps, onProgress: fail }, group.group, folder), /stopped/)
    const besides = async () => (await readdir(dirname(folder))).filter((name) => name.includes(basename(folder)))
    assert.deepEqual(await besides(), [])
    await exportOf(source, group.group.id, folder)
    const earlier = readExport(folder)
    await assert.rejects(exportGroup({ ...deps, onProgress: fail }, group.group, folder), /stopped/)
    assert.deepEqual(readExport(folder), earlier)

    const killed = newPath()
    // It reports progress while it writes objects: there it kills itself, since a kill from outside might come too late.
    const kill = "process.stderr.write = () => process.kill(process.pid, 'SIGKILL')"
    const child = spawn(
      process.execPath,
      [`--import=data:text/javascript,${encodeURIComponent(kill)}`, main, 'export', 'group', 'Shop', killed],
      { env: { ...programEnv, DATA_DIR: config.dataDir, LOG_LEVEL: 'silent' }, stdio: 'ignore' },
    )
    assert.deepEqual(await once(child, 'close'), [null, 'SIGKILL'])
    assert.equal(existsSync(killed), false)
    const drafts = (await readdir(dirname(killed))).filter((name) => name.includes(basename(killed)))
    assert.equal(drafts.length, 1, 'it was killed while it was writing')
  })
})
