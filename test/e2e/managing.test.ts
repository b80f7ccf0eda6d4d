import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { runHere } from '../helpers/command-here.ts'
import { createEmptyDatabase, onBothEnginesInProve } from '../helpers/harness.ts'
import { startServer } from '../helpers/process.ts'

const guide = readFileSync(join(import.meta.dirname, '../../docs/managing.md'), 'utf8')

/** A code block of the guide, verbatim. */
function scriptOfGuide(part: string): string {
  const blocks = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block)
  const script = blocks.find((block) => block.includes(part))
  assert.ok(script)
  return script
}

async function runScript(script: string, env: Record<string, string>): Promise<string> {
  const child = spawn('sh', ['-eu', '-c', script], { env: { PATH: process.env.PATH ?? '', ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const [code] = await once(child, 'close')
  assert.equal(code, 0, output)
  return output
}

onBothEnginesInProve('the guide to managing content', (engine) => {
  it('builds a tenant from scratch with curl and an admin token only, and the delivery API serves it', async () => {
    const testDatabase = await createEmptyDatabase(engine)
    after(() => testDatabase.remove())
    const cli = async (...args: string[]) => JSON.parse(await runHere([...args, '--json'], testDatabase.env))
    await cli('user', 'create', 'Ada', '--administrator', '--email', 'ada@example.com')
    const { token } = await cli('token', 'create', 'ada@example.com')
    const server = await startServer(testDatabase.env)
    after(() => server.stop())

    const script = ['manage POST /groups ', 'INVITATION=', '/integrationTypes'].map(scriptOfGuide).join('\n')
    const output = await runScript(script, { TOKEN: token, BASE_URL: server.baseUrl })
    const answers = output
      .split(/(?<=\})\s*(?=\{"success")/)
      .map((text) => JSON.parse(text))
      .slice(-6)
    assert.ok(answers.every(({ success }) => success))
    const [site, list, preview, joined, , posts] = answers.map(({ data }) => data)
    const [{ id, type, accountHandle, objectValue }] = posts.items
    assert.deepEqual([id, type, accountHandle, objectValue.caption], ['post-1', 'instagram', 'bakery', 'Rye is back'])
    assert.equal(site.name, 'Harbour Bakery')
    assert.equal(site.tier, 'pro')
    assert.equal(site.primary, '#7c3aed')
    assert.equal(list.totalCount, 2)
    assert.deepEqual(
      list.items.map((item: { objectValue: { title: string } }) => item.objectValue.title),
      ['We are open', 'Rye is back'],
    )
    assert.equal(list.items[0].objectValue.cover, null)
    const picture = await fetch(list.items[1].objectValue.cover.currentFile.source)
    assert.equal(picture.headers.get('content-type'), 'image/svg+xml')
    assert.match(await picture.text(), /^<svg .*<\/svg>$/)
    assert.equal(site.pages[0].collections[0].collectionId, list.items[0].collectionObj.refID)
    assert.equal(preview.objectValue.title, 'Summer hours')
    assert.equal(preview.publishDate, '2099-06-01T04:00:00.000Z')
    assert.equal(joined.role, 'editor')
    assert.match(joined.token, /^slc_admin_/)
    assert.ok(!server.output().includes(token), 'the token is in no log')
  })
})
