/**
 * The data exchanged by the service and a website's server. The service imports these types, so that an answer that does
 * not match them does not compile.
 */

export interface Success<Data> {
  success: true
  data: Data
  error: null
}

export interface Failure {
  success: false
  data: null
  /** A message that explains what to do. */
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
 * The URLs of a file. They are signed and stop working at `expiresAt`: do not store them for long. The properties after
 * `expiresAt` are present for pictures that the service could measure or scale; `imageAttributes` makes an `<img>` of them.
 */
export interface CurrentFile {
  /** The file as uploaded. */
  source: string
  /** ISO 8601. */
  expiresAt: string
  /** Scaled versions as WebP, in the form of `srcset`: `URL 320w, URL 640w, URL 1280w`. */
  srcset?: string
  /** The same as AVIF, for a `<source type="image/avif">`: smaller, but not supported by every browser. */
  avifSrcset?: string
  /** In pixels, as displayed. With `height` it lets a browser reserve the space. */
  width?: number
  height?: number
  /** The dominant colour, `#rrggbb`, to show until the picture is loaded. */
  color?: string
  /** A tiny blurred picture as a `data:` URL, which needs no request and never expires. */
  placeholder?: string
}

/**
 * A value, or a map with one value per variant. For text, a string is a simple product's value; for media, check whether
 * the product has `usingVariant`.
 */
export type Variants<Value> = Value | { [variant: string]: Value }

/**
 * An item of a `blocks` field: its type, and the fields of that type. `Block<{ hero: { image: MediaValue }; prose: { body: string } }>`
 * is narrowed by `block.type === 'hero'`.
 */
export type Block<Types extends { [Type in keyof Types]: object }> = {
  [Type in keyof Types]: { type: Type } & Types[Type]
}[keyof Types]

/** The fields of every delivered value besides those of its schema. */
export interface ValueBase {
  _id: string
  /** Which fields of this value hold media, and of what type. */
  mediaFields: { [field: string]: string }
}

export type OpenFields = { [field: string]: unknown }

/**
 * The objects that references of an item lead to, by the path of the reference: `author`, or `sections.2.author` inside a list.
 * A single one that is not visible is null; in a list it is left out.
 */
export interface OpenTargets {
  [path: string]: ExpandedObject | ExpandedObject[] | null
}

export type ExpandedObject = CollectionObject | IntegrationObject

export interface CollectionObject<Fields extends object = OpenFields, Targets extends object = OpenTargets> {
  _id: string
  objectValue: Fields & ValueBase
  collectionObj: { name: string; refID: string }
  /** ISO 8601, or null when unset. */
  publishDate: string | null
  archived: boolean
  createdAt: string
  updatedAt: string
  /** Only with `expand`. */
  expanded?: Targets
}

export interface ProductFields {
  name: Variants<string>
  /** Decimal amount in the currency's main unit, such as "4.50". */
  price: Variants<string>
  description?: Variants<string>
  productImage?: Variants<MediaValue>
  /** The payment provider's price id, from which a checkout session is made. */
  default_price: Variants<string>
  productType?: string
  /** ISO code in lower case. A map only if variants have different currencies. */
  currency?: Variants<string>
  /** The billing interval of a subscription, such as `month` or `3 months`. */
  interval?: Variants<string>
  [field: string]: unknown
}

export interface IntegrationObject<Fields extends object = ProductFields, Targets extends object = OpenTargets> {
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
  /** Only with `expand`. */
  expanded?: Targets
}

/** A previewed object, in the shape of its listing. */
export type Previewed = CollectionObject | IntegrationObject

export interface CollectionList<Fields extends object = OpenFields, Targets extends object = OpenTargets> {
  items: CollectionObject<Fields, Targets>[]
  /** The number of all matches, regardless of `limit` and `skip`. */
  totalCount: number
  /** Only if the request had `after`: that of the next page, or null at the end. */
  nextCursor?: string | null
}

export interface IntegrationGroup<Fields extends object = ProductFields, Targets extends object = OpenTargets> {
  /** The value for `groupBy[value]`; null for items without one, which cannot be requested separately. */
  value: string | null
  /** The number of all matches in the group. */
  count: number
  /** The items on this page. */
  items: IntegrationObject<Fields, Targets>[]
}

export interface IntegrationList<Fields extends object = ProductFields, Targets extends object = OpenTargets> {
  items: IntegrationObject<Fields, Targets>[]
  totalCount: number
  /** Only if the request had `after`: that of the next page, or null at the end. */
  nextCursor?: string | null
  /** Only with `groupBy[key]` alone. */
  groups?: IntegrationGroup<Fields, Targets>[]
}

/** The purchase for which to create a checkout session. */
export interface CheckoutRequest {
  /** 1 to 100 products. `price` is a price id (`default_price` of a product), `quantity` a whole number from 1 to 10 000. */
  products: readonly { price: string; quantity: number }[]
  /** Whether the customer is asked for a shipping address. */
  requiresShipping: boolean
  /** The site to return to, such as `https://bakery.example`. Default: the group's first site. */
  originUrl?: string | undefined
  /** The name that the customer is shown. */
  businessName?: string | undefined
  /** The customer's e-mail address, for the receipt. */
  contactEmail?: string | undefined
}

/** A visitor's review. Its fields depend on the collection's schema. */
export interface ReviewRequest {
  /** The collection to store it in; it must accept reviews. */
  collectionId: string
  objectValue: object
  /** A honeypot: a field of your form that people do not see. If it is filled in, the answer looks the same, and nothing is stored. */
  company_website?: string | undefined
}

/** Besides these, the fields of the collection's schema, such as `name`. */
export interface SubscriberRequest {
  /** The collection to store it in; it must accept subscribers. */
  collectionId: string
  email: string
  /** As in a `ReviewRequest`. */
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

/** A visitor's message to the owner of a site. `customHtml` or `htmlInfo` is required. */
export interface ContactEmailRequest {
  /** The visitor's name. */
  name: string
  /** The recipient: the owner's address. */
  to: string
  message: string
  /** Shown in the subject. Selects the site whose name and colours the e-mail has. */
  siteName: string
  /** The whole e-mail as HTML, instead of the template. */
  customHtml?: string | undefined
  /** Texts for the template; `{}` for its defaults. */
  htmlInfo?: { [Text in keyof EmailTexts]?: EmailTexts[Text] | undefined } | undefined
  /** The visitor's address, for replies. */
  customerEmail?: string | undefined
  /** The site whose name and colours the e-mail has, if several have the same name. */
  siteId?: string | undefined
}

/** An order confirmation to the customer. */
export interface OrderPlacedEmailRequest {
  /** The customer's address. */
  to: string
  htmlInfo: EmailTexts
  /** The address for replies. Default: the e-mail address in the site's `businessInfo`. */
  customerEmail?: string | undefined
  /** Default: the name in the site's settings. */
  siteName?: string | undefined
  /** The site whose name and colours the e-mail has. Default: the group's first. */
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

/** Named colours are keys beside the others: `primary`, `secondary`, `surface`, `text-primary` and any further ones. */
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
  /** `platform` and `url` repeat `type` and `link`. */
  socialLinks?: { type: string; link: string; platform: string; url: string }[]
  pages?: Page[]
  /** Repeats colours, pictures, pages and custom settings for older site templates. */
  siteDetails: { schema: object; values: { mediaFields: { [field: string]: string }; [key: string]: unknown } }
  [key: string]: unknown
}
