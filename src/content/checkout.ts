import type { CheckoutRequest } from '../../client/src/wire.ts'
import { AppError, invalid } from '../core/errors.ts'
import { isOrigin, isWebLink } from './addresses.ts'
import type { CataloguePrice } from './catalogue.ts'
import { isEmailAddress } from './email.ts'
import { isVisible, type StoredObject, type StoredSite } from './model.ts'
import { isLoopback, mayBeReturnedTo } from './reach.ts'
import { isRecord } from './schema.ts'
import { refuse } from './validate.ts'

/** What was understood of it. Nothing else of what was sent is looked at. */
export interface CheckoutWish {
  lines: { price: string; quantity: number }[]
  requiresShipping: boolean
  /** Where the customer comes from; undefined where neither the body nor the request says so. */
  origin: string | undefined
  businessName?: string
  contactEmail?: string
}

const isLinkOrMissing = (url: string | undefined): boolean =>
  url === undefined || (isWebLink(url) && isOrigin(new URL(url).origin))
const isEmailOrMissing = (address: string | undefined): boolean => address === undefined || isEmailAddress(address)

/** Of an address only its origin counts. Browsers send `null` where a page has none. */
export function readWish(body: CheckoutRequest, originHeader: string | undefined): CheckoutWish {
  const { products, requiresShipping, originUrl, businessName, contactEmail } = body
  refuse([
    ...(isLinkOrMissing(originUrl) ? [] : ['originUrl must be a full http or https address without a user name']),
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

/** Where the customer comes back to: as was asked, else to the group's first site that has a domain. */
export function chooseOrigin(asked: string | undefined, sites: readonly Site[]): string {
  const origin = asked ?? sites.map(urlOf).find((url) => url !== null)?.origin
  if (origin === undefined)
    throw invalid('originUrl is required here: the request has no Origin, and no site of the group has a domain.')
  return origin
}

/** Sites list where a checkout may return to; where none does, it is their domains, and with test money this machine. */
export function checkOrigin(origin: string, sites: readonly Site[], { isTest }: { isTest: boolean }): void {
  const allowed = sites.flatMap(({ privateSettings }) => privateSettings.allowedOrigins ?? [])
  const refusal = `A checkout of this group may not return to ${origin}`
  if (allowed.length > 0) {
    if (!allowed.includes(origin)) throw new AppError('OriginNotAllowed', `${refusal}.`)
    return
  }
  if (mayBeReturnedTo(origin, sites) || (isTest && isLoopback(origin))) return
  const advice = 'it is in the domain of none of its sites. A site’s allowedOrigins can list others.'
  throw new AppError('OriginNotAllowed', `${refusal}: ${advice}`)
}

/** The site that lives there, else the first one. */
export function chooseSite<Known extends Site>(origin: string, sites: readonly Known[]): Known | undefined {
  const { host } = new URL(origin)
  return sites.find((site) => urlOf(site)?.host === host) ?? sites[0]
}

/** The provider puts the session's id into the address. */
export const returnUrls = (origin: string) => ({
  successUrl: `${origin}/checkoutsuccess?session_id={CHECKOUT_SESSION_ID}`,
  cancelUrl: `${origin}/checkoutcancel`,
})

/** A price, the account that it belongs to, and the product of ours that is sold for it. */
export interface KnownPrice {
  price: CataloguePrice
  integrationId: string
  object: StoredObject | undefined
}

const unavailable = (priceId: string): AppError =>
  new AppError('ProductUnavailable', `What the price "${priceId}" belongs to is not on sale.`)

/** What visitors are shown can be bought, for the price that they are shown, and nothing else. */
function isOnSale({ price, object }: KnownPrice, nowMs: number): boolean {
  if (!price.active || !object || !isVisible(object, nowMs)) return false
  const { default_price: shown } = object.value
  return shown === price.id || (isRecord(shown) && Object.values(shown).includes(price.id))
}

/** The one account that sells all of it, with what it offers. Refuses what visitors are not shown. */
export function chooseSeller(
  priceIds: readonly string[],
  known: readonly KnownPrice[],
  nowMs: number,
): { integrationId: string; offers: KnownPrice[] } {
  const gone = priceIds.find((id) => !known.some(({ price }) => price.id === id))
  if (gone !== undefined) throw unavailable(gone)
  const seller = [...Map.groupBy(known, (offer) => offer.integrationId)]
    .map(([integrationId, offers]) => ({ integrationId, offers }))
    .sort((one, other) => (one.integrationId < other.integrationId ? -1 : 1)) // the one that was connected first
    .find(({ offers }) => priceIds.every((id) => offers.some(({ price }) => price.id === id)))
  if (!seller) throw invalid('products must all be sold by one account; make a checkout for each.')
  const hidden = seller.offers.find((offer) => !isOnSale(offer, nowMs))
  if (hidden) throw unavailable(hidden.price.id)
  return seller
}

/** One price that recurs makes a subscription of the whole. */
export const modeOf = (offers: readonly KnownPrice[]): 'payment' | 'subscription' =>
  offers.some(({ price }) => price.interval !== null) ? 'subscription' : 'payment'

/** What is noted at the provider, so that we know our own sessions again. */
const groupNote = 'sluice_group'
const siteNote = 'sluice_site'

export const notesOf = (groupId: string, siteId: string | undefined): Record<string, string> => ({
  [groupNote]: groupId,
  ...(siteId !== undefined && { [siteNote]: siteId }),
})

/** Whose session it is. An account may also sell elsewhere: such a session has no notes of ours. */
export const readNotes = (notes: Record<string, string>) => ({
  groupId: notes[groupNote],
  siteId: notes[siteNote] ?? null,
})
