import type { ContactEmailRequest, OrderPlacedEmailRequest } from '../../client/src/wire.ts'
import { AppError } from '../core/errors.ts'
import { isOrigin } from './addresses.ts'
import { chooseSite } from './checkout.ts'
import { addressKey, deliverableAddress } from './email.ts'
import type { StoredSite } from './model.ts'
import { mayBeWrittenTo } from './reach.ts'
import { isRecord } from './schema.ts'
import { asHeaderText, filled, normalise, shorten } from './texts.ts'

type MailTexts = NonNullable<ContactEmailRequest['htmlInfo']>

/** What was understood of a request to send an e-mail. Nothing else of what was sent is looked at. */
export interface MailWish {
  kind: 'contact' | 'order'
  /** The one address that was checked, with its domain in ASCII. */
  to: string
  /** Whom an answer should reach; checked like `to`. */
  customerEmail: string | undefined
  siteId: string | undefined
  siteName: string | undefined
  visitor: { name: string; message: string } | undefined
  texts: MailTexts
  customHtml: string | undefined
}

type Site = Pick<StoredSite, 'id' | 'name' | 'domainName' | 'settings' | 'privateSettings'>

/** Clients of the older form name the recipient `contactEmail`. */
type WithRecipient<Request> = Omit<Request, 'to' | 'siteId'> & {
  to?: string
  contactEmail?: string
  /** Anything: what names no site is not looked at. */
  siteId?: unknown
}

type ContactBody = WithRecipient<ContactEmailRequest>
type OrderBody = WithRecipient<OrderPlacedEmailRequest>

const maxSubjectLength = 200

function readAddress(text: string): string {
  const address = deliverableAddress(text)
  if (address === undefined) throw new Error('An address that was checked at the door is none.')
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

export function readContactWish(body: ContactBody): MailWish {
  const { name, message, siteName, customHtml, htmlInfo } = body
  const texts = readTexts(htmlInfo)
  return { kind: 'contact', ...readRecipient(body), siteName, visitor: { name, message }, texts, customHtml }
}

export function readOrderWish(body: OrderBody): MailWish {
  const { siteName, htmlInfo } = body
  const texts = readTexts(htmlInfo)
  return { kind: 'order', ...readRecipient(body), siteName, visitor: undefined, texts, customHtml: undefined }
}

/**
 * Where sites list who may be written to, a visitor's words go to nobody else; where none does, to the addresses that
 * they name and to those in their domains. An order's customer may be anybody.
 */
export function checkRecipient({ kind, to }: MailWish, sites: readonly Site[]): void {
  if (kind !== 'contact') return
  const allowed = sites.flatMap(({ privateSettings }) => privateSettings.allowedRecipients ?? [])
  if (allowed.length > 0) {
    if (!allowed.map(addressKey).includes(addressKey(to)))
      throw new AppError('RecipientNotAllowed', `No site of this group lists ${to} as a recipient.`)
    return
  }
  if (mayBeWrittenTo(to, sites)) return
  const advice = 'Name it in a site’s businessInfo, or in its allowedRecipients.'
  throw new AppError('RecipientNotAllowed', `No site of this group names ${to}, nor lives in its domain. ${advice}`)
}

/** What a site says of who runs it. */
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

/** In whose name it is sent: the site that the caller names, else the one that they come from, else the first. */
function chooseSender<Known extends Site>(
  { siteId, siteName }: MailWish,
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

function subjectOf({ visitor, texts: { title = '' } }: MailWish, siteName: string): string {
  const about = visitor ? `New message from ${visitor.name}` : withoutTags(title)
  return shorten([about, siteName].map(asHeaderText).filter(Boolean).join(' – '), maxSubjectLength)
}

/** An answer goes to the visitor; one to an order's confirmation goes to the shop, unless another address is given. */
function replyToOf({ kind, to, customerEmail }: MailWish, site: Site | undefined): string | null {
  if (kind === 'contact') return customerEmail ?? null
  const isOther = customerEmail !== undefined && addressKey(customerEmail) !== addressKey(to)
  return (isOther ? customerEmail : site && businessOf(site).email) ?? null
}

/** What an e-mail says of itself, and of the site in whose name it is sent. */
interface Heading {
  siteId: string | undefined
  siteName: string
  subject: string
  replyTo: string | null
}

export function headMail(wish: MailWish, sites: readonly Site[], origin: string | undefined): Heading {
  const site = chooseSender(wish, sites, origin)
  const siteName = asHeaderText(wish.siteName ?? (site && businessOf(site).name) ?? site?.name ?? '')
  return { siteId: site?.id, siteName, subject: subjectOf(wish, siteName), replyTo: replyToOf(wish, site) }
}
