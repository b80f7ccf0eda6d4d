import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { verbs } from '../../src/manage/index.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { terminal } from '../helpers/terminal.ts'

onBothEngines('the command line', (engine) => {
  it('explains itself: an overview, help for each command, and a suggestion for a mistyped one', async () => {
    const { run } = await terminal(engine)
    const overview = await run('--help')
    for (const name of ['serve', 'migrate', 'seed', ...verbs.map((verb) => verb.name)]) {
      const [family = '', action = ''] = name.split(' ')
      assert.match(overview, new RegExp(`^  sluice ${family} .*\\b${action}\\b`, 'm'), name)
      assert.match(await run(...name.split(' '), '--help'), new RegExp(`^sluice ${name}`))
    }
    await assert.rejects(run('key', 'crate'), /Did you mean:\n {2}sluice key create <group>/)
    await assert.rejects(run('nonsense'), /sluice --help/)
    assert.match(await run('key', '--help'), /sluice key create[\s\S]+sluice key revoke/)
    assert.match(
      await run('object', 'draft', '--help'),
      /^ {2}sluice object draft save .*[\s\S]+sluice object draft list/,
    )
    assert.match(await run('object', 'draft', 'schedule', '--help'), /<publishAt>: .*null: cancels it/)
    const help = await run('collection', 'create', '--help')
    assert.match(help, /--accepts createReview\|subscribeUser/)
    assert.match(help, /--schema[\s\S]+Types: text, longText, [\s\S]+list and variant[\s\S]+private[\s\S]+maxLength/)
    assert.match(await run('site', 'create', '--help'), /--settings[\s\S]+businessInfo/)
    assert.match(await run('--version'), /^\d+\.\d+\.\d+$/)
    await assert.rejects(run('key', 'create'), /Usage: sluice key create <group>/)
    await assert.rejects(run('group', 'list', '--nope'), /--nope/)
  })

  it('creates a group and a key that the API accepts, shows the key once, and revokes it', async () => {
    const { run, json, app, clock } = await terminal(engine)
    const group = await json('group', 'create', 'Corner Bakery', '--tier', 'pro', '--database', 'bakery')
    assert.equal(group.tier, 'pro')
    const { key, _id } = await json('key', 'create', 'Corner Bakery', '--label', 'website')
    const ask = async () =>
      (await app.inject({ url: '/tenant/integrationObjects?type=stripe', headers: { authorization: key } })).statusCode
    assert.equal(await ask(), 200)
    const listed = await run('key', 'list', group._id)
    assert.match(listed, /website/)
    assert.ok(!listed.includes(key))
    assert.ok(!JSON.stringify(await json('key', 'list', group._id)).includes(key))
    await run('key', 'revoke', group._id, _id)
    clock.now += 1000
    assert.equal(await ask(), 401)
    const { items } = await json('key', 'list', group._id)
    assert.equal(items[0].revokedAt, '2026-03-01T12:00:00.000Z')
  })

  it('creates the first administrator and a token that the management API accepts, and shows the token once', async () => {
    const { run, json, app } = await terminal(engine)
    const user = await json('user', 'create', 'Ada', '--administrator')
    const made = await run('token', 'create', user._id, '--life', '24h')
    const [token = ''] = made.split('\n')
    assert.match(made, /This token is shown only once/)
    const answer = await app.inject({ url: '/manage/whoami', headers: { authorization: `Bearer ${token}` } })
    assert.deepEqual(answer.json().data, { userId: user._id, name: 'Ada', administrator: true })
    const { items } = await json('token', 'list', user._id)
    assert.equal(items[0].expiresAt, '2026-03-02T12:00:00.000Z')
    assert.ok(!JSON.stringify(items).includes(token))
  })

  it('records what is done at the terminal, and by which user', async () => {
    const { run, json } = await terminal(engine)
    await run('group', 'create', 'Shop')
    await run('group', 'rename', 'Shop', 'Store')
    const { items } = await json('audit', 'list', 'Store')
    assert.deepEqual(
      items.map((entry: Record<string, string>) => [entry.what, entry.actor, entry.from]),
      ['group.rename', 'group.create'].map((what) => [what, `${userInfo().username} (terminal)`, 'terminal']),
    )
  })

  it('revokes a leaked key given in full, and never repeats a key in a message', async () => {
    const { run, json, newGroup } = await terminal(engine)
    const group = await newGroup({ name: 'Shop' })
    const stranger = await newGroup({ name: 'Stranger' })
    await assert.rejects(
      run('key', 'revoke', 'Stranger', group.key),
      (error: Error) => !error.message.includes(group.key),
    )
    assert.ok(!(await run('key', 'revoke', 'Shop', group.key)).includes(group.key))
    const [key] = (await json('key', 'list', 'Shop')).items
    assert.notEqual(key.revokedAt, null)
    const [untouched] = (await json('key', 'list', stranger.group.id)).items
    assert.equal(untouched.revokedAt, null)
  })

  it('freezes and unfreezes a group by name or id', async () => {
    const { run, json } = await terminal(engine)
    const { _id } = await json('group', 'create', 'Shop')
    const frozen = async () => (await json('group', 'list')).items.map((group: { frozen: boolean }) => group.frozen)
    await run('group', 'freeze', 'Shop')
    assert.deepEqual(await frozen(), [true])
    await run('group', 'unfreeze', _id)
    assert.deepEqual(await frozen(), [false])
  })

  it('accepts a collection by name, JSON inline or from a file, and a flag or its opposite', async () => {
    const { run, json, config } = await terminal(engine)
    await run('group', 'create', 'Shop')
    const schemaFile = join(config.dataDir, 'schema.json')
    await writeFile(schemaFile, '{"title": {"type": "text"}}')
    await run('collection', 'create', 'Shop', 'Posts', '--schema', `@${schemaFile}`, '--moderation')
    const { _id } = await json('object', 'create', 'Shop', 'Posts', '--object-value', '{"title": "One"}', '--draft')
    assert.equal((await json('object', 'show', 'Shop', _id)).status, 'draft')
    const listed = await run('object', 'list', 'Shop', 'Posts', '--filters', 'title=One', '--status', 'draft')
    assert.match(listed, new RegExp(_id))
    assert.equal(await run('object', 'list', 'Shop', 'Posts', '--filters', 'title=Two'), 'Nothing yet.')
    const updated = await json('collection', 'update', 'Shop', 'Posts', '--version', '1', '--no-moderation')
    assert.equal(updated.moderation, false)
  })

  it('shares a draft by a preview token, and revokes it', async () => {
    const { json, run, newGroup } = await terminal(engine)
    const group = await newGroup({ name: 'Shop' })
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    const [draft] = await group.add(posts, { value: { title: 'Draft' }, archived: true })
    const { token, _id } = await json('preview', 'create', 'Shop', draft?.id ?? '', '--life', '1h', '--max-uses', '5')
    assert.equal((await group.get(`/tenant/preview?token=${token}`)).json().data.objectValue.title, 'Draft')
    await run('preview', 'revoke', 'Shop', _id)
    assert.equal((await group.get(`/tenant/preview?token=${token}`)).statusCode, 404)
  })

  const mistakes: [argv: string[], message: RegExp][] = [
    [['group', 'create', ''], /name must not be empty/],
    [['group', 'create', ' '], /needs a name/],
    [['group', 'create', 'X', '--tier', 'gold'], /tier must be one of free, basic, pro, proplus/],
    [['group', 'create', 'X', '--database', '../x'], /database must be/],
    [['group', 'create', 'X', '--database', 'control'], /database must be/],
    [['group', 'create', 'X', '--bucket-name', 'No Bucket'], /bucketName must be/],
    [['group', 'freeze', 'unknown'], /There is no group "unknown"/],
    [['group', 'delete', 'Shop'], /--confirm must be given/],
    [['group', 'set-versions', 'Shop', 'many'], /whole number/],
    [['key', 'create', 'unknown'], /There is no group "unknown"/],
    [['key', 'revoke', 'Shop', 'nothing'], /The group has no such key/],
    [['object', 'list', 'Shop', 'nothing'], /There is no such collection/],
    [['object', 'list', 'Shop', 'nothing', '--filters', 'title'], /field=value/],
    [['collection', 'create', 'Shop', 'Posts', '--schema', '{bad'], /--schema is not JSON/],
    [['preview', 'create', 'Shop', 'nothing'], /There is no such object in this group/],
    [['preview', 'create', 'Shop', 'x', '--life', 'ever'], /such as 30m, 24h or 7d/],
    [['preview', 'create', 'Shop', 'x', '--max-uses', 'many'], /whole number/],
    [['preview', 'revoke', 'Shop', 'nothing'], /There is no such preview link in this group/],
  ]
  it('answers a mistake with a sentence of advice', async () => {
    const { run } = await terminal(engine)
    await run('group', 'create', 'Shop')
    for (const [argv, message] of mistakes) await assert.rejects(run(...argv), message, argv.join(' '))
  })

  it('prefers a group’s id to another group’s identical name', async () => {
    const { run, json } = await terminal(engine)
    const { _id } = await json('group', 'create', 'Shop')
    await run('group', 'create', _id)
    assert.equal((await json('group', 'freeze', _id)).name, 'Shop')
  })

  it('requires the id when several groups have the same name', async () => {
    const { run } = await terminal(engine)
    await run('group', 'create', 'Twin')
    await run('group', 'create', 'Twin')
    await assert.rejects(
      run('group', 'freeze', 'Twin'),
      /Several groups are called "Twin"; use the id: [0-9a-f]{24}, [0-9a-f]{24}/,
    )
  })
})
