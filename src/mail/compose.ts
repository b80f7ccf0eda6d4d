import { createHash } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { asHeaderText } from '../content/texts.ts'
import { readDkimKey } from './dkim-key.ts'
import type { SiteLook } from './site-look.ts'

/** All that an e-mail is made of. Nothing else reaches the library that writes it. */
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
  /** Whether nobody wrote it by hand: then no machine is to answer it. */
  isAutomatic: boolean
  /** Whether the service vouches for it: not for what leaves by a server that is not its own. */
  canDkimSign: boolean
}

type Compose = (letter: MailParts) => Promise<Buffer>

const automaticHeaders = { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' }

const writesOnly = {
  streamTransport: true,
  buffer: true,
  newline: 'windows',
  disableFileAccess: true,
  disableUrlAccess: true,
} as const

/** The same in each attempt, and nothing that whoever wrote the words could have foreseen and put into them. */
const boundaryOf = ({ messageId, html, text }: MailParts): string =>
  createHash('sha256')
    .update(JSON.stringify([messageId, html, text]))
    .digest('hex')
    .slice(0, 32)

function logoPart({ content, contentType }: NonNullable<MailParts['logo']>) {
  const filename = `logo.${contentType.replace(/^image\//, '')}`
  return { filename, content, contentType, cid: 'logo', contentDisposition: 'inline' as const }
}

/** Signs by DKIM what the service sends from the domain that we have a key for. */
export function createComposer(
  config: Pick<Config, 'mailDkimDomain' | 'mailDkimSelector' | 'mailDkimPrivateKey'>,
): Compose {
  const dkim = readDkimKey(config)

  return async (letter) => {
    const { createTransport } = await import('nodemailer')
    const transport = createTransport(writesOnly)
    const { from, to, replyTo, subject, messageId, dateMs, html, text, logo, isAutomatic, canDkimSign } = letter
    // Callers refuse texts of several lines; a header must not depend on that.
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
      baseBoundary: boundaryOf(letter),
      ...(canDkimSign && dkim?.signs(from.address) && { dkim: dkim.options }),
    })
    if (!Buffer.isBuffer(message)) throw new Error('The library that writes e-mails gave no bytes.')
    return message
  }
}
