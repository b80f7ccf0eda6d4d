import { type Ask, createAsk } from './http.ts'
import { type ClientOptions, checkOptions } from './options.ts'
import { eachItem } from './paging.ts'
import type {
  AllOptions,
  AllProductsOptions,
  CallOptions,
  CheckoutOptions,
  ListOptions,
  ListProductsOptions,
  SendOptions,
} from './query.ts'
import type {
  CheckoutRequest,
  CollectionList,
  CollectionObject,
  ContactEmailRequest,
  IntegrationList,
  IntegrationObject,
  OpenFields,
  OrderPlacedEmailRequest,
  Previewed,
  ProductFields,
  ReviewRequest,
  SiteDetails,
  SubscriberRequest,
} from './wire.ts'

type AnyObject = CollectionObject<object> | IntegrationObject<object>

/** Every call gives the answer's `data`, or rejects with a `SluiceError`. */
export interface SluiceClient {
  site: {
    details(siteId: string, options?: CallOptions): Promise<SiteDetails>
  }
  collections: {
    /** One page of what is published. */
    list<Fields extends object = OpenFields>(
      collectionId: string,
      options?: ListOptions,
    ): Promise<CollectionList<Fields>>
    /** Everything that is published, page after page. */
    all<Fields extends object = OpenFields>(
      collectionId: string,
      options?: AllOptions,
    ): AsyncGenerator<CollectionObject<Fields>, void, undefined>
  }
  products: {
    /** One page of what is on sale. */
    list<Fields extends object = ProductFields>(options: ListProductsOptions): Promise<IntegrationList<Fields>>
    /** Everything that is on sale, page after page. */
    all<Fields extends object = ProductFields>(
      options: AllProductsOptions,
    ): AsyncGenerator<IntegrationObject<Fields>, void, undefined>
  }
  checkout: {
    /** The address at which the customer pays: redirect them to it. However often it is tried, there is one session. */
    create(request: CheckoutRequest, options?: CheckoutOptions): Promise<string>
  }
  reviews: {
    /** Stores what a visitor thinks, and gives it as it will be listed. However often it is tried, there is one. */
    create<Fields extends object = OpenFields>(
      review: ReviewRequest,
      options?: SendOptions,
    ): Promise<CollectionObject<Fields>>
  }
  subscribers: {
    /** Stores an address. One that is there already is not stored again: the answer is the subscriber of then. */
    add<Fields extends object = OpenFields>(
      subscriber: SubscriberRequest,
      options?: SendOptions,
    ): Promise<CollectionObject<Fields>>
  }
  /** When these resolve, the message is kept, and will be delivered. However often one is tried, there is one e-mail. */
  email: {
    /** What a visitor writes to the owner of the site. */
    contact(request: ContactEmailRequest, options?: SendOptions): Promise<void>
    /** The confirmation that a customer gets of an order. */
    orderPlaced(request: OrderPlacedEmailRequest, options?: SendOptions): Promise<void>
  }
  /** The one object that the token names, published or not. Only a collection's object has `collectionObj`. */
  preview<Content extends AnyObject = Previewed>(token: string, options?: CallOptions): Promise<Content>
}

const defaultPageSize = 100

export function createClient(options: ClientOptions): SluiceClient {
  refuseBrowser()
  // The key stays in this closure: nothing that prints or serialises the client can show it.
  const settings = checkOptions(options)
  const ask = createAsk(settings)
  // A preview may be limited to a number of uses, and an attempt that failed half-way may have been one.
  const askOnce = createAsk({ ...settings, retries: 0 })

  /** Whatever is sent carries a key of its own, so that to try again is safe. */
  const sendBy =
    (asking: Ask, isBare = false) =>
    <Data>(endpoint: string, body: object, { idempotencyKey = crypto.randomUUID(), signal }: SendOptions = {}) =>
      asking<Data>(endpoint, { body, idempotencyKey, signal, isBare })
  const send = sendBy(ask)
  const sendMail = sendBy(ask, true)
  const sendPatiently = sendBy(createAsk({ ...settings, timeoutMs: settings.checkoutTimeoutMs }))

  const listObjects = <Fields extends object>(collectionId: string, { signal, ...query }: ListOptions = {}) =>
    ask<CollectionList<Fields>>('collectionObjects', { query: { ...query, collectionId }, signal })

  const listProducts = <Fields extends object>({ signal, ...query }: ListProductsOptions) =>
    ask<IntegrationList<Fields>>('integrationObjects', { query, signal })

  return {
    site: {
      details: (siteId, { signal } = {}) => ask('siteDetails', { query: { siteId }, signal }),
    },
    collections: {
      list: listObjects,
      all: <Fields extends object>(
        collectionId: string,
        { pageSize: limit = defaultPageSize, ...criteria }: AllOptions = {},
      ) => eachItem((skip) => listObjects<Fields>(collectionId, { ...criteria, limit, skip })),
    },
    products: {
      list: listProducts,
      all: <Fields extends object>({ pageSize: limit = defaultPageSize, ...criteria }: AllProductsOptions) =>
        eachItem((skip) => listProducts<Fields>({ ...criteria, limit, skip })),
    },
    checkout: {
      create: (request, sending) => sendPatiently('createCheckoutSession', request, sending),
    },
    reviews: {
      create: (review, sending) => send('definedCollectionObject', { ...review, type: 'createReview' }, sending),
    },
    subscribers: {
      add: ({ collectionId, company_website, ...objectValue }, sending) => {
        const subscriber = { collectionId, type: 'subscribeUser', objectValue, company_website }
        return send('definedCollectionObject', subscriber, sending)
      },
    },
    email: {
      contact: async (request, sending) => void (await sendMail('sendContactEmail', request, sending)),
      orderPlaced: async (request, sending) => void (await sendMail('sendOrderPlacedEmail', request, sending)),
    },
    preview: (token, { signal } = {}) => askOnce('preview', { query: { token }, signal }),
  }
}

function refuseBrowser() {
  if ('window' in globalThis && 'document' in globalThis) {
    throw new Error('@sluice/client runs on a server only: in a browser every visitor could read the API key')
  }
}
