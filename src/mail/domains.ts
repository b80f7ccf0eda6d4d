import { domainToASCII } from 'node:url'

/** The part of an address that says whose it is. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase()

/** Whether an address is of a domain, or of one below it. */
export function isOfDomain(address: string, domain: string): boolean {
  const [own, wanted] = [domainOf(address), domainToASCII(domain)]
  return own === wanted || own.endsWith(`.${wanted}`)
}
