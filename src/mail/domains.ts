import { domainToASCII } from 'node:url'

export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase()

/** Whether an address is in a domain or in one of its subdomains. */
export function isOfDomain(address: string, domain: string): boolean {
  const [actual, wanted] = [domainOf(address), domainToASCII(domain)]
  return actual === wanted || actual.endsWith(`.${wanted}`)
}
