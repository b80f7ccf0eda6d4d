import type { SMTPError } from 'nodemailer/lib/smtp-connection'
import { DeliveryFailure } from './transport.ts'

const mostCharacters = 300
/** The commands whose answers are about the message, and not about us or the state of the server. */
const aboutMessage: Readonly<Record<string, string>> = {
  'MAIL FROM': 'did not take the sender',
  'RCPT TO': 'did not take the recipient',
  DATA: 'did not take the message',
}
/** A wrong order of commands, a login that is missing or was refused: another time the same message may be taken. */
const passingCodes = [503, 530, 534, 535, 538]
const addressCodes = [550, 551, 553]
/** X.1.7 to X.1.9 are about the sender. */
const addressStatus = /^5\.1\.(?![789]$)\d+$/
/** With these words a server speaks of us or of the message, and not of the address. */
const otherReasons =
  /spam|polic|block|black|deny|denied|list|relay|reputation|sender|client|authenti|spf|dkim|dmarc|quota|full|content/i

/** What the server answered: one line, of limited length, without anything that could act on a terminal. */
export function singleLine(response: string): string {
  const line = response.replace(/\r?\n\d{3}[ -](?:\d\.\d{1,3}\.\d{1,3} )?/g, ' ').replace(/[\p{C}\s]+/gu, ' ')
  return line.trim().slice(0, mostCharacters).toWellFormed()
}

function refusesRecipient({ command, responseCode = 0, response = '' }: SMTPError): boolean {
  if (command !== 'RCPT TO' || !addressCodes.includes(responseCode)) return false
  if (otherReasons.test(response.replace(/\S+@\S+/g, ''))) return false
  const status = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1]
  return status === undefined || addressStatus.test(status)
}

/** What the server answered to a login may hold the login: the codes are enough. */
function codesOf(response: string): string {
  return (/^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3}\b)?/.exec(response)?.[0] ?? 'nonsense').replace('-', ' ')
}

/** What is said of a server that gave no answer. */
function silenceOf({ code = '', originalCode = code, timeoutType, message }: SMTPError, isOpen: boolean): string {
  if (/CERT|SIGNATURE|ISSUER/.test(originalCode)) return `shows a certificate that cannot be trusted (${originalCode})`
  if (timeoutType !== undefined) return 'was silent for too long'
  if (isOpen) return 'broke off the connection'
  if (code === 'EAUTH' || code === 'ETLS') return `could not be used: ${singleLine(message)}`
  return `could not be reached${/^E[A-Z_]+$/.test(originalCode) ? ` (${originalCode})` : ''}`
}

function answerOf({ command = '', response = '' }: SMTPError, { secrets, isOpen }: RefusedBy): string {
  if (command.startsWith('AUTH')) return `did not accept our login: ${codesOf(response)}`
  const deed = aboutMessage[command] ?? (isOpen ? 'ended the connection' : refusalToOpen(command))
  const discreet = secrets.reduce((text, secret) => text.replaceAll(secret, '…'), response)
  return `${deed}: ${singleLine(discreet)}`
}

const refusalToOpen = (command: string): string =>
  command === 'STARTTLS' ? 'did not encrypt the connection' : 'did not let us in'

export interface RefusedBy {
  /** The server, in a word. */
  name: string
  /** Never to be repeated, even where the server does. */
  secrets: readonly string[]
  /** Whether it had let us in. */
  isOpen: boolean
}

/** What follows from what a mail server answered, or did not. */
export function failureOf(error: SMTPError, by: RefusedBy): DeliveryFailure {
  const { command = '', response, responseCode = 0, code } = error
  const isTooLarge = code === 'EMESSAGE' && response === undefined // it told its limit, and was not even asked
  const isRefused = responseCode >= 500 && !passingCodes.includes(responseCode)
  const problem = isTooLarge
    ? 'takes no message as large as this one'
    : response === undefined
      ? silenceOf(error, by.isOpen)
      : answerOf(error, by)
  return new DeliveryFailure(`${by.name} ${problem}`, {
    isPermanent: isTooLarge || (isRefused && command in aboutMessage),
    refusesRecipient: refusesRecipient(error),
    isTimeout: response === undefined && error.timeoutType !== undefined,
  })
}
