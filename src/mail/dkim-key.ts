import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { isHostName } from '../content/addresses.ts'
import { invalid } from '../core/errors.ts'
import { isOfDomain } from './domains.ts'

interface DkimKey {
  options: { domainName: string; keySelector: string; privateKey: KeyObject }
  /** Whether an address is in the key's domain or in a subdomain. */
  signs(address: string): boolean
}

const refused = (problem: string): Error => invalid(`The settings cannot be used:\n  ${problem}`)

function readPem(pemOrPath: string): string {
  if (pemOrPath.includes('-----BEGIN')) return pemOrPath.replaceAll('\\n', '\n')
  try {
    return readFileSync(pemOrPath, 'utf8')
  } catch {
    throw refused('MAIL_DKIM_PRIVATE_KEY must be a private key as PEM, or the path of a file that can be read.')
  }
}

function readPrivateKey(pemOrPath: string): KeyObject {
  const pem = readPem(pemOrPath)
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    throw refused('MAIL_DKIM_PRIVATE_KEY must be a private key as PEM without a passphrase.')
  }
  // Supported by Nodemailer and by every receiver.
  const isStrong = key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 1024
  if (!isStrong) throw refused('MAIL_DKIM_PRIVATE_KEY must be an RSA key of at least 1024 bits.')
  return key
}

/** Undefined when nothing is set. A partial configuration is refused: mail would be sent unsigned. */
export function readDkimKey({
  mailDkimDomain,
  mailDkimSelector,
  mailDkimPrivateKey,
}: Pick<Config, 'mailDkimDomain' | 'mailDkimSelector' | 'mailDkimPrivateKey'>): DkimKey | undefined {
  if (!mailDkimDomain && !mailDkimSelector && !mailDkimPrivateKey) return undefined
  if (!mailDkimDomain || !mailDkimSelector || !mailDkimPrivateKey)
    throw refused('MAIL_DKIM_DOMAIN, MAIL_DKIM_SELECTOR and MAIL_DKIM_PRIVATE_KEY are needed together.')
  const domainName = mailDkimDomain.toLowerCase()
  if (!isHostName(domainName)) throw refused('MAIL_DKIM_DOMAIN must be a domain such as example.com.')
  if (!isHostName(mailDkimSelector)) throw refused('MAIL_DKIM_SELECTOR must be a name such as mail.')
  const options = { domainName, keySelector: mailDkimSelector, privateKey: readPrivateKey(mailDkimPrivateKey) }
  return { options, signs: (address) => isOfDomain(address, domainName) }
}
