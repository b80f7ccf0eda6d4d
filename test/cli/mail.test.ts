import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeDemo } from '../../src/cli/seed.ts'
import { findPageUrl } from '../../src/mail/mailbox-page.ts'
import { runHere } from '../helpers/command-here.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { mailServer } from '../helpers/mail-server.ts'
import { putMessage } from '../helpers/outbox.ts'
import { terminal } from '../helpers/terminal.ts'

async function opened(engine: TestEngine, env: Record<string, string> = {}) {
  const created = await terminal(engine, env)
  const group = await created.newGroup({ name: 'Shop' })
  const put = () =>
    putMessage(group.store, created.clock.now, {
      subject: 'Rye \u001b[2Jbread',
      content: { siteName: 'Shop', visitor: { name: 'Ann', message: 'First line\nSecond \u001b[2Jline' } },
    })
  return { ...created, group, put }
}

/** Runs with a secret in the environment, like a script. */
async function withSecret<Result>(secret: string, work: () => Promise<Result>): Promise<Result> {
  process.env.GROUP_SMTP_URL = secret
  try {
    return await work()
  } finally {
    delete process.env.GROUP_SMTP_URL
  }
}

onBothEngines('e-mails at the command line', (engine) => {
  it('are listed, shown without control characters, cancelled and retried', async () => {
    const { run, json, put } = await opened(engine)
    assert.equal(await run('mail', 'list', 'Shop'), 'Nothing yet.')
    const id = await put()
    const list = await run('mail', 'list', '--group', 'Shop', '--state', 'waiting', '--to', 'owner@shop.example')
    assert.match(list, /^ID +STATE +KIND +RECIPIENT +SUBJECT +ATTEMPTS +CREATED AT\n/)
    assert.match(list, new RegExp(`\\n${id} +waiting +contact +owner@shop\\.example +Rye ·\\[2Jbread +0 +2026`))
    const shown = await run('mail', 'show', 'Shop', id)
    assert.match(shown, /\nTEXT +[\s\S]*First line\nSecond ·\[2Jline/)
    assert.ok(!shown.includes('\u001b') && !shown.includes('HTML'))
    assert.match(await run('mail', 'show', 'Shop', id, '--html'), /\nHTML +<!doctype html>/i)
    assert.match(await run('mail', 'cancel', 'Shop', id), /\nSTATE +cancelled\n/)
    assert.equal((await json('mail', 'retry', 'Shop', id)).state, 'waiting')
    const { items } = await json('job', 'list', 'Shop', '--state', 'waiting')
    await assert.rejects(
      run('job', 'cancel', 'Shop', items[0]._id),
      new RegExp(`the e-mail ${id}\\. Use "mail cancel"`),
    )
  })

  it('can be suppressed, listed and unsuppressed by address', async () => {
    const { run, json, service } = await opened(engine)
    assert.match(
      await run('suppression', 'add', 'Shop', 'Ann@shop.example', '--reason', 'Asked for it'),
      /^ADDRESS +ann@/,
    )
    assert.match(
      await run('suppression', 'list', 'Shop'),
      /^ADDRESS +REASON +CREATED AT\nann@shop\.example +Asked for it/,
    )
    const { _id } = await json('mail', 'test', 'Shop', 'ann@shop.example')
    await service.worker.runDue()
    assert.match((await json('mail', 'show', 'Shop', _id)).problem, /Asked for it/)
    assert.equal(await run('suppression', 'remove', 'Shop', 'ann@shop.example'), 'Done.')
  })

  it('go through the group’s own server, whose URL comes from a variable and is never printed', async () => {
    const { run, json } = await opened(engine, { MAIL_GROUP_HOSTS: 'any' })
    const server = await mailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => done(null, { user: 'any' }),
    })
    const url = `smtp://canary:canary@127.0.0.1:${server.port}`
    const shown = await withSecret(`${url}\n`, () => run('mail-server', 'set', 'Shop', 'hello@shop.example'))
    assert.match(shown, /^OWNER +group\nFROM +hello@shop\.example\nHOST +127\.0\.0\.1\n/)
    assert.ok(!shown.includes('canary'))
    assert.equal((await json('mail-server', 'show', 'Shop')).port, server.port)
    assert.equal(await run('mail-server', 'remove', 'Shop'), 'Done.')
    assert.equal((await json('mail-server', 'show', 'Shop')).owner, 'mailbox')
    await assert.rejects(run('mail-server', 'set', 'Shop', 'a@shop.example', '--smtp-url', url), /Unknown option/)
    assert.match(await run('mail-server', 'set', '--help'), /The secret comes from GROUP_SMTP_URL, or from standard/)
  })

  it('can be read on a page of the running server, unless a mail server is set', async () => {
    const { run, json, config } = await opened(engine, { PORT: '4567' })
    const url = await run('mail', 'page')
    assert.equal(url, findPageUrl(config, 4567))
    assert.match(url, /^http:\/\/127\.0\.0\.1:4567\/mailbox\/[\w-]{22}\/$/)
    assert.deepEqual(await json('mail', 'page'), { url })
    const env = { DATA_DIR: config.dataDir, DATABASE_URL: config.databaseUrl ?? '', SMTP_URL: 'smtp://127.0.0.1' }
    const output = await runHere(['mail', 'page'], env)
    assert.equal(output, 'There is no local mailbox: SMTP_URL is set, so e-mails go to that mail server.\n')
  })
})

describe('the banner of the demo', () => {
  const demo = {
    baseUrl: 'http://127.0.0.1:4000',
    apiKey: 'key',
    adminToken: 'token',
    groupId: 'group',
    siteId: 'site',
    collections: { Blog: 'blog', Team: '', Reviews: '', FAQ: '', Subscribers: '' },
    previewToken: 'preview',
    priceIds: [],
  }

  it('has the location of the mailbox, if there is one', () => {
    const mailboxUrl = 'http://127.0.0.1:4000/mailbox/k/'
    assert.ok(describeDemo(demo, { manageUrl: undefined, mailboxUrl }).includes(`\n  Mailbox      ${mailboxUrl}\n`))
    assert.ok(!describeDemo(demo, { manageUrl: undefined, mailboxUrl: undefined }).includes('Mailbox'))
  })
})
