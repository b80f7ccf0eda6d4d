import { addressKey, deliverableAddress } from './email.ts'
import type { StoredSite } from './model.ts'
import { isRecord } from './schema.ts'

/**
 * Default destinations of e-mails and checkout returns for sites that list none: their own domains and addresses. A leaked
 * key then cannot e-mail strangers or return customers to a stranger's page.
 */

type Site = Pick<StoredSite, 'domainName' | 'settings' | 'privateSettings'>

const hostOf = (address: string): string | undefined => URL.parse(`https://${address}`)?.hostname

/** A site's domain without `www`: its subdomains belong to the same owner. */
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

/** The e-mail addresses anywhere in a site's businessInfo, and the recipient of its notices. */
function addressesOf({ settings, privateSettings }: Site): string[] {
  const { submissionNotices } = privateSettings
  return [...textsIn(settings.businessInfo), ...(submissionNotices ? [submissionNotices.to] : [])]
    .filter((text) => deliverableAddress(text) !== undefined)
    .map(addressKey)
}

/** Whether the sites name the address or its domain. Sites that name nothing allow everything. */
export function isAllowedRecipient(address: string, sites: readonly Site[]): boolean {
  const domains = domainsOf(sites)
  const addresses = sites.flatMap(addressesOf)
  if (domains.length + addresses.length === 0) return true
  const key = addressKey(address)
  return addresses.includes(key) || isInDomains(key.slice(key.lastIndexOf('@') + 1), domains)
}

/** Whether the origin is in the sites' domains. Sites without a domain allow everything. */
export function isAllowedReturn(origin: string, sites: readonly Pick<Site, 'domainName'>[]): boolean {
  const domains = domainsOf(sites)
  return domains.length === 0 || isInDomains(new URL(origin).hostname, domains)
}

/** A web developer's own machine. */
export function isLoopback(origin: string): boolean {
  const { hostname } = new URL(origin)
  return hostname === '[::1]' || isInDomains(hostname, ['localhost']) || /^127(\.\d+){3}$/.test(hostname)
}
