import { addressKey, deliverableAddress } from './email.ts'
import type { StoredSite } from './model.ts'
import { isRecord } from './schema.ts'

/**
 * Where a group's visitors and their words may be sent unless its sites list it: to what the sites say of themselves. A
 * key that leaks then sends no e-mails to strangers, and returns no customer to a stranger's page.
 */

type Site = Pick<StoredSite, 'domainName' | 'settings' | 'privateSettings'>

const hostOf = (address: string): string | undefined => URL.parse(`https://${address}`)?.hostname

/** Where a site lives; what stands before it, such as `www`, is in the same hands. */
function domainOf({ domainName }: Pick<Site, 'domainName'>): string[] {
  const host = domainName === '' ? undefined : hostOf(domainName)
  return host === undefined ? [] : [host.replace(/^www\./, '')]
}

export const domainsOf = (sites: readonly Pick<Site, 'domainName'>[]): string[] => sites.flatMap(domainOf)

export const isInDomains = (host: string, domains: readonly string[]): boolean =>
  domains.some((domain) => host === domain || host.endsWith(`.${domain}`))

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return isRecord(value) ? Object.values(value).flatMap(textsIn) : []
}

/** The e-mail addresses that a site names: anywhere in what it says of the business, and who is told of submissions. */
function addressesOf({ settings, privateSettings }: Site): string[] {
  const { submissionNotices } = privateSettings
  return [...textsIn(settings.businessInfo), ...(submissionNotices ? [submissionNotices.to] : [])]
    .filter((text) => deliverableAddress(text) !== undefined)
    .map(addressKey)
}

/** Whether the sites name the address or live in its domain. Sites that name nothing refuse nothing. */
export function mayBeWrittenTo(address: string, sites: readonly Site[]): boolean {
  const domains = domainsOf(sites)
  const addresses = sites.flatMap(addressesOf)
  if (domains.length + addresses.length === 0) return true
  const key = addressKey(address)
  return addresses.includes(key) || isInDomains(key.slice(key.lastIndexOf('@') + 1), domains)
}

/** Whether the sites live there. Sites without a domain refuse nothing. */
export function mayBeReturnedTo(origin: string, sites: readonly Pick<Site, 'domainName'>[]): boolean {
  const domains = domainsOf(sites)
  return domains.length === 0 || isInDomains(new URL(origin).hostname, domains)
}

/** The machine of whoever develops a website. */
export function isLoopback(origin: string): boolean {
  const { hostname } = new URL(origin)
  return hostname === '[::1]' || isInDomains(hostname, ['localhost']) || /^127(\.\d+){3}$/.test(hostname)
}
