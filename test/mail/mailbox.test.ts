import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { makeId } from '../../src/core/ids.ts'
import { createMailbox, type Mailbox } from '../../src/mail/mailbox.ts'
import { deliveryContext } from './outgoing.ts'

async function newMailbox(): Promise<Mailbox> {
  const parent = await mkdtemp(join(tmpdir(), 'sluice-mailbox-'))
  after(() => rm(parent, { recursive: true, force: true }))
  return createMailbox(join(parent, 'mailbox'))
}

const groupId = makeId()
const outgoingMail = (raw: string, id = makeId()) => ({
  id,
  groupId,
  sender: 'mail@shop.example',
  recipient: 'ann@people.example',
  raw: Buffer.from(raw),
})

describe('the mailbox', () => {
  it('stores each message in a separate file that only its owner can read', async () => {
    const mailbox = await newMailbox()
    const [one, other] = [outgoingMail('one'), outgoingMail('other')]
    await mailbox.deliver(one, deliveryContext())
    await mailbox.deliver(other, deliveryContext())
    assert.deepEqual(await mailbox.read(groupId, one.id), one.raw)
    const folder = join(mailbox.folder, groupId)
    assert.deepEqual((await readdir(folder)).sort(), [`${one.id}.eml`, `${other.id}.eml`].sort())
    const modeOf = async (path: string) => (await stat(path)).mode & 0o777
    assert.equal(await modeOf(mailbox.folder), 0o700)
    assert.equal(await modeOf(folder), 0o700)
    assert.equal(await modeOf(join(folder, `${one.id}.eml`)), 0o600)
  })

  it('has a message once, however often it is delivered', async () => {
    const mailbox = await newMailbox()
    const { id } = outgoingMail('')
    for (const raw of ['first', 'first']) await mailbox.deliver(outgoingMail(raw, id), deliveryContext())
    assert.deepEqual(await readdir(join(mailbox.folder, groupId)), [`${id}.eml`])
    assert.equal(String(await mailbox.read(groupId, id)), 'first')
  })

  it('ignores files that are already gone', async () => {
    const mailbox = await newMailbox()
    assert.equal(await mailbox.read(groupId, makeId()), undefined)
    await mailbox.remove(groupId, makeId())
    await mailbox.removeGroup(groupId)
  })

  it('deletes messages, and groups with all their messages', async () => {
    const mailbox = await newMailbox()
    const all = [outgoingMail('one'), outgoingMail('two'), outgoingMail('three')] as const
    for (const each of all) await mailbox.deliver(each, deliveryContext())
    for (const { id } of all.slice(0, 2)) await mailbox.remove(groupId, id)
    assert.deepEqual(await readdir(join(mailbox.folder, groupId)), [`${all[2].id}.eml`])
    await mailbox.removeGroup(groupId)
    assert.deepEqual(await readdir(mailbox.folder), [])
  })

  it('builds paths from ids only', async () => {
    const mailbox = await newMailbox()
    const id = makeId()
    for (const hostile of ['..', '../../etc/passwd', `${id}/..`, '', id.toUpperCase(), `${id}\0`, `${id}\n`]) {
      await assert.rejects(mailbox.deliver({ ...outgoingMail('x'), id: hostile }, deliveryContext()), /not an id/)
      await assert.rejects(mailbox.deliver({ ...outgoingMail('x'), groupId: hostile }, deliveryContext()), /not an id/)
      await assert.rejects(mailbox.read(groupId, hostile), /not an id/)
      await assert.rejects(mailbox.remove(hostile, id), /not an id/)
      await assert.rejects(mailbox.removeGroup(hostile), /not an id/)
    }
  })

  it('writes nothing after the signal has aborted', async () => {
    const mailbox = await newMailbox()
    await assert.rejects(
      mailbox.deliver(outgoingMail('x'), deliveryContext(AbortSignal.abort(new Error('too late')))),
      /too late/,
    )
    assert.equal(await mailbox.read(groupId, makeId()), undefined)
  })
})
