import { domainToUnicode } from 'node:url'
import { isHostName } from './addresses.ts'

export const maxAddressLength = 254
/**
 * The local part, unquoted: nothing here can end a header, begin a second address or add a display name. Excluded is also
 * what some servers interpret: `%` and `!` were routing, `|` ran a program, and `=?` begins an encoded word, in which some
 * find another address. ASCII only, since not every server accepts more; a domain always has an ASCII form.
 */
const localPartPattern = /^(?!.*=\?)[a-z0-9#$&'*+/=?^_{}~-]+(?:\.[a-z0-9#$&'*+/=?^_{}~-]+)*$/i
const maxLocalPartLength = 64
/** The last label begins with a letter: only digits would be an IP address, which has another syntax. */
const asciiHostPattern = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** A label with the prefix of Punycode that does not decode: no such name exists, and mail servers fail on it. */
const hasBrokenLabel = (ascii: string): boolean => /(?:^|\.)xn--/.test(domainToUnicode(ascii))

/** Host names are case-insensitive, and each has an ASCII form. */
function asciiHost(host: string): string | undefined {
  if (!isHostName(host)) return undefined
  const ascii = URL.parse(`http://${host}`)?.hostname
  const isWhole = ascii !== undefined && asciiHostPattern.test(ascii) && (ascii.includes('.') || ascii === 'localhost')
  return isWhole && !hasBrokenLabel(ascii) ? ascii : undefined
}

/** One plain e-mail address in the form that mail servers accept; undefined for any other text. */
export function deliverableAddress(text: string): string | undefined {
  if (text.length > maxAddressLength) return undefined
  const [localPart = '', host = '', ...more] = text.split('@')
  if (more.length > 0 || localPart.length > maxLocalPartLength || !localPartPattern.test(localPart)) return undefined
  const ascii = asciiHost(host)
  const address = `${localPart}@${ascii}`
  return ascii === undefined || address.length > maxAddressLength ? undefined : address
}

/** One plain e-mail address, such as hello@demo.example. Only the syntax is checked. */
export const isEmailAddress = (text: string): boolean => deliverableAddress(text) !== undefined

/** How addresses are compared. No server in use distinguishes case. */
export const addressKey = (text: string): string => (deliverableAddress(text) ?? text).toLowerCase()
