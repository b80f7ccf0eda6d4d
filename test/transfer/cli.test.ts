import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { withProgress } from '../../src/cli/progress.ts'
import { runHere } from '../helpers/command-here.ts'
import { createEmptyDatabase, harness } from '../helpers/harness.ts'
import { runCli } from '../helpers/process.ts'
import { newPath, readExport, writeExport } from './exports.ts'

describe('sluice export group and import group', () => {
  it('move a group from one service to another, and print a summary and the next steps', async (context) => {
    const source = await harness('sqlite')
    const group = await source.newGroup({ name: 'Shop' })
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    await group.add(posts, { value: { title: 'One' } })
    const { id } = group.group
    await source.service.media.storage.write('media', `${id}/a.txt`, Buffer.from('a'))
    const from = { DATA_DIR: source.config.dataDir, DATABASE_URL: source.config.databaseUrl ?? '' }
    const testDatabase = await createEmptyDatabase('sqlite')
    context.after(() => testDatabase.remove())
    const folder = newPath()

    const exported = await runCli(['export', 'group', 'Shop', folder], from)
    assert.equal(exported.code, 0, exported.output)
    assert.match(
      exported.output,
      /Exported "Shop"[\s\S]+objects +1\n[\s\S]+media +1\n[\s\S]+Next: npx sluice import group/,
    )
    const imported = await runCli(['import', 'group', folder], testDatabase.env)
    assert.equal(imported.code, 0, imported.output)
    assert.match(imported.output, /Checking …\nComparing …\nCopying files …\nWriting …\n/)
    assert.match(imported.output, /Imported as the new group "Shop" \(\w{24}\)\.[\s\S]+objects +1 +0 +0\n/)
    assert.ok(imported.output.includes(`Next: npx sluice key create ${id}`))
    const again = await runHere(['import', 'group', folder, '--json'], testDatabase.env)
    assert.deepEqual(JSON.parse(again).tally.objects, { added: 0, changed: 0, equal: 1 })

    await group.add(posts, { value: { title: 'Two' } })
    const later = newPath()
    await runHere(['export', 'group', 'Shop', later], from)
    await assert.rejects(
      runHere(['import', 'group', later], testDatabase.env),
      /"Shop" \(\w{24}\), which exists here: 1 items? would be added and 0 changed/,
    )
    const looked = await runHere(['import', 'group', later, '--dry-run'], testDatabase.env)
    assert.match(looked, /objects +1 +0 +1\n[\s\S]+To change this group, add --into \w{24}/)
    const named = await runHere(['import', 'group', later, '--into', 'Shop'], testDatabase.env)
    assert.match(named, /Imported into the group "Shop"/)

    writeExport(folder, readExport(folder).slice(0, -1))
    const refused = await runCli(['import', 'group', folder, '--json'], testDatabase.env)
    assert.equal(refused.code, 1)
    const { code, error } = JSON.parse(refused.output)
    assert.equal(code, 'ValidationError')
    assert.match(
      error,
      /^The export in .+ cannot be imported\. Nothing was changed\. There is one problem:\n {2}the end: the last line is missing/,
    )
  })
})

describe('the progress of a command', () => {
  const shownOn = async (isTTY: boolean, isShown = true): Promise<string[]> => {
    const written: string[] = []
    await withProgress(
      isShown,
      async (onProgress) => {
        for (const done of [0, 1, 2]) onProgress({ stage: 'Writing', done, total: 2 })
        onProgress({ stage: 'Copying', done: 1234, total: 0 })
      },
      { isTTY, write: (text) => written.push(text) },
    )
    return written
  }

  it('is a bar on a terminal, removed at the end', async () => {
    const written = await shownOn(true)
    assert.equal(written[0], `\r\x1b[KWriting [${' '.repeat(30)}] 0 %`)
    assert.deepEqual(written.slice(1), ['\r\x1b[KCopying 1,234', '\r\x1b[K'])
  })

  it('is a line for each part in a log', async () => {
    assert.deepEqual(await shownOn(false), ['Writing …\n', 'Copying …\n'])
  })

  it('is omitted for a program', async () => {
    assert.deepEqual(await shownOn(true, false), [])
  })
})
