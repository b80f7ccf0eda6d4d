import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { it, type TestContext } from 'node:test'
import { onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { smallPicture, temporaryFolder } from '../helpers/pictures.ts'
import { programEnv, runCli } from '../helpers/process.ts'
import { terminal } from '../helpers/terminal.ts'

/** A terminal in a folder with a picture and two texts, and a group for them. */
async function withFiles(t: TestContext, engine: TestEngine) {
  const created = await terminal(engine)
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'bun.png'), await smallPicture('png'))
  await writeFile(join(folder, 'menu.txt'), 'Bread')
  await writeFile(join(folder, 'prices.txt'), 'Two euros')
  await writeFile(join(folder, 'empty.txt'), '')
  await mkdir(join(folder, 'sub'))
  const { group } = await created.newGroup({ name: 'Bakery' })
  const names = async (): Promise<string[]> =>
    (await created.json('media', 'list', 'Bakery')).items.map(({ name }: { name: string }) => name).toSorted()
  return { ...created, folder, group, names, at: (name: string) => join(folder, name) }
}

onBothEnginesInProve('sluice media', (engine) => {
  it('add uploads several files by the group’s name, and shows how content references them', async (t) => {
    const { run, json, at, names, group } = await withFiles(t, engine)
    const printed = await run('media', 'add', 'Bakery', at('bun.png'), at('menu.txt'))
    for (const expected of [/bun\.png/, /menu\.txt/, /KEY +[0-9a-f]{24}\/2026\/03\//, /image\/png/])
      assert.match(printed, expected)
    assert.doesNotMatch(printed, /shown only once/)
    const { items, totalCount } = await json('media', 'add', group.id, at('prices.txt'))
    assert.deepEqual([items[0].name, totalCount], ['prices.txt', 1])
    assert.deepEqual(await names(), ['bun.png', 'menu.txt', 'prices.txt'])
    const named = await json('media', 'add', 'Bakery', at('prices.txt'), '--name', 'Price list')
    assert.equal(named.items[0].name, 'Price list')
  })

  it('list shows a table, and replace, rename, show, usage and delete work on one file', async (t) => {
    const { run, json, at, service, clock } = await withFiles(t, engine)
    const { items } = await json('media', 'add', 'Bakery', at('menu.txt'))
    const [{ _id, key, currentFile }] = items
    assert.match(
      await run('media', 'list', 'Bakery', '--search', 'MENU'),
      /^ID +NAME +TYPE +BYTES .*KEY\n[0-9a-f]{24} +menu\.txt +file +5 /,
    )
    const replaced = await json('media', 'replace', 'Bakery', _id, at('prices.txt'))
    assert.deepEqual([replaced.key, replaced.name, replaced.bytes, replaced.version], [key, 'menu.txt', 9, 2])
    assert.notEqual(replaced.currentFile.source, currentFile.source)
    assert.equal((await json('media', 'rename', 'Bakery', _id, 'Prices')).name, 'Prices')
    assert.equal((await json('media', 'show', 'Bakery', _id)).name, 'Prices')
    assert.equal(await run('media', 'usage', 'Bakery', _id), 'Nothing yet.')
    assert.equal(await run('media', 'delete', 'Bakery', _id), 'Done.')
    assert.deepEqual((await json('media', 'list', 'Bakery')).items, [])
    clock.now += 3 * 86_400_000
    await service.worker.runDue()
    assert.deepEqual(await json('media', 'sweep', 'Bakery', '--dry-run'), { dryRun: true, items: 0, strays: 0, uploads: 0, bytes: 0, removed: [] }) // biome-ignore format: short
  })

  it('add names the file that failed, and how many were stored before it', async (t) => {
    const { run, at, names, config } = await withFiles(t, engine)
    const adds = (...files: string[]) => run('media', 'add', 'Bakery', ...files)
    await assert.rejects(adds(at('bun.png'), at('menu.txt'), at('empty.txt'), at('prices.txt')), {
      message: `${at('empty.txt')}: The file is empty. The 2 before it were stored. The one after it was not tried.`,
    })
    assert.deepEqual(await names(), ['bun.png', 'menu.txt'])
    await assert.rejects(adds(at('bun.png'), at('empty.txt')), /is empty\. The one before it was stored\.$/)
    await assert.rejects(adds(at('empty.txt')), { message: `${at('empty.txt')}: The file is empty.` })
    await assert.rejects(adds(at('menu.txt'), at('bun.png'), '--name', 'one'), /--name is for one file/)
    const env = { DATA_DIR: config.dataDir, DATABASE_URL: config.databaseUrl ?? '' }
    const { code, output } = await runCli(['media', 'add', 'Bakery', at('bun.png'), at('empty.txt')], env)
    assert.equal(code, 1)
    assert.match(output, /[0-9a-f]{24}-bun\.png/, 'the stored file’s key is printed')
    assert.doesNotMatch(output, /signature=/)
    await assert.rejects(adds(at('prices.txt'), at('missing.txt')), /missing\.txt cannot be read: ENOENT/)
    await assert.rejects(adds(at('prices.txt'), at('sub')), /sub is not a file/)
    await assert.rejects(adds(), /Usage: sluice media add <group> <file> …/)
    await assert.rejects(
      run('media', 'replace', 'Bakery', 'x', at('bun.png'), at('menu.txt')),
      /Usage: sluice media replace/,
    )
    await assert.rejects(run('media', 'add', 'Nowhere', at('bun.png')), /group/)
    assert.deepEqual(await names(), ['bun.png', 'menu.txt'], 'unreadable files are reported before anything is stored')
    assert.deepEqual(await readdir(join(config.dataDir, 'inbox')), [])
  })

  it('shows progress on standard error, so the result can be redirected; none with --json', async (t) => {
    const { at, config, run } = await withFiles(t, engine)
    await run('media', 'add', 'Bakery', at('menu.txt'))
    async function inProcess(...args: string[]) {
      const main = join(import.meta.dirname, '../../src/main.ts')
      const env = { ...programEnv, DATA_DIR: config.dataDir, DATABASE_URL: config.databaseUrl ?? '', LOG_LEVEL: 'silent' } // biome-ignore format: short
      const child = spawn(process.execPath, [main, 'media', 'add', 'Bakery', ...args], { env })
      const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      return { out, err, code }
    }
    const shown = await inProcess(at('bun.png'), at('prices.txt'))
    assert.equal(shown.err, 'Uploading bun.png …\nUploading prices.txt …\n')
    assert.deepEqual([shown.code, shown.out.includes('Uploading')], [0, false])
    const quiet = await inProcess(at('bun.png'), '--json')
    assert.deepEqual([quiet.err, JSON.parse(quiet.out).items[0].name], ['', 'bun.png'])
    const failed = await inProcess(at('empty.txt'))
    assert.deepEqual([failed.code, failed.out], [1, ''])
    assert.ok(failed.err.includes(`${at('empty.txt')}: The file is empty.`), failed.err)
    assert.equal((await readFile(at('bun.png'))).length > 0, true)
  })
})
