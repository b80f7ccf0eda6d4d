import { isLoopback } from '../security/public-address.ts'

/** `required` and `optional` refer to STARTTLS. */
type TlsMode = 'implicit' | 'required' | 'optional' | 'off'

export interface MailServerAddress {
  host: string
  port: number
  tls: TlsMode
  login: { user: string; password: string } | undefined
}

const example = 'smtp://user:password@smtp.example.com:587 or smtps://…:465'
const defaultPorts = { implicit: 465, other: 587 }

function readTls(url: URL): TlsMode {
  const mode = url.searchParams.get('tls')
  if (url.protocol === 'smtps:') {
    if (mode !== null) throw new Error('must not have tls with smtps, which is encrypted from the first byte')
    return 'implicit'
  }
  if (mode !== null && mode !== 'required' && mode !== 'optional' && mode !== 'off')
    throw new Error('must have tls=required, tls=optional or tls=off')
  return mode ?? (isLoopback(hostOf(url)) ? 'optional' : 'required')
}

const hostOf = ({ hostname }: URL): string => hostname.toLowerCase().replace(/^\[|\]$/g, '')

/** An error's message ends the sentence "SMTP_URL …" and never repeats the text, which may contain a password. */
export function parseMailServer(text: string): MailServerAddress {
  const url = URL.parse(text)
  const isPlain = url && (url.pathname === '' || url.pathname === '/') && url.hash === ''
  if (!isPlain || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    throw new Error(`must be the address of a mail server such as ${example}`)
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'tls')
  if (unknown !== undefined) throw new Error(`must not have "${unknown}"; it accepts tls`)
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
