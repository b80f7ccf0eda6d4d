import type { CheckoutRequest } from '../../client/src/wire.ts'
import { AppError, invalid } from '../core/errors.ts'
import { isOrigin, isWebLink } from './addresses.ts'
import { isAllowedReturn, isLoopback } from './allowed-destinations.ts'
import type { CataloguePrice } from './catalogue.ts'
import { isEmailAddress } from './email.ts'
import { isVisible, type StoredObject, type StoredSite } from './model.ts'
import { isRecord } from './schema.ts'
import { refuse } from './validate.ts'

/** The validated parts of a checkout request; everything else in it is ignored. */
export interface CheckoutInput {
  lines: { price: string; quantity: number }[]
  requiresShipping: boolean
  /** The website's origin; undefined if neither the body nor the Origin header states it. */
  origin: string | undefined
  businessName?: string
  contactEmail?: string
}

const isLinkOrMissing = (url: string | undefined): boolean =>
  url === undefined || (isWebLink(url) && isOrigin(new URL(url).origin))
const isEmailOrMissing = (address: string | undefined): boolean => address === undefined || isEmailAddress(address)

/** Only the origin of a URL counts. Browsers send `null` for a page without one. */
export function parseCheckout(body: CheckoutRequest, originHeader: string | undefined): CheckoutInput {
  const { products, requiresShipping, originUrl, businessName, contactEmail } = body
  refuse([
    ...(isLinkOrMissing(originUrl) ? [] : ['originUrl must be an absolute http or https URL without a user name']),
    ...(isEmailOrMissing(contactEmail) ? [] : ['contactEmail must be one e-mail address such as hello@example.com']),
  ])
  const ofRequest = originHeader !== undefined && isOrigin(originHeader) ? originHeader : undefined
  return {
    lines: products.map(({ price, quantity }) => ({ price, quantity })),
    requiresShipping,
    origin: originUrl === undefined ? ofRequest : new URL(originUrl).origin,
    ...(businessName !== undefined && { businessName }),
    ...(contactEmail !== undefined && { contactEmail }),
  }
}

type Site = Pick<StoredSite, 'id' | 'domainName' | 'privateSettings'>

const urlOf = ({ domainName }: Site): URL | null => (domainName === '' ? null : URL.parse(`https://${domainName}`))

/** Where the customer returns to: the requested origin, else the group's first site that has a domain. */
export function chooseOrigin(requested: string | undefined, sites: readonly Site[]): string {
  const origin = requested ?? sites.map(urlOf).find((url) => url !== null)?.origin
  if (origin === undefined)
    throw invalid('originUrl is required here: the request has no Origin, and no site of the group has a domain.')
  return origin
}

/** Sites list the allowed origins. If none does, their domains are allowed, and loopback in test mode. */
export function checkOrigin(origin: string, sites: readonly Site[], { isTest }: { isTest: boolean }): void {
  const allowed = sites.flatMap(({ privateSettings }) => privateSettings.allowedOrigins ?? [])
  const refusal = `A checkout of this group may not return to ${origin}`
  if (allowed.length > 0) {
    if (!allowed.includes(origin)) throw new AppError('OriginNotAllowed', `${refusal}.`)
    return
  }
  if (isAllowedReturn(origin, sites) || (isTest && isLoopback(origin))) return
  const advice = 'it is not in the domain of any of its sites. List it in a site’s allowedOrigins.'
  throw new AppError('OriginNotAllowed', `${refusal}: ${advice}`)
}

/** The site with this origin, else the first one. */
export function chooseSite<Known extends Site>(origin: string, sites: readonly Known[]): Known | undefined {
  const { host } = new URL(origin)
  return sites.find((site) => urlOf(site)?.host === host) ?? sites[0]
}

/** The provider inserts the session's id. */
export const returnUrls = (origin: string) => ({
  successUrl: `${origin}/checkoutsuccess?session_id={CHECKOUT_SESSION_ID}`,
  cancelUrl: `${origin}/checkoutcancel`,
})

/** A price, its account, and the object that it sells. */
export interface KnownPrice {
  price: CataloguePrice
  integrationId: string
  object: StoredObject | undefined
}

const unavailable = (priceId: string): AppError =>
  new AppError('ProductUnavailable', `What the price "${priceId}" belongs to is not on sale.`)

/** Only what visitors can see is on sale, and only at the price that they see. */
function isOnSale({ price, object }: KnownPrice, nowMs: number): boolean {
  if (!price.active || !object || !isVisible(object, nowMs)) return false
  const { default_price: shown } = object.value
  return shown === price.id || (isRecord(shown) && Object.values(shown).includes(price.id))
}

/** The one account that sells all these prices. Throws if any of them is not on sale. */
export function chooseSeller(
  priceIds: readonly string[],
  known: readonly KnownPrice[],
  nowMs: number,
): { integrationId: string; offers: KnownPrice[] } {
  const gone = priceIds.find((id) => !known.some(({ price }) => price.id === id))
  if (gone !== undefined) throw unavailable(gone)
  const seller = [...Map.groupBy(known, (offer) => offer.integrationId)]
    .map(([integrationId, offers]) => ({ integrationId, offers }))
    .sort((one, other) => (one.integrationId < other.integrationId ? -1 : 1)) // first connected, first chosen
    .find(({ offers }) => priceIds.every((id) => offers.some(({ price }) => price.id === id)))
  if (!seller) throw invalid('products must all be sold by one account; make a checkout for each.')
  const hidden = seller.offers.find((offer) => !isOnSale(offer, nowMs))
  if (hidden) throw unavailable(hidden.price.id)
  return seller
}

/** One recurring price makes the whole checkout a subscription. */
export const modeOf = (offers: readonly KnownPrice[]): 'payment' | 'subscription' =>
  offers.some(({ price }) => price.interval !== null) ? 'subscription' : 'payment'

/** Metadata by which we recognise our own sessions at the provider. */
const groupKey = 'sluice_group'
const siteKey = 'sluice_site'

export const sessionMetadata = (groupId: string, siteId: string | undefined): Record<string, string> => ({
  [groupKey]: groupId,
  ...(siteId !== undefined && { [siteKey]: siteId }),
})

/** An account may also sell elsewhere: those sessions lack our metadata. */
export const sessionOwner = (notes: Record<string, string>) => ({
  groupId: notes[groupKey],
  siteId: notes[siteKey] ?? null,
})
