import type { ContactEmailRequest, OrderPlacedEmailRequest } from '../../client/src/wire.ts'
import { AppError } from '../core/errors.ts'
import { isOrigin } from './addresses.ts'
import { isAllowedRecipient } from './allowed-destinations.ts'
import { chooseSite } from './checkout.ts'
import { addressKey, deliverableAddress } from './email.ts'
import type { StoredSite } from './model.ts'
import { isRecord } from './schema.ts'
import { asHeaderText, filled, normalise, shorten } from './texts.ts'

type MailTexts = NonNullable<ContactEmailRequest['htmlInfo']>

/** The validated parts of a request to send an e-mail; everything else in it is ignored. */
export interface MailInput {
  kind: 'contact' | 'order'
  /** A checked address, with its domain in ASCII. */
  to: string
  /** The address for replies, checked like `to`. */
  customerEmail: string | undefined
  siteId: string | undefined
  siteName: string | undefined
  visitor: { name: string; message: string } | undefined
  texts: MailTexts
  customHtml: string | undefined
}

type Site = Pick<StoredSite, 'id' | 'name' | 'domainName' | 'settings' | 'privateSettings'>

/** Older clients name the recipient `contactEmail`. */
type WithRecipient<Request> = Omit<Request, 'to' | 'siteId'> & {
  to?: string
  contactEmail?: string
  /** Anything: a value that matches no site is ignored. */
  siteId?: unknown
}

type ContactBody = WithRecipient<ContactEmailRequest>
type OrderBody = WithRecipient<OrderPlacedEmailRequest>

const maxSubjectLength = 200

function readAddress(text: string): string {
  const address = deliverableAddress(text)
  if (address === undefined) throw new Error('The request schema let an invalid address pass.')
  return address
}

function readRecipient(body: ContactBody | OrderBody) {
  const { to, contactEmail = '', customerEmail, siteId } = body
  return {
    to: readAddress(to ?? contactEmail),
    customerEmail: customerEmail === undefined ? undefined : readAddress(customerEmail),
    siteId: typeof siteId === 'string' ? siteId : undefined,
  }
}

const readTexts = ({ title, subtitle, whiteBoxText, signature }: MailTexts = {}): MailTexts => ({
  title: filled(title),
  subtitle: filled(subtitle),
  whiteBoxText: filled(whiteBoxText),
  signature: filled(signature),
})

export function parseContactMail(body: ContactBody): MailInput {
  const { name, message, siteName, customHtml, htmlInfo } = body
  const texts = readTexts(htmlInfo)
  return { kind: 'contact', ...readRecipient(body), siteName, visitor: { name, message }, texts, customHtml }
}

export function parseOrderMail(body: OrderBody): MailInput {
  const { siteName, htmlInfo } = body
  const texts = readTexts(htmlInfo)
  return { kind: 'order', ...readRecipient(body), siteName, visitor: undefined, texts, customHtml: undefined }
}

/**
 * A contact e-mail goes only to recipients that the sites list; if none lists any, to addresses that the sites name and
 * those in their domains. An order's customer may be anybody.
 */
export function checkRecipient({ kind, to }: MailInput, sites: readonly Site[]): void {
  if (kind !== 'contact') return
  const allowed = sites.flatMap(({ privateSettings }) => privateSettings.allowedRecipients ?? [])
  if (allowed.length > 0) {
    if (!allowed.map(addressKey).includes(addressKey(to)))
      throw new AppError('RecipientNotAllowed', `No site of this group lists ${to} as a recipient.`)
    return
  }
  if (isAllowedRecipient(to, sites)) return
  const advice = 'Name it in a site’s businessInfo, or in its allowedRecipients.'
  throw new AppError('RecipientNotAllowed', `No site of this group names ${to}, nor lives in its domain. ${advice}`)
}

/** The business name and e-mail address in a site's settings. */
export function businessOf({ settings }: Pick<StoredSite, 'settings'>): {
  name: string | undefined
  email: string | undefined
} {
  const { name, contactInfo } = isRecord(settings.businessInfo) ? settings.businessInfo : {}
  const { email } = isRecord(contactInfo) ? contactInfo : {}
  return {
    name: typeof name === 'string' ? filled(name) : undefined,
    email: typeof email === 'string' ? deliverableAddress(email) : undefined,
  }
}

const nameKey = (name: string): string => normalise(name, 'NFC').trim().toLowerCase()

/** The sending site: the one that the caller names, else the one of the request's origin, else the first. */
function chooseSender<Known extends Site>(
  { siteId, siteName }: MailInput,
  sites: readonly Known[],
  origin: string | undefined,
): Known | undefined {
  const byId = sites.find(({ id }) => id === siteId)
  if (byId) return byId
  const isNamed = (name: string | undefined) => name !== undefined && nameKey(name) === nameKey(siteName ?? '')
  const byName = sites.find((site) => isNamed(site.name) || isNamed(businessOf(site).name))
  return byName ?? (origin !== undefined && isOrigin(origin) ? chooseSite(origin, sites) : sites[0])
}

const withoutTags = (text: string): string => text.replace(/<\/?[a-z][^<>]*>/gi, '')

function subjectOf({ visitor, texts: { title = '' } }: MailInput, siteName: string): string {
  const about = visitor ? `New message from ${visitor.name}` : withoutTags(title)
  return shorten([about, siteName].map(asHeaderText).filter(Boolean).join(' – '), maxSubjectLength)
}

/** Replies go to the visitor; those to an order confirmation go to the shop, unless another address is given. */
function replyToOf({ kind, to, customerEmail }: MailInput, site: Site | undefined): string | null {
  if (kind === 'contact') return customerEmail ?? null
  const isOther = customerEmail !== undefined && addressKey(customerEmail) !== addressKey(to)
  return (isOther ? customerEmail : site && businessOf(site).email) ?? null
}

/** An e-mail's headers and its sending site. */
interface Heading {
  siteId: string | undefined
  siteName: string
  subject: string
  replyTo: string | null
}

export function headMail(input: MailInput, sites: readonly Site[], origin: string | undefined): Heading {
  const site = chooseSender(input, sites, origin)
  const siteName = asHeaderText(input.siteName ?? (site && businessOf(site).name) ?? site?.name ?? '')
  return { siteId: site?.id, siteName, subject: subjectOf(input, siteName), replyTo: replyToOf(input, site) }
}
