import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { changeObjects } from '../../src/store/content/change-objects.ts'
import { findObjects } from '../../src/store/content/objects.ts'
import { deleteGroupContent } from '../../src/store/content/purge.ts'
import { deleteGroupRow, listGroups, openContentOf } from '../../src/store/control/groups.ts'
import type { MediaItem } from '../../src/store/media/items.ts'
import { countContent } from '../../src/store/transfer/import.ts'
import { authoring, write } from '../helpers/authoring.ts'
import { createHarness, type Harness, onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { programEnv } from '../helpers/process.ts'
import { deliveryOf, exportOf, importInto } from './exports.ts'
import { replace, upload } from './library.ts'

/** `npm run prove -- transfer` runs 20 kills, and more objects. */
const kills = Number(process.env.IMPORT_KILLS ?? 2)
const fileCount = 10
const objectCount = Number(process.env.IMPORT_KILLS_OBJECTS ?? 600)
const main = join(import.meta.dirname, '../../src/main.ts')

/** Kills the real command some time after its first write; returns whether it was still running. */
async function killInTheMiddle(
  { config }: Harness,
  folder: string,
  afterMs: number,
  ...options: string[]
): Promise<boolean> {
  const env = { DATA_DIR: config.dataDir, DATABASE_URL: config.databaseUrl ?? '', LOG_LEVEL: 'silent' }
  const child = spawn(process.execPath, [main, 'import', 'group', folder, ...options], {
    env: { ...programEnv, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const closed = once(child, 'close')
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text) => (output += text))
  while (!output.includes('Writing') && child.exitCode === null) await sleep(1)
  await sleep(afterMs)
  child.kill('SIGKILL')
  await closed
  assert.ok(child.signalCode === 'SIGKILL' || child.exitCode === 0, output)
  return child.signalCode === 'SIGKILL'
}

/** Imports like the command, and measures the duration of its writes. */
async function importWhole(harness: Harness, folder: string): Promise<number> {
  let startedMs = performance.now()
  const onProgress = ({ stage, done }: { stage: string; done: number }): void => {
    if (stage === 'Writing' && done === 0) startedMs = performance.now()
  }
  await importInto(harness, folder, {}, onProgress)
  return performance.now() - startedMs
}

/** Delays from the first write to shortly after the last one, the commit. */
const moments = (writingMs: number): number[] =>
  Array.from({ length: kills }, (_, round) => Math.round(((round + 0.5) / kills) * writingMs * 1.3))

/** Everything delivered, except the times of changes. */
async function shown(harness: Harness, groupId: string): Promise<string> {
  const answers = [...(await deliveryOf(harness, groupId))].filter(([address]) => !address.includes('sort=updatedAt'))
  return JSON.stringify(answers).replace(/\\"updatedAt\\":\\"[^"]+"/g, '')
}

async function open(engine: TestEngine): Promise<Harness> {
  const created = await createHarness(engine)
  after(() => created.close())
  return created
}

async function filled(harness: Harness) {
  const group = await harness.newGroup({ name: 'Shop' })
  const posts = await group.collection('Posts', {
    title: { type: 'text' },
    n: { type: 'integer' },
    file: { type: 'file' },
  })
  const files: MediaItem[] = []
  for (let n = 0; n < fileCount; n += 1) files.push(await upload(harness, group.group.id, `${n}.txt`, `file ${n}`))
  const fileOf = (n: number) => {
    const { name = '', key = '', type = '' } = files[n % fileCount] ?? {}
    return { name, key, type }
  }
  const inputs = Array.from({ length: objectCount }, (_, n) => ({ value: { title: `Post ${n}`, n, file: fileOf(n) } }))
  const objects = await group.add(posts, ...inputs)
  return { group, posts, files, ids: objects.map(({ id }) => id) }
}

onBothEnginesInProve('kill -9 in the middle of an import', (engine) => {
  it('of a new group leaves no group or all of it, and the next run completes it', async (context) => {
    const source = await open(engine)
    const { id } = (await filled(source)).group.group
    const folder = await exportOf(source, id)
    const target = await open(engine)
    const { store } = target.service
    const content = await openContentOf(store, { id, database: 'main' })
    const writingMs = await importWhole(target, folder)
    const whole = await shown(target, id)
    const found = { killed: 0, begun: 0 }
    for (const moment of moments(writingMs)) {
      const [former] = await listGroups(store)
      await deleteGroupContent(content, target.clock.now, () => {})
      if (former) await deleteGroupRow(store, former, authoring(target.clock.now))
      if (await killInTheMiddle(target, folder, moment)) found.killed += 1
      const groups = await listGroups(store)
      if (groups.length > 0) assert.equal(await shown(target, id), whole)
      else if ((await countContent(content)).objects > 0) found.begun += 1
      await importWhole(target, folder)
      assert.equal(await shown(target, id), whole)
    }
    context.diagnostic(`${engine}: ${found.killed} of ${kills} killed, ${found.begun} of them gone on with`)
  })

  it('of an existing group leaves its old or its new state, and the next run completes it', async (context) => {
    const target = await open(engine)
    const { group, posts, files, ids } = await filled(target)
    const { id } = group.group
    const former = { folder: await exportOf(target, id), shown: await shown(target, id) }
    await write(group.store, target.clock.now, async (writer) => {
      const objects = (await findObjects(writer.group, ids)).map(({ object }) => object)
      const planned = objects.map((before) => ({ before, wanted: { value: { ...before.value, title: 'Edited' } } }))
      await changeObjects(writer, posts, planned, 'updated')
    })
    for (const media of files) await replace(target, id, media, `other ${media.name}`)
    let current = { folder: await exportOf(target, id), shown: await shown(target, id) }
    let wanted = former
    assert.notEqual(current.shown, wanted.shown)
    const writingMs = await importWhole(target, wanted.folder)
    const found = { killed: 0, unchanged: 0 }
    for (const moment of moments(writingMs)) {
      ;[current, wanted] = [wanted, current]
      if (await killInTheMiddle(target, wanted.folder, moment, '--into', id)) found.killed += 1
      const state = await shown(target, id)
      assert.ok(state === current.shown || state === wanted.shown, 'either the old or the new state')
      if (state === current.shown) found.unchanged += 1
      await importWhole(target, wanted.folder)
      assert.equal(await shown(target, id), wanted.shown)
    }
    context.diagnostic(`${engine}: ${found.killed} of ${kills} killed, ${found.unchanged} left as it was`)
  })
})
