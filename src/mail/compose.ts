import { createHash } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { asHeaderText } from '../content/texts.ts'
import { readDkimKey } from './dkim-key.ts'
import type { SiteLook } from './site-look.ts'

/** The complete input of the composing library. */
export interface MailParts {
  from: { name: string; address: string }
  to: string
  replyTo: string | null
  subject: string
  messageId: string
  dateMs: number
  html: string
  text: string
  logo: SiteLook['logo']
  /** Whether automatic replies must be suppressed. */
  isAutomatic: boolean
  /** False for mail through a group's own server. */
  canDkimSign: boolean
}

type Compose = (parts: MailParts) => Promise<Buffer>

const automaticHeaders = { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' }

const composeOnly = {
  streamTransport: true,
  buffer: true,
  newline: 'windows',
  disableFileAccess: true,
  disableUrlAccess: true,
} as const

/** The same in each attempt, and unpredictable for the authors of the texts, who could otherwise forge a MIME boundary. */
const boundaryOf = ({ messageId, html, text }: MailParts): string =>
  createHash('sha256')
    .update(JSON.stringify([messageId, html, text]))
    .digest('hex')
    .slice(0, 32)

function logoPart({ content, contentType }: NonNullable<MailParts['logo']>) {
  const filename = `logo.${contentType.replace(/^image\//, '')}`
  return { filename, content, contentType, cid: 'logo', contentDisposition: 'inline' as const }
}

/** Adds a DKIM signature if the service has a key for the sender's domain. */
export function createComposer(
  config: Pick<Config, 'mailDkimDomain' | 'mailDkimSelector' | 'mailDkimPrivateKey'>,
): Compose {
  const dkim = readDkimKey(config)

  return async (parts) => {
    const { createTransport } = await import('nodemailer')
    const transport = createTransport(composeOnly)
    const { from, to, replyTo, subject, messageId, dateMs, html, text, logo, isAutomatic, canDkimSign } = parts
    // Header injection: callers refuse line breaks already, but headers must not depend on that.
    const { message } = await transport.sendMail({
      from: { name: asHeaderText(from.name), address: from.address },
      to: { name: '', address: to },
      ...(replyTo !== null && { replyTo: { name: '', address: replyTo } }),
      subject: asHeaderText(subject),
      messageId: `<${messageId}>`,
      date: new Date(dateMs),
      headers: isAutomatic ? automaticHeaders : {},
      html,
      text,
      encoding: 'quoted-printable',
      attachments: logo && html.includes('cid:logo') ? [logoPart(logo)] : [],
      baseBoundary: boundaryOf(parts),
      ...(canDkimSign && dkim?.signs(from.address) && { dkim: dkim.options }),
    })
    if (!Buffer.isBuffer(message)) throw new Error('The e-mail was not composed as a buffer.')
    return message
  }
}
