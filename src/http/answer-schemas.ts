import type { TSchema } from 'typebox'
import { type ErrorCode, internalErrorMessage, statusOfCode } from '../core/errors.ts'
import { Type } from '../core/type.ts'

/** Answers as schemas, for the OpenAPI document. The types of the same shapes are the client's `wire.ts`. */
const timestamp = Type.String({ format: 'date-time', examples: ['2026-03-01T09:30:00.000Z'] })
const id = Type.String({ pattern: '^[0-9a-f]{24}$', examples: ['66f0c0ffee0123456789abcd'] })

const media = Type.Object(
  {
    name: Type.String(),
    key: Type.String(),
    type: Type.String({ examples: ['image'] }),
    currentFile: Type.Object({
      source: Type.String({ format: 'uri', description: 'Signed URL; stops working at expiresAt.' }),
      expiresAt: timestamp,
      srcset: Type.Optional(
        Type.String({
          description: 'Pictures only: scaled versions as WebP, in the form of the HTML attribute. Signed like source.',
          examples: ['https://content.example.com/… 320w, https://content.example.com/… 640w'],
        }),
      ),
      avifSrcset: Type.Optional(Type.String({ description: 'The same as AVIF, for a <source type="image/avif">.' })),
      width: Type.Optional(Type.Integer({ minimum: 1, description: 'In pixels, as displayed.' })),
      height: Type.Optional(Type.Integer({ minimum: 1 })),
      color: Type.Optional(
        Type.String({ pattern: '^#[0-9a-f]{6}$', description: 'The dominant colour.', examples: ['#a63f2a'] }),
      ),
      placeholder: Type.Optional(
        Type.String({ description: 'A tiny blurred picture as a data: URL, to show until the picture is loaded.' }),
      ),
    }),
  },
  { additionalProperties: true },
)

const objectValue = Type.Object(
  { _id: id, mediaFields: Type.Record(Type.String(), Type.String()) },
  {
    additionalProperties: true,
    description: 'The fields of the schema, the item’s id again, and which fields hold media.',
  },
)

const state = {
  publishDate: Type.Union([timestamp, Type.Null()]),
  archived: Type.Boolean(),
  createdAt: timestamp,
  updatedAt: timestamp,
}

const expanded = Type.Optional(
  Type.Record(Type.String(), Type.Unknown(), {
    description:
      'Only with `expand`: by the path of each reference, such as `author` or `sections.2.author`, the object it names in the shape of its listing, or `null`; for a list of references a list of objects.',
  }),
)

const collectionObject = Type.Object({
  _id: id,
  objectValue,
  collectionObj: Type.Object({ name: Type.String(), refID: id }),
  ...state,
  expanded,
})

const integrationObject = Type.Object({
  _id: id,
  id: Type.String({ description: 'The provider’s product id.' }),
  type: Type.String(),
  platform: Type.String(),
  accountHandle: Type.String(),
  objectValue,
  usingVariant: Type.Optional(Type.Object({ name: Type.String(), values: Type.Array(Type.String()) })),
  ...state,
  expanded,
})

const success = (data: TSchema, example: unknown) =>
  Type.Object(
    { success: Type.Literal(true), data, error: Type.Null() },
    { description: 'Success', examples: [{ success: true, data: example, error: null }] },
  )

const totalCount = Type.Integer({ minimum: 0, description: 'All matches, regardless of limit and skip.' })

const nextCursor = Type.Optional(
  Type.Union([Type.String(), Type.Null()], {
    description: 'With after only: the after of the next page; null at the end.',
  }),
)

const exampleMedia = {
  name: 'cover',
  key: '66f0c0ffee0123456789abcd/cover.png',
  type: 'image',
  currentFile: {
    source:
      'https://content.example.com/media/media/66f0c0ffee0123456789abcd/cover.png?expires=1790000000&signature=Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgc2lnbmF0dXJl',
    expiresAt: '2026-09-21T13:33:20.000Z',
    width: 1200,
    height: 800,
    color: '#a63f2a',
  },
}

const exampleState = {
  publishDate: '2026-03-01T09:30:00.000Z',
  archived: false,
  createdAt: '2026-02-27T16:00:00.000Z',
  updatedAt: '2026-02-28T08:15:00.000Z',
}

const exampleItem = {
  _id: '66f0c0ffee0123456789abcd',
  objectValue: {
    _id: '66f0c0ffee0123456789abcd',
    title: 'Why our sourdough takes three days',
    body: '<p>Day one is flour and water …</p>',
    cover: exampleMedia,
    mediaFields: { cover: 'image' },
  },
  collectionObj: { name: 'Blog', refID: '66f0c0ffee0123456789abce' },
  ...exampleState,
}

const exampleProduct = {
  _id: '66f0c0ffee0123456789abcf',
  id: 'prod_sourdough',
  type: 'stripe',
  platform: 'stripe',
  accountHandle: 'main',
  objectValue: {
    _id: '66f0c0ffee0123456789abcf',
    name: { Small: 'Sourdough, small', Large: 'Sourdough, large' },
    price: { Small: '4.50', Large: '7.20' },
    default_price: { Small: 'price_small', Large: 'price_large' },
    productType: 'bread',
    currency: 'eur',
    mediaFields: {},
  },
  usingVariant: { name: 'Size', values: ['Small', 'Large'] },
  ...exampleState,
}

const exampleColours = { primary: '#a63f2a', secondary: '#3f6b6a', surface: '#fffaf0', 'text-primary': '#3d2014' }

const examplePages = [
  {
    name: 'Blog',
    slug: 'blog',
    format: 'blog',
    collections: [
      {
        collectionId: '66f0c0ffee0123456789abce',
        name: 'Blog',
        role: 'primary',
        displayAs: 'cards',
        order: 0,
        enabled: true,
      },
    ],
    integrations: [],
    labels: { title: 'From the oven', subtitle: '', navLabel: 'Blog' },
    displayOnHeader: true,
    displayOnFooter: false,
  },
]

const exampleSite = {
  _id: '66f0c0ffee0123456789abd0',
  name: 'Corner Bakery',
  domainName: 'bakery.example',
  tier: 'pro',
  ...exampleColours,
  logo: { ...exampleMedia, name: 'logo' },
  businessInfo: {
    name: 'Corner Bakery',
    description: 'Bread that took its time',
    address: { street1: '14 Mill Lane', street2: '', city: 'Alderbrook', state: 'NS', zip: 'B0J 1A0', country: 'CA' },
    contactInfo: { email: 'hello@bakery.example', phoneNumber: '+1 902 555 0114' },
    shipping: true,
  },
  socialLinks: [
    {
      type: 'instagram',
      link: 'https://social.example/bakery',
      platform: 'instagram',
      url: 'https://social.example/bakery',
    },
  ],
  pages: examplePages,
  siteDetails: {
    schema: {},
    values: {
      ...exampleColours,
      logo: { ...exampleMedia, name: 'logo' },
      pages: examplePages,
      mediaFields: { logo: 'image' },
    },
  },
}

export const siteDetailsAnswer = success(
  Type.Object(
    {
      _id: id,
      name: Type.String(),
      domainName: Type.String(),
      tier: Type.String(),
      primary: Type.Optional(Type.String({ description: 'Named colours are keys beside the others.' })),
      secondary: Type.Optional(Type.String()),
      surface: Type.Optional(Type.String()),
      'text-primary': Type.Optional(Type.String()),
      logo: Type.Optional(media),
      heroImage: Type.Optional(media),
      businessInfo: Type.Optional(Type.Object({}, { additionalProperties: true })),
      socialLinks: Type.Optional(
        Type.Array(
          Type.Object(
            { type: Type.String(), link: Type.String(), platform: Type.String(), url: Type.String() },
            {
              additionalProperties: true,
              description: '`platform` and `url` repeat `type` and `link`.',
            },
          ),
        ),
      ),
      pages: Type.Optional(Type.Array(Type.Object({}, { additionalProperties: true }))),
      siteDetails: Type.Object({ schema: Type.Object({}), values: Type.Object({}, { additionalProperties: true }) }),
    },
    { additionalProperties: true },
  ),
  exampleSite,
)

export const collectionListAnswer = success(
  Type.Object({ items: Type.Array(collectionObject), totalCount, nextCursor }),
  {
    items: [exampleItem],
    totalCount: 1,
  },
)

export const integrationListAnswer = success(
  Type.Object({
    items: Type.Array(integrationObject),
    totalCount,
    nextCursor,
    groups: Type.Optional(
      Type.Array(
        Type.Object({
          value: Type.Union([Type.String(), Type.Null()]),
          count: Type.Integer({ minimum: 1 }),
          items: Type.Array(integrationObject),
        }),
      ),
    ),
  }),
  { items: [exampleProduct], totalCount: 1 },
)

export const previewAnswer = success(Type.Union([collectionObject, integrationObject]), exampleItem)

export const checkoutAnswer = success(
  Type.String({ format: 'uri', description: 'Where to send the customer.' }),
  'https://checkout.stripe.com/c/pay/cs_test_a1b2c3',
)

/** spec §4.7: the one answer without an envelope. */
export const mailAnswer = Type.Literal(true, {
  description: 'Accepted: the message is stored and will be delivered.',
  examples: [true],
})

export const submissionAnswer = success(collectionObject, {
  ...exampleItem,
  objectValue: {
    _id: exampleItem._id,
    rating: 5,
    title: 'Good bread',
    body: 'Every morning.',
    author: 'Ada',
    mediaFields: {},
  },
  collectionObj: { name: 'Reviews', refID: '66f0c0ffee0123456789abce' },
  publishDate: exampleItem.createdAt,
})

const commonFailures: ErrorCode[] = ['ValidationError', 'Unauthorized', 'RateLimited', 'InternalError', 'Unavailable']

const exampleMessages: Partial<Record<ErrorCode, string>> = {
  ValidationError: 'limit must be a whole number from 1 to 100.',
  Unauthorized: 'The API key is not valid.',
  OriginNotAllowed: 'A checkout of this group may not return to https://elsewhere.example.',
  RecipientNotAllowed: 'No site of this group lists ada@elsewhere.example as a recipient.',
  NotFound: 'There is no collection with this collectionId.',
  ProductUnavailable: 'What the price "price_large" belongs to is not on sale.',
  PreviewExpired: 'This preview has expired. Share a new preview link.',
  PayloadTooLarge: 'The body is too large.',
  QuotaExceeded: 'The group would have 1.01 GB in the database, of 1 GB that its tier allows.',
  UnsupportedMediaType: 'Send the body as Content-Type: application/json.',
  IdempotencyMismatch: 'This Idempotency-Key was used for another request. Use a new key for each request.',
  RateLimited: 'Too many requests. Wait the seconds in Retry-After and try again.',
  InternalError: internalErrorMessage,
  ProviderError: 'The payment provider did not accept the checkout.',
  Unavailable: 'The service is busy. Try again in a moment.',
}

/** One answer for each status; statuses with several codes list them. */
export function failureAnswers(failures: ErrorCode[], { isDelivery = true } = {}): Record<number, TSchema> {
  const codes: ErrorCode[] = [...commonFailures, ...(isDelivery ? (['GroupFrozen'] as const) : []), ...failures]
  const statuses = [...new Set(codes.map((code) => statusOfCode[code]))].sort()
  return Object.fromEntries(
    statuses.map((status) => {
      const names = codes.filter((code) => statusOfCode[code] === status)
      const answer = Type.Object(
        {
          success: Type.Literal(false),
          data: Type.Null(),
          error: Type.String({ description: 'A message that explains what to do.' }),
          code: Type.Union(names.map((name) => Type.Literal(name))),
        },
        {
          description: names.map((name) => `\`${name}\``).join(' or '),
          examples: [
            { success: false, data: null, error: exampleMessages[names[0] as ErrorCode] ?? '', code: names[0] },
          ],
        },
      )
      return [status, answer]
    }),
  )
}
