import assert from 'node:assert/strict'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { dayMs } from '../../src/core/clock.ts'
import { findMessage } from '../../src/store/mail/messages.ts'
import { harness, onBothEngines, type TestEngine, testStartMs } from '../helpers/harness.ts'
import { putMessage } from '../helpers/outbox.ts'

/** A group with an e-mail in the local mailbox. */
async function withLetter(engine: TestEngine) {
  const { service, newGroup, config } = await harness(engine)
  const { store: group } = await newGroup()
  const id = await putMessage(group, testStartMs)
  await service.worker.runDue()
  const folder = join(config.dataDir, 'mailbox', group.groupId)
  const files = () => readdir(folder)
  assert.deepEqual(await files(), [`${id}.eml`])
  return { group, id, files, folder, tidy: (days: number) => service.mail.tidy(testStartMs + days * dayMs) }
}

onBothEngines('an e-mail in the local mailbox', (engine) => {
  it('is deleted together with its file when its retention ends, and not earlier', async () => {
    const { group, id, files, tidy } = await withLetter(engine)
    await tidy(29)
    assert.equal((await findMessage(group, id))?.state, 'sent')
    assert.deepEqual(await files(), [`${id}.eml`])
    await tidy(31)
    assert.equal(await findMessage(group, id), undefined)
    assert.deepEqual(await files(), [])
  })

  it('whose file could not be removed is retained until it is', async () => {
    const { group, id, folder, tidy } = await withLetter(engine)
    const file = join(folder, `${id}.eml`)
    await rm(file)
    await mkdir(file) // a folder cannot be removed as a file
    await assert.rejects(tidy(31))
    assert.ok(await findMessage(group, id))
    await rm(file, { recursive: true }) // as if the process had died right after removing the file
    await tidy(31)
    assert.equal(await findMessage(group, id), undefined)
  })
})
