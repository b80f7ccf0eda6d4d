import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothEngines } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { load } from '../helpers/media.ts'
import { assertNothingLeft, beginUpload, formHead, listening, readUntilClosed } from '../helpers/uploads.ts'

const limits = { MEDIA_MAX_BYTES: 'free=64KB,basic=1MB,pro=1MB,proplus=16MB' }

onBothEngines('an upload over the wire', (engine) => {
  it('of megabytes arrives and is delivered completely', async () => {
    const created = await listening(engine)
    const bytes = Buffer.alloc(6_000_000, 'All work and no play. ')
    const headers = { authorization: `Bearer ${created.admin}` }
    const answer = await fetch(created.baseUrl + created.path, {
      method: 'POST',
      headers,
      body: fileForm('long.txt', bytes),
    })
    assert.equal(answer.status, 201)
    const { data } = (await answer.json()) as { data: { bytes: number; currentFile: { source: string } } }
    assert.equal(data.bytes, bytes.length)
    const delivered = await load(data.currentFile.source)
    assert.equal(delivered.headers.get('content-type'), 'text/plain; charset=utf-8')
    assert.ok(delivered.bytes.equals(bytes))
    assert.deepEqual((await created.traces()).inbox, [])
  })

  it('that grows too large is answered 413 while the client is still sending', async () => {
    const created = await listening(engine, limits)
    const socket = beginUpload(created, formHead, { connection: 'keep-alive' })
    let answer = ''
    socket.on('data', (text) => (answer += text))
    let sentBytes = 0
    for (; !answer.includes('\r\n\r\n') && sentBytes < 400_000_000; sentBytes += 16_384) {
      socket.write(Buffer.alloc(16_384, 'x'))
      await sleep(1)
    }
    socket.destroy()
    assert.match(answer, /^HTTP\/1\.1 413 /)
    assert.match(answer, /The file is larger than 64 KB, the limit of this tier\./)
    assert.ok(sentBytes < 50_000_000, `${sentBytes} bytes were sent before the answer came`)
    await assertNothingLeft(created)
  })

  it('that grows too large is also answered when the client sends everything before it reads', async () => {
    const created = await listening(engine, limits)
    const headers = { authorization: `Bearer ${created.admin}` }
    for (const bytes of [65_537, 5_000_000]) {
      const body = fileForm('a.txt', Buffer.alloc(bytes, 'x'))
      const answer = await fetch(created.baseUrl + created.path, { method: 'POST', headers, body })
      assert.equal(answer.status, 413, String(bytes))
      assert.match(await answer.text(), /larger than 64 KB/)
    }
    await assertNothingLeft(created)
  })

  it('that is refused for another reason is answered before the file has arrived', async () => {
    const created = await listening(engine)
    const { group } = created
    const unauthorised = beginUpload(created, formHead, { token: 'sluice_admin_unknown' })
    assert.match(await readUntilClosed(unauthorised), /^HTTP\/1\.1 401 /)
    const viewer = beginUpload(created, formHead, { token: group.tokens.viewer })
    assert.match(await readUntilClosed(viewer), /^HTTP\/1\.1 403 /)
    const missing = beginUpload(created, formHead, { path: `${created.path}/nothing/file` })
    assert.match(await readUntilClosed(missing), /^HTTP\/1\.1 (404|405) /)
    await assertNothingLeft(created)
  })

  it('whose client disconnects, at any moment, leaves nothing and affects no other', async () => {
    const created = await listening(engine)
    const beginnings = [
      '',
      '--ed',
      formHead.slice(0, 30),
      formHead,
      `${formHead}some`,
      `${formHead}${'x'.repeat(200_000)}`,
    ]
    const endings: ((socket: Socket) => void)[] = [
      (socket) => void socket.resetAndDestroy(),
      (socket) => void socket.destroy(),
      (socket) => void socket.end(),
    ]
    for (const beginning of beginnings) {
      for (const leave of endings) {
        for (const afterMs of [0, 1, 3, 30]) {
          const socket = beginUpload(created, beginning)
          await sleep(afterMs)
          leave(socket)
        }
      }
    }
    await assertNothingLeft(created)
    assert.equal((await load(`${created.baseUrl}/readyz`)).status, 200)
    assert.equal((await created.add('after.txt', 'still here')).name, 'after.txt')
    assert.doesNotMatch(created.log(), /InternalError/)
  })
})
