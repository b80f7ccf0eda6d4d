import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createGroupTransports } from '../../src/mail/group-transports.ts'
import {
  findMailServer,
  mailServerField,
  mailServerSubject,
  putMailServer,
  removeMailServer,
} from '../../src/store/mail/mail-servers.ts'
import { write } from '../helpers/authoring.ts'
import { harness, onBothEngines, testStartMs } from '../helpers/harness.ts'

onBothEngines('the transport to a group’s own server', (engine) => {
  it('is shared by concurrent callers, replaced with the server, and retried after a failure', async () => {
    const { service, newGroup } = await harness(engine)
    const { store: group } = await newGroup()
    const { vault } = service.mail
    const put = (port: number, nowMs: number, isKept = true) =>
      write(group, nowMs, async (writer) => {
        if (isKept) await vault.put(writer, mailServerSubject, mailServerField, `smtp://127.0.0.1:${port}`)
        await putMailServer(writer, { fromAddress: 'a@b.example', host: '127.0.0.1', port, tls: 'off' })
      })
    const transports = createGroupTransports(vault, { hosts: 'any' })
    const ask = async () => {
      const server = await findMailServer(group)
      assert.ok(server)
      return transports.of(group, server)
    }

    await put(2525, testStartMs, false)
    await assert.rejects(ask(), /No address is stored/)
    await put(2525, testStartMs)
    const [first, ...others] = await Promise.all([ask(), ask(), ask()])
    assert.equal(first?.name, '127.0.0.1:2525')
    for (const other of others) assert.equal(other, first)
    await put(2526, testStartMs + 1)
    assert.equal((await ask()).name, '127.0.0.1:2526')
    transports.close()
  })

  it('is discarded when the server is changed or removed while it is being opened', async () => {
    const { service, newGroup } = await harness(engine)
    const { store: group } = await newGroup()
    const put = (fromAddress: string, port: number, nowMs: number) =>
      write(group, nowMs, async (writer) => {
        const url = `smtp://127.0.0.1:${port}`
        await service.mail.vault.put(writer, mailServerSubject, mailServerField, url)
        await putMailServer(writer, { fromAddress, host: '127.0.0.1', port, tls: 'off' })
      })
    await put('a@b.example', 2525, testStartMs)
    const changes = [() => put('c@d.example', 2526, testStartMs + 1), () => write(group, testStartMs, removeMailServer)]
    for (const change of changes) {
      const server = await findMailServer(group)
      assert.ok(server)
      await change()
      const transports = createGroupTransports(service.mail.vault, { hosts: 'any' })
      await assert.rejects(transports.of(group, server), /has just been changed/)
      transports.close()
    }
  })
})
