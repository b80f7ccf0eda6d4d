import { isHostName } from './addresses.ts'

const maxLength = 254
/**
 * What may stand before the @ without quotes: nothing here can end a header, begin a second address or hold a name.
 * ASCII only, since not every mail server takes more; after the @ any letter can be written in ASCII.
 */
const localPartPattern = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
const maxLocalPartLength = 64

/** One plain e-mail address, such as hello@demo.example. It may exist or not: only its form is looked at. */
export function isEmailAddress(text: string): boolean {
  if (text.length > maxLength) return false
  const [localPart = '', host = '', ...more] = text.split('@')
  if (more.length > 0 || localPart.length > maxLocalPartLength || !localPartPattern.test(localPart)) return false
  return isHostName(host) && (host.includes('.') || host === 'localhost')
}
