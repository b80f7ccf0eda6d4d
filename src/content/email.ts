import { domainToUnicode } from 'node:url'
import { isHostName } from './addresses.ts'

export const maxAddressLength = 254
/**
 * What may stand before the @ without quotes: nothing here can end a header, begin a second address or hold a name.
 * Nor what some servers act on: `%` and `!` once led to another server, `|` to a program, and with `=?` begin words in
 * other alphabets, in which some find another address. ASCII only, since not every server takes more; after the @ any
 * letter can be written in ASCII.
 */
const localPartPattern = /^(?!.*=\?)[a-z0-9#$&'*+/=?^_{}~-]+(?:\.[a-z0-9#$&'*+/=?^_{}~-]+)*$/i
const maxLocalPartLength = 64
/** In ASCII. The last name is a word: numbers alone would be the address of a machine, which is written otherwise. */
const asciiHostPattern = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Whether a label says that it is another script in ASCII, and is not: no such name exists, and mail servers choke on it. */
const hasBrokenLabel = (ascii: string): boolean => /(?:^|\.)xn--/.test(domainToUnicode(ascii))

/** Host names are the same in any case, and in ASCII whatever script they are written in. */
function asciiHost(host: string): string | undefined {
  if (!isHostName(host)) return undefined
  const ascii = URL.parse(`http://${host}`)?.hostname
  const isWhole = ascii !== undefined && asciiHostPattern.test(ascii) && (ascii.includes('.') || ascii === 'localhost')
  return isWhole && !hasBrokenLabel(ascii) ? ascii : undefined
}

/** One plain e-mail address in the form in which a mail server takes it; undefined where the text is anything else. */
export function deliverableAddress(text: string): string | undefined {
  if (text.length > maxAddressLength) return undefined
  const [localPart = '', host = '', ...more] = text.split('@')
  if (more.length > 0 || localPart.length > maxLocalPartLength || !localPartPattern.test(localPart)) return undefined
  const ascii = asciiHost(host)
  const address = `${localPart}@${ascii}`
  return ascii === undefined || address.length > maxAddressLength ? undefined : address
}

/** One plain e-mail address, such as hello@demo.example. It may exist or not: only its form is looked at. */
export const isEmailAddress = (text: string): boolean => deliverableAddress(text) !== undefined

/** How addresses are compared. No server that people use tells upper from lower case. */
export const addressKey = (text: string): string => (deliverableAddress(text) ?? text).toLowerCase()
