import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { it } from 'node:test'
import { onBothEngines } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import {
  assertNothingLeft,
  beginUpload,
  formHead,
  type Listening,
  listening,
  readUntilClosed,
  until,
  untilInInbox,
} from '../helpers/uploads.ts'

/** Fewer than the concurrent uploads below, which do not count as requests. */
const fewRequests = { MAX_CONCURRENT_REQUESTS: '4' }

/** Starts uploads one after the other, none of which ends. */
async function begun(created: Listening, tokens: readonly string[]): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (const token of tokens) {
    sockets.push(beginUpload(created, `${formHead}slow`, { token }))
    await untilInInbox(created, sockets.length)
  }
  return sockets
}

/** Sends a complete upload and returns its status. */
async function send({ baseUrl, path }: Listening, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(baseUrl + path, { method: 'POST', headers, body: fileForm('quick.txt', 'quick') })
  await answer.arrayBuffer()
  return answer.status
}

onBothEngines('concurrent slow uploads', (engine) => {
  it('are limited to 8 per user: one more is 429 at once, and others are not affected', async () => {
    const created = await listening(engine, fewRequests)
    const { group, clock } = created
    const { editor, owner } = group.tokens
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    const slow = await begun(created, Array(8).fill(editor))
    const refused = await readUntilClosed(beginUpload(created, formHead, { token: editor }))
    assert.match(refused, /^HTTP\/1\.1 429 .*\r\nretry-after: [1-9]\d*\r\n.*"code":"RateLimited"/is)
    assert.match(refused, /You are uploading 8 files already/)
    assert.equal(await send(created, owner), 201)
    clock.now += 2000
    const delivered = await fetch(`${created.baseUrl}/tenant/collectionObjects?collectionId=${posts.id}`, {
      headers: { authorization: group.key },
    })
    assert.equal(delivered.status, 200)
    slow[0]?.destroy()
    await until(async () => (await send(created, editor)) === 201, 'the slot of a closed upload is free')
    for (const socket of slow) socket.destroy()
    await untilInInbox(created, 0)
  })

  it('are limited to 64 in total: one more is 503 at once, until one has ended', async () => {
    const created = await listening(engine, fewRequests)
    const { group, newUser } = created
    const member = async () => (await newUser({}, { [group.groupId]: 'editor' })).token
    const tokens = await Array.fromAsync({ length: 8 }, member)
    const slow = await begun(created, Array(8).fill(tokens).flat())
    const refused = await readUntilClosed(beginUpload(created, formHead, { token: group.tokens.editor }))
    assert.match(refused, /^HTTP\/1\.1 503 .*\r\nretry-after: [1-9]\d*\r\n.*"code":"Unavailable"/is)
    slow[33]?.resetAndDestroy()
    await until(async () => (await send(created, group.tokens.editor)) === 201, 'a slot is free')
    for (const socket of slow) socket.destroy()
    await untilInInbox(created, 0)
  })

  it('release their slot however they end', async () => {
    const created = await listening(engine, { MEDIA_MAX_BYTES: 'free=1KB,basic=1KB,pro=1KB,proplus=1KB' })
    const { send: inject, group } = created
    const { editor, viewer } = group.tokens
    for (let round = 0; round < 9; round += 1) {
      assert.equal((await inject('POST', '/media', fileForm('a.txt', 'x'.repeat(2000)), editor)).statusCode, 413)
      assert.equal((await inject('POST', '/media', fileForm('a.txt', ''), editor)).statusCode, 400)
      assert.equal((await inject('POST', '/media', { no: 'form' }, editor)).statusCode, 415)
      assert.equal((await inject('POST', '/media?nmae=x', fileForm('a.txt', 'x'), editor)).statusCode, 400)
      assert.equal((await inject('POST', '/media', fileForm('a.txt', 'x'), viewer)).statusCode, 403)
    }
    await assertNothingLeft(created)
    assert.equal(await send(created, editor), 201)
    assert.equal((await inject('POST', '/media', fileForm('a.txt', 'x'), viewer)).statusCode, 403)
  })
})
