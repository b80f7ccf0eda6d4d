/**
 * What travels between the service and a website's server. The service imports these types, so an answer that
 * does not fit them does not compile.
 */

export interface Success<Data> {
  success: true
  data: Data
  error: null
}

export interface Failure {
  success: false
  data: null
  /** A sentence to act on. */
  error: string
  /** A stable name, such as `ValidationError` or `Unauthorized`. */
  code: string
}

export type Envelope<Data> = Success<Data> | Failure

/** A file, as delivered. */
export interface MediaValue {
  name: string
  key: string
  /** `image`, `video` or `file`. */
  type: string
  currentFile: CurrentFile
  [more: string]: unknown
}

/**
 * Where a file is now. Every address here is signed and stops working at `expiresAt`: do not keep it for long.
 * What stands behind `expiresAt` is there for pictures that the service could measure or make smaller;
 * `imageAttributes` turns it into an `<img>`.
 */
export interface CurrentFile {
  /** The file as it was uploaded. */
  source: string
  /** ISO 8601. */
  expiresAt: string
  /** Smaller forms as WebP, as the attribute of `<img>` takes them: `URL 320w, URL 640w, URL 1280w`. */
  srcset?: string
  /** The same as AVIF, for a `<source type="image/avif">`: smaller still, but not for every browser. */
  avifSrcset?: string
  /** In pixels, upright as one sees it. With `height` it lets a browser keep the place free. */
  width?: number
  height?: number
  /** The dominant colour, `#rrggbb`: what to paint until the picture is there. */
  color?: string
  /** A tiny blurred picture as a `data:` address: needs no request, and expires never. */
  placeholder?: string
}

/**
 * A value, or one value per variant. A string is a simple product's, a map a variant product's; for media ask
 * whether the product has `usingVariant`.
 */
export type Variants<Value> = Value | { [variant: string]: Value }

/** The fields that every delivered value carries besides those of its schema. */
export interface ValueBase {
  _id: string
  /** Which fields of this value hold media, and of what type. */
  mediaFields: { [field: string]: string }
}

export type OpenFields = { [field: string]: unknown }

export interface CollectionObject<Fields extends object = OpenFields> {
  _id: string
  objectValue: Fields & ValueBase
  collectionObj: { name: string; refID: string }
  /** ISO 8601, or null when unset. */
  publishDate: string | null
  archived: boolean
  createdAt: string
  updatedAt: string
}

export interface ProductFields {
  name: Variants<string>
  /** Decimal amount in the currency's main unit, such as "4.50". */
  price: Variants<string>
  description?: Variants<string>
  productImage?: Variants<MediaValue>
  /** The payment provider's price id: what a checkout session is made from. */
  default_price: Variants<string>
  productType?: string
  /** ISO code in lower case. A map only where variants are sold in different currencies. */
  currency?: Variants<string>
  /** Of what recurs: how often it is paid, such as `month` or `3 months`. */
  interval?: Variants<string>
  [field: string]: unknown
}

export interface IntegrationObject<Fields extends object = ProductFields> {
  _id: string
  /** The provider's product id. */
  id: string
  type: string
  platform: string
  accountHandle: string
  objectValue: Fields & ValueBase
  /** Only on variant products: what varies, and the variants in order. */
  usingVariant?: { name: string; values: string[] }
  publishDate: string | null
  archived: boolean
  createdAt: string
  updatedAt: string
}

/** What a preview shows: the shape that the object's listing gives. */
export type Previewed = CollectionObject | IntegrationObject

export interface CollectionList<Fields extends object = OpenFields> {
  items: CollectionObject<Fields>[]
  /** How many items match, whatever `limit` and `skip`. */
  totalCount: number
}

export interface IntegrationGroup<Fields extends object = ProductFields> {
  /** The value as `groupBy[value]` takes it; null for the items without one, which cannot be asked for by themselves. */
  value: string | null
  /** How many of all matches are in the group. */
  count: number
  /** Those of this page. */
  items: IntegrationObject<Fields>[]
}

export interface IntegrationList<Fields extends object = ProductFields> {
  items: IntegrationObject<Fields>[]
  totalCount: number
  /** Only with `groupBy[key]` alone. */
  groups?: IntegrationGroup<Fields>[]
}

/** What a customer is about to buy. */
export interface CheckoutRequest {
  /** 1–100 of them. `price` is a price id, `default_price` of a product; `quantity` a whole number of 1–10 000. */
  products: readonly { price: string; quantity: number }[]
  /** Whether the customer is asked for an address to send to. */
  requiresShipping: boolean
  /** The site to return to, such as `https://bakery.example`. Default: the group's first site. */
  originUrl?: string | undefined
  /** The name that the customer is shown. */
  businessName?: string | undefined
  /** The customer's e-mail address, for the receipt. */
  contactEmail?: string | undefined
}

/** What a visitor sends in. Which fields there are is up to the collection's schema. */
export interface ReviewRequest {
  /** The collection to store it in; it must accept reviews. */
  collectionId: string
  objectValue: object
  /** The field of your form that people do not see. Where it is filled in, nothing is stored, and nobody is told. */
  company_website?: string | undefined
}

/** Besides these, the fields of the collection's schema, such as `name`. */
export interface SubscriberRequest {
  /** The collection to store it in; it must accept subscribers. */
  collectionId: string
  email: string
  /** As of a `ReviewRequest`. */
  company_website?: string | undefined
  [field: string]: unknown
}

/** The texts of an e-mail's template. All are plain text, except that `whiteBoxText` may hold simple markup. */
export interface EmailTexts {
  /** The heading; of an order's confirmation also the subject. */
  title: string
  subtitle: string
  /** The main block. */
  whiteBoxText: string
  signature: string
}

/** What a visitor writes to the owner of a site. One of `customHtml` and `htmlInfo` must be there. */
export interface ContactEmailRequest {
  /** Who writes. */
  name: string
  /** The one address that it goes to: the owner's. */
  to: string
  message: string
  /** It stands in the subject, and says in whose name and colours the e-mail is sent. */
  siteName: string
  /** The whole e-mail as markup, in place of the template. */
  customHtml?: string | undefined
  /** Texts for the template; `{}` for the template as it is. */
  htmlInfo?: { [Text in keyof EmailTexts]?: EmailTexts[Text] | undefined } | undefined
  /** The visitor's address: answers to the e-mail go there. */
  customerEmail?: string | undefined
  /** The site in whose name and colours it is sent, where several have one name. */
  siteId?: string | undefined
}

/** The confirmation that a customer gets of an order. */
export interface OrderPlacedEmailRequest {
  /** The customer's address. */
  to: string
  htmlInfo: EmailTexts
  /** Where answers go. Default: the e-mail address of the site's `businessInfo`. */
  customerEmail?: string | undefined
  /** Default: the name in the site's settings. */
  siteName?: string | undefined
  /** The site in whose name and colours it is sent. Default: the group's first. */
  siteId?: string | undefined
}

export interface PageCollection {
  collectionId: string
  name: string
  role: string
  displayAs: string
  order: number
  enabled: boolean
}

export interface Page {
  name: string
  /** Without a leading slash. The home page has `home` here or in `format`. */
  slug: string
  format: string
  collections: PageCollection[]
  integrations: { type: string; name: string; role: string; displayAs: string }[]
  /** Texts, and pictures such as a hero image. */
  labels: { title: string; subtitle: string; navLabel: string; [label: string]: string | MediaValue }
  displayOnHeader: boolean
  displayOnFooter: boolean
}

export interface BusinessInfo {
  name: string
  description: string
  address: { street1: string; street2: string; city: string; state: string; zip: string; country: string }
  contactInfo: { email: string; phoneNumber: string }
  shipping: boolean
  [more: string]: unknown
}

/** Named colours stand beside the other keys: `primary`, `secondary`, `surface`, `text-primary` and any further ones. */
export interface SiteDetails {
  _id: string
  name: string
  domainName: string
  tier: string
  primary?: string
  secondary?: string
  surface?: string
  'text-primary'?: string
  logo?: MediaValue
  heroImage?: MediaValue
  businessInfo?: BusinessInfo
  /** `platform` and `url` say once more what `type` and `link` say. */
  socialLinks?: { type: string; link: string; platform: string; url: string }[]
  pages?: Page[]
  /** Colours, pictures, pages and settings of one's own once more, where site templates of the older form read them. */
  siteDetails: { schema: object; values: { mediaFields: { [field: string]: string }; [key: string]: unknown } }
  [key: string]: unknown
}
