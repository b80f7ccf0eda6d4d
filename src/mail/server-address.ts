import { isLoopback } from '../security/public-address.ts'

type TlsMode = 'implicit' | 'required' | 'optional' | 'off'

/** Where a mail server is, and who we are there. */
export interface MailServerAddress {
  host: string
  port: number
  /** From the first byte, by STARTTLS always, by STARTTLS where it is offered, or not at all. */
  tls: TlsMode
  login: { user: string; password: string } | undefined
}

const example = 'smtp://user:password@smtp.example.com:587 or smtps://…:465'
const defaultPorts = { implicit: 465, other: 587 }

function readTls(url: URL): TlsMode {
  const asked = url.searchParams.get('tls')
  if (url.protocol === 'smtps:') {
    if (asked !== null) throw new Error('must not say tls with smtps, which is encrypted from the first byte')
    return 'implicit'
  }
  if (asked !== null && asked !== 'required' && asked !== 'optional' && asked !== 'off')
    throw new Error('must say tls=required, tls=optional or tls=off')
  return asked ?? (isLoopback(hostOf(url)) ? 'optional' : 'required')
}

const hostOf = ({ hostname }: URL): string => hostname.toLowerCase().replace(/^\[|\]$/g, '')

/** Throws with the end of the sentence "SMTP_URL …"; never with the text, in which a password may stand. */
export function parseMailServer(text: string): MailServerAddress {
  const url = URL.parse(text)
  const isPlain = url && (url.pathname === '' || url.pathname === '/') && url.hash === ''
  if (!isPlain || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    throw new Error(`must be the address of a mail server such as ${example}`)
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'tls')
  if (unknown !== undefined) throw new Error(`must not have "${unknown}"; it knows tls`)
  if ((url.username === '') !== (url.password === '')) throw new Error('must have both a user and a password, or none')
  const tls = readTls(url)
  const port = url.port === '' ? (tls === 'implicit' ? defaultPorts.implicit : defaultPorts.other) : Number(url.port)
  return { host: hostOf(url), port, tls, login: readLogin(url) }
}

function readLogin({ username, password }: URL): MailServerAddress['login'] {
  if (username === '') return undefined
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) }
  } catch {
    throw new Error('must have a user and a password in which % is written as %25')
  }
}
