import assert from 'node:assert/strict'
import { after } from 'node:test'
import { parseMailServer } from '../../src/mail/server-address.ts'
import { createSmtpTransport, type SmtpOptions, type SmtpTransport } from '../../src/mail/smtp.ts'
import { type DeliveryContext, DeliveryFailure, type OutgoingMail } from '../../src/mail/transport.ts'
import type { MailFault, MailServer, MailStage } from '../helpers/mail-server.ts'

let number = 0
export function outgoingMail(more: Partial<OutgoingMail> = {}): OutgoingMail {
  number += 1
  const raw = Buffer.from(`Message-ID: <${number}@shop.example>\r\nSubject: ${number}\r\n\r\nHello.\r\n.\r\nBye.\r\n`)
  const ids = { id: `${number}`.padStart(24, '0'), groupId: '0'.repeat(24) }
  return { ...ids, sender: 'mail@shop.example', recipient: 'ann@people.example', raw, ...more }
}

/** Closed when the test or suite ends. */
export function transportTo({ url }: Pick<MailServer, 'url'>, options: Partial<SmtpOptions> = {}): SmtpTransport {
  const transport = createSmtpTransport(parseMailServer(url), { hosts: 'any', ...options })
  after(() => transport.close())
  return transport
}

export const never = new AbortController().signal
/** A delivery that holds its lease until the signal aborts. */
export const deliveryContext = (signal = never): DeliveryContext => ({ signal, isOurs: () => true })
export const deliver = (transport: SmtpTransport, each = outgoingMail()) => transport.deliver(each, deliveryContext())

export interface Expected {
  isPermanent?: boolean
  refusesRecipient?: boolean
}

/** Asserts that it fails with this message, by default as a failure that can be retried. */
export async function assertFails(work: Promise<unknown>, message: RegExp, expected: Expected = {}): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof DeliveryFailure, String(error))
    assert.match(error.message, message)
    const { isPermanent, refusesRecipient } = error
    assert.deepEqual({ isPermanent, refusesRecipient }, { isPermanent: false, refusesRecipient: false, ...expected })
    return true
  })
}

export const onceAt = (server: MailServer, where: MailStage, fault: MailFault): void => {
  server.chooseFault = (stage) => {
    if (stage !== where) return undefined
    server.chooseFault = () => undefined
    return fault
  }
}
export const alwaysAt = (server: MailServer, where: MailStage, fault: MailFault): void => {
  server.chooseFault = (stage) => (stage === where ? fault : undefined)
}
