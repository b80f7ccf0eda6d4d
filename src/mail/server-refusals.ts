import type { SMTPError } from 'nodemailer/lib/smtp-connection'
import { DeliveryFailure } from './transport.ts'

const maxCharacters = 300
/** The commands whose replies are about the message, not about us or the state of the server. */
const aboutMessage: Readonly<Record<string, string>> = {
  'MAIL FROM': 'did not accept the sender',
  'RCPT TO': 'did not accept the recipient',
  DATA: 'did not accept the message',
}
/** A wrong order of commands, a missing or refused login: a retry of the message may succeed. */
const transientCodes = [503, 530, 534, 535, 538]
const addressCodes = [550, 551, 553]
/** X.1.7 to X.1.9 are about the sender. */
const addressStatus = /^5\.1\.(?![789]$)\d+$/
/** These words refer to us or to the message, not to the address. */
const otherReasons =
  /spam|polic|block|black|deny|denied|list|relay|reputation|sender|client|authenti|spf|dkim|dmarc|quota|full|content/i

/** A server's reply on one line, of limited length and without control characters. */
export function singleLine(response: string): string {
  const line = response.replace(/\r?\n\d{3}[ -](?:\d\.\d{1,3}\.\d{1,3} )?/g, ' ').replace(/[\p{C}\s]+/gu, ' ')
  return line.trim().slice(0, maxCharacters).toWellFormed()
}

function refusesRecipient({ command, responseCode = 0, response = '' }: SMTPError): boolean {
  if (command !== 'RCPT TO' || !addressCodes.includes(responseCode)) return false
  if (otherReasons.test(response.replace(/\S+@\S+/g, ''))) return false
  const status = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1]
  return status === undefined || addressStatus.test(status)
}

/** The reply to a login may repeat the login, so only its codes are shown. */
const codesOf = (response: string): string =>
  (/^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3}\b)?/.exec(response)?.[0] ?? 'nonsense').replace('-', ' ')

/** For a server that did not reply. */
function describeSilence({ code = '', originalCode = code, timeoutType, message }: SMTPError, isOpen: boolean): string {
  if (/CERT|SIGNATURE|ISSUER/.test(originalCode)) return `has a certificate that cannot be trusted (${originalCode})`
  if (timeoutType !== undefined) return 'was silent for too long'
  if (isOpen) return 'broke off the connection'
  if (code === 'EAUTH' || code === 'ETLS') return `could not be used: ${singleLine(message)}`
  return `could not be reached${/^E[A-Z_]+$/.test(originalCode) ? ` (${originalCode})` : ''}`
}

function describeReply({ command = '', response = '' }: SMTPError, { secrets, isOpen }: RefusedBy): string {
  if (command.startsWith('AUTH')) return `did not accept our login: ${codesOf(response)}`
  const refusalToOpen = command === 'STARTTLS' ? 'did not encrypt the connection' : 'did not let us in'
  const refusal = aboutMessage[command] ?? (isOpen ? 'ended the connection' : refusalToOpen)
  const redacted = secrets.reduce((text, secret) => text.replaceAll(secret, '…'), response)
  return `${refusal}: ${singleLine(redacted)}`
}

export interface RefusedBy {
  /** How sentences name the server. */
  name: string
  /** Redacted when the server repeats them. */
  secrets: readonly string[]
  /** Whether the session had been opened. */
  isOpen: boolean
}

/** Translates an error of Nodemailer. */
export function failureOf(error: SMTPError, by: RefusedBy): DeliveryFailure {
  const { command = '', response, responseCode = 0, code } = error
  const isTooLarge = code === 'EMESSAGE' && response === undefined // by the limit that the server announced
  const isRefused = responseCode >= 500 && !transientCodes.includes(responseCode)
  const problem = isTooLarge
    ? 'accepts no message of this size'
    : response === undefined
      ? describeSilence(error, by.isOpen)
      : describeReply(error, by)
  return new DeliveryFailure(`${by.name} ${problem}`, {
    isPermanent: isTooLarge || (isRefused && command in aboutMessage),
    refusesRecipient: refusesRecipient(error),
    isTimeout: response === undefined && error.timeoutType !== undefined,
  })
}
