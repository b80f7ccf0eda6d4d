import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { isHostName } from '../content/addresses.ts'
import { invalid } from '../core/errors.ts'
import { isOfDomain } from './domains.ts'

/** By which the domain's owner says: this e-mail comes from us. */
interface DkimKey {
  options: { domainName: string; keySelector: string; privateKey: KeyObject }
  /** Whether the key speaks for an address: its domain is the key's, or below it. */
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
  // What the mailer can sign with, and what every receiver can check.
  const isStrong = key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 1024
  if (!isStrong) throw refused('MAIL_DKIM_PRIVATE_KEY must be an RSA key of at least 1024 bits.')
  return key
}

/** Undefined where nothing is set. Half of it is refused: mail that should be signed would go out unsigned. */
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
  return {
    options,
    signs: (address) => isOfDomain(address, domainName),
  }
}
