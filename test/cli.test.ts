import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { CommandContext } from '../src/cli/command.ts'
import { runCommand } from '../src/cli/index.ts'
import { harness, onBothEngines, type TestEngine } from './helpers/harness.ts'

/** Commands against the harness's own store, with what they print. */
async function terminal(engine: TestEngine) {
  const created = await harness(engine)
  const { service, config, clock } = created
  const run = async (...argv: string[]): Promise<string> => {
    const printed: string[] = []
    const context: CommandContext = {
      config,
      clock: () => clock.now,
      logger: service.logger,
      store: async () => service.store,
      print: (text) => void printed.push(text),
    }
    await runCommand(argv, context)
    return printed.join('\n')
  }
  const json = async (...argv: string[]) => JSON.parse(await run(...argv, '--json'))
  return { ...created, run, json }
}

onBothEngines('the command line', (engine) => {
  it('explains itself: an overview, help for each command, and a hint for a mistyped one', async () => {
    const { run } = await terminal(engine)
    const overview = await run('--help')
    for (const name of [
      'serve',
      'migrate',
      'seed',
      'group create',
      'group list',
      'group freeze',
      'group unfreeze',
      'key create',
      'key list',
      'key revoke',
      'preview create',
      'preview revoke',
    ]) {
      assert.ok(overview.includes(`sluice ${name}`), name)
      assert.match(await run(...name.split(' '), '--help'), new RegExp(`^sluice ${name}`))
    }
    await assert.rejects(run('key', 'crate'), /Did you mean:\n {2}sluice key create <group>/)
    await assert.rejects(run('nonsense'), /sluice --help/)
    assert.match(await run('key', '--help'), /sluice key create[\s\S]+sluice key revoke/)
    assert.match(await run('--version'), /^\d+\.\d+\.\d+$/)
    await assert.rejects(run('key', 'create'), /Usage: sluice key create <group>/)
    await assert.rejects(run('group', 'list', '--nope'), /--nope/)
  })

  it('makes a group and a key that the API accepts, shows the key once, and revokes it', async () => {
    const { run, json, app, clock } = await terminal(engine)
    const group = await json('group', 'create', 'Corner Bakery', '--tier', 'pro', '--database', 'bakery')
    assert.equal(group.tier, 'pro')
    const { key, id } = await json('key', 'create', 'Corner Bakery', '--label', 'website')
    const ask = async () =>
      (await app.inject({ url: '/tenant/integrationObjects?type=stripe', headers: { authorization: key } })).statusCode
    assert.equal(await ask(), 200)
    const listed = await run('key', 'list', group.id)
    assert.match(listed, /website/)
    assert.ok(!listed.includes(key))
    assert.ok(!JSON.stringify(await json('key', 'list', group.id)).includes(key))
    await run('key', 'revoke', group.id, id)
    clock.now += 1000
    assert.equal(await ask(), 401)
    assert.match(await run('key', 'list', group.id), /revoked 2026-03-01/)
  })

  it('revokes a leaked key by the key itself, and never repeats a key in a message', async () => {
    const { run, json, newGroup } = await terminal(engine)
    const group = await newGroup({ name: 'Shop' })
    const stranger = await newGroup({ name: 'Stranger' })
    await assert.rejects(
      run('key', 'revoke', 'Stranger', group.key),
      (error: Error) => !error.message.includes(group.key),
    )
    assert.ok(!(await run('key', 'revoke', 'Shop', group.key)).includes(group.key))
    const [key] = await json('key', 'list', 'Shop')
    assert.notEqual(key.revokedMs, null)
    const [untouched] = await json('key', 'list', stranger.group.id)
    assert.equal(untouched.revokedMs, null)
  })

  it('freezes and unfreezes a group by name or id', async () => {
    const { run, json } = await terminal(engine)
    const { id } = await json('group', 'create', 'Shop')
    await run('group', 'freeze', 'Shop')
    assert.match(await run('group', 'list'), /frozen/)
    await run('group', 'unfreeze', id)
    assert.match(await run('group', 'list'), /active/)
  })

  it('shares a draft by a preview token, and revokes it', async () => {
    const { json, run, newGroup } = await terminal(engine)
    const group = await newGroup({ name: 'Shop' })
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    const [draft] = await group.add(posts, { value: { title: 'Draft' }, archived: true })
    const { token, id } = await json('preview', 'create', 'Shop', draft?.id ?? '', '--for', '1h', '--max-uses', '5')
    assert.equal((await group.get(`/tenant/preview?token=${token}`)).json().data.objectValue.title, 'Draft')
    await run('preview', 'revoke', 'Shop', id)
    assert.equal((await group.get(`/tenant/preview?token=${token}`)).statusCode, 404)
  })

  const mistakes: [argv: string[], message: RegExp][] = [
    [['group', 'create', ''], /needs a name/],
    [['group', 'create', 'X', '--tier', 'gold'], /tier must be one of free, basic, pro, proplus/],
    [['group', 'create', 'X', '--database', '../x'], /database must be/],
    [['group', 'create', 'X', '--database', 'control'], /database must be/],
    [['group', 'create', 'X', '--bucket', 'No Bucket'], /bucketName must be/],
    [['group', 'freeze', 'nobody'], /There is no group "nobody"/],
    [['key', 'create', 'nobody'], /There is no group "nobody"/],
    [['key', 'revoke', 'Shop', 'nothing'], /The group has no such key/],
    [['preview', 'create', 'Shop', 'nothing'], /There is no object "nothing"/],
    [['preview', 'create', 'Shop', 'x', '--for', 'ever'], /such as 30m, 24h or 7d/],
    [['preview', 'create', 'Shop', 'x', '--max-uses', 'many'], /whole number/],
    [['preview', 'revoke', 'Shop', 'nothing'], /There is no preview link "nothing"/],
  ]
  it('answers a mistake with a sentence that says what to do', async () => {
    const { run } = await terminal(engine)
    await run('group', 'create', 'Shop')
    for (const [argv, message] of mistakes) await assert.rejects(run(...argv), message, argv.join(' '))
  })

  it('takes an id for the group that has it, whatever another is called', async () => {
    const { run, json } = await terminal(engine)
    const { id } = await json('group', 'create', 'Shop')
    await run('group', 'create', id)
    assert.equal((await json('group', 'freeze', id)).name, 'Shop')
  })

  it('asks for the id when several groups have one name', async () => {
    const { run } = await terminal(engine)
    await run('group', 'create', 'Twin')
    await run('group', 'create', 'Twin')
    await assert.rejects(
      run('group', 'freeze', 'Twin'),
      /Several groups are called "Twin"; use the id: [0-9a-f]{24}, [0-9a-f]{24}/,
    )
  })
})
