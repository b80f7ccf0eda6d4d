import assert from 'node:assert/strict'
import { readdir, readlink } from 'node:fs/promises'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { updateGroup } from '../../src/store/control/groups.ts'
import { authoring } from '../helpers/authoring.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import {
  assertNothingLeft,
  beginUpload,
  formEnd,
  formHead,
  type Listening,
  listening,
  readUntilClosed,
  until,
  untilInInbox,
} from '../helpers/uploads.ts'

/** The open inbox files of this process, if the system lists them. */
async function openInInbox({ config }: Listening): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd').catch(() => [])
  const links = await Promise.all(descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')))
  return links.filter((link) => link.startsWith(`${config.dataDir}/inbox/`))
}

onBothEngines('an upload whose form neither ends nor fails', (engine) => {
  const body = `--edge\r\nX\r\n${formHead}${'x'.repeat(3_000_000)}${formEnd}`

  it('is refused when all of it has arrived, and its slot is released', async () => {
    const created = await listening(engine)
    const answer = await readUntilClosed(beginUpload(created, body, { bytes: body.length }))
    assert.match(answer, /^HTTP\/1\.1 400 .*The form cannot be read/s)
    await assertNothingLeft(created)
    assert.deepEqual(await openInInbox(created), [])
  })

  it('is also released when its client does not wait for the answer', async () => {
    const created = await listening(engine)
    const socket = beginUpload(created, body, { bytes: body.length })
    await untilInInbox(created, 1)
    await until(async () => socket.writableLength === 0, 'all was sent')
    socket.destroy()
    await assertNothingLeft(created)
    assert.deepEqual(await openInInbox(created), [])
  })
})

onBothEngines('a user who loses the permission during an upload', (engine) => {
  const [first, last] = [`${formHead}half of it`, ` and the rest${formEnd}`]
  const bytes = first.length + last.length

  /** A change between the two halves of an upload, and the answer. */
  const changes: [what: string, change: (created: Listening) => Promise<unknown>, answer: RegExp][] = [
    [
      'as a former member, is refused',
      ({ ask, group }) => ask('DELETE', `/manage/groups/${group.groupId}/members/${group.members.editor.user.id}`),
      /^HTTP\/1\.1 404 .*There is no such group/s,
    ],
    [
      'with a lower role, is refused',
      ({ does, group }) => does('POST', `/members/${group.members.editor.user.id}/role`, { role: 'viewer' }),
      /^HTTP\/1\.1 403 .*needs the role editor/s,
    ],
    [
      'with a revoked token, is refused',
      async ({ ask, group }) => {
        const path = `/manage/users/${group.members.editor.user.id}/tokens`
        const { items } = await ask('GET', path)
        await ask('POST', `${path}/${items[0]._id}/revoke`)
      },
      /^HTTP\/1\.1 401 .*\r\nwww-authenticate: Bearer\r\n.*The admin token is not valid/is,
    ],
    [
      'in a group being deleted, is refused',
      ({ service, group, clock }) =>
        updateGroup(service.store, group.group, { frozen: true, deletingMs: clock.now }, authoring(clock.now)),
      /^HTTP\/1\.1 409 .*being deleted/s,
    ],
    [
      'in a deleted group, is refused',
      ({ ask, group }) => ask('POST', `/manage/groups/${group.groupId}/delete`, { confirm: group.group.name }),
      /^HTTP\/1\.1 404 .*There is no such group/s,
    ],
  ]
  for (const [what, change, expected] of changes) {
    it(`${what}, and nothing is stored`, async () => {
      const created = await listening(engine)
      const socket = beginUpload(created, first, { bytes, token: created.group.tokens.editor })
      const answer = readUntilClosed(socket)
      await untilInInbox(created, 1)
      await change(created)
      created.clock.now += 1000 // past the authorizer's cache
      socket.write(last)
      assert.match(await answer, expected)
      await assertNothingLeft(created)
    })
  }

  it('cannot replace a file either', async () => {
    const created = await listening(engine)
    const { add, does, ask, group } = created
    const before = await add('menu.txt', 'Bread')
    const path = `${created.path}/${before._id}/file`
    const socket = beginUpload(created, first, { method: 'PUT', path, bytes, token: group.tokens.editor })
    const answer = readUntilClosed(socket)
    await untilInInbox(created, 1)
    await ask('DELETE', `/manage/groups/${group.groupId}/members/${group.members.editor.user.id}`)
    created.clock.now += 1000
    socket.write(last)
    assert.match(await answer, /^HTTP\/1\.1 404 /)
    assert.deepEqual(await does('GET', `/media/${before._id}`), before)
    assert.equal((await created.stored()).length, 1)
  })

  it('is distinguished from one who keeps it: a frozen group accepts files', async () => {
    const created = await listening(engine)
    const socket = beginUpload(created, first, { bytes, token: created.group.tokens.editor })
    const answer = readUntilClosed(socket)
    await untilInInbox(created, 1)
    await created.ask('POST', `/manage/groups/${created.group.groupId}/freeze`)
    created.clock.now += 1000
    socket.write(last)
    assert.match(await answer, /^HTTP\/1\.1 201 /)
  })
})

onBothEngines('the time limit of a body', (engine) => {
  const limits = { MEDIA_MAX_BYTES: 'free=1KB,basic=1MB,pro=1MB,proplus=16MB' }

  async function hurried() {
    const created = await listening(engine, limits)
    created.app.bodyTimeoutMs = 300
    return created
  }

  it('does not apply to a file as long as it is arriving', async () => {
    const created = await hurried()
    const drops = ['one', 'two', 'three', 'four', 'five', 'six']
    const bytes = formHead.length + drops.join('').length + formEnd.length
    const socket = beginUpload(created, formHead, { bytes })
    for (const drop of drops) {
      await sleep(100)
      socket.write(drop)
    }
    socket.write(formEnd)
    assert.match(await readUntilClosed(socket), /^HTTP\/1\.1 201 /)
  })

  it('starts with the answer for a refused file: a client that continues to send is cut off', async () => {
    const created = await hurried()
    for (const [token, status] of [
      [created.admin, 413],
      ['sluice_admin_unknown', 401],
      [created.group.tokens.viewer, 403],
    ] as const) {
      const socket = beginUpload(created, formHead + 'x'.repeat(2000), { token, connection: 'keep-alive' })
      const drops = setInterval(() => socket.write('x'), 20)
      const started = performance.now()
      const answer = await readUntilClosed(socket).finally(() => clearInterval(drops))
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `))
      assert.equal(answer.match(/HTTP\/1\.1/g)?.length, 1, 'one answer, and nothing after it')
      assert.ok(performance.now() - started >= 290, 'there was time to read the answer')
    }
    await assertNothingLeft(created)
  })

  it('does not apply to requests without a connection', async () => {
    const created = await hurried()
    const { send, group } = created
    const refused = await send('POST', '/media', fileForm('a.txt', 'x'.repeat(100_000)), group.tokens.viewer)
    assert.equal(refused.statusCode, 403)
    assert.equal((await send('POST', '/collections', { name: 'Posts', schema: {} })).statusCode, 201)
    await sleep(400)
    assert.equal((await send('POST', '/media', fileForm('a.txt', 'x'))).statusCode, 201)
  })
})
