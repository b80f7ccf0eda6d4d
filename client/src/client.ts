import { type CallEndpoint, createEndpointCaller } from './http.ts'
import { type ClientOptions, checkOptions } from './options.ts'
import { eachItem, firstPage } from './paging.ts'
import type {
  AllOptions,
  AllProductsOptions,
  CheckoutOptions,
  ListOptions,
  ListProductsOptions,
  ObjectPreviewOptions,
  PreviewOptions,
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
  OpenTargets,
  OrderPlacedEmailRequest,
  Previewed,
  ProductFields,
  ReviewRequest,
  SiteDetails,
  SubscriberRequest,
} from './wire.ts'

type AnyObject = CollectionObject<object> | IntegrationObject<object>

/** Every call resolves with the answer's `data`, or rejects with a `SluiceError`. */
export interface SluiceClient {
  site: {
    details(siteId: string, options?: PreviewOptions): Promise<SiteDetails>
  }
  collections: {
    /** A page of published items. */
    list<Fields extends object = OpenFields, Targets extends object = OpenTargets>(
      collectionId: string,
      options?: ListOptions,
    ): Promise<CollectionList<Fields, Targets>>
    /** All published items, page by page. */
    all<Fields extends object = OpenFields, Targets extends object = OpenTargets>(
      collectionId: string,
      options?: AllOptions,
    ): AsyncGenerator<CollectionObject<Fields, Targets>, void, undefined>
  }
  products: {
    /** A page of published products. */
    list<Fields extends object = ProductFields, Targets extends object = OpenTargets>(
      options: ListProductsOptions,
    ): Promise<IntegrationList<Fields, Targets>>
    /** All published products, page by page. */
    all<Fields extends object = ProductFields, Targets extends object = OpenTargets>(
      options: AllProductsOptions,
    ): AsyncGenerator<IntegrationObject<Fields, Targets>, void, undefined>
  }
  checkout: {
    /** Returns the URL of the payment page, to which to redirect the customer. Retries create no further session. */
    create(request: CheckoutRequest, options?: CheckoutOptions): Promise<string>
  }
  reviews: {
    /** Stores a review and returns it as in listings. Retries store no further review. */
    create<Fields extends object = OpenFields>(
      review: ReviewRequest,
      options?: SendOptions,
    ): Promise<CollectionObject<Fields>>
  }
  subscribers: {
    /** Stores an address. If it has already subscribed, the existing subscriber is returned. */
    add<Fields extends object = OpenFields>(
      subscriber: SubscriberRequest,
      options?: SendOptions,
    ): Promise<CollectionObject<Fields>>
  }
  /** When these resolve, the message is stored and will be delivered. Retries send no further e-mail. */
  email: {
    /** Sends a visitor's message to the owner of the site. */
    contact(request: ContactEmailRequest, options?: SendOptions): Promise<void>
    /** Confirms an order to the customer. */
    orderPlaced(request: OrderPlacedEmailRequest, options?: SendOptions): Promise<void>
  }
  /** The object of a preview token, published or not. Only a collection's object has `collectionObj`. */
  preview<Content extends AnyObject = Previewed>(token: string, options?: ObjectPreviewOptions): Promise<Content>
}

const defaultPageSize = 100

export function createClient(options: ClientOptions): SluiceClient {
  refuseBrowser()
  // The key stays in this closure, so that printing or serialising the client cannot reveal it.
  const settings = checkOptions(options)
  const call = createEndpointCaller(settings)
  // The uses of a preview may be limited, and a failed attempt may count as one.
  const callOnce = createEndpointCaller({ ...settings, retries: 0 })
  const callFor = ({ preview }: { preview?: string | undefined }) => (preview === undefined ? call : callOnce)

  /** Each request has an idempotency key, so that retries are safe. */
  const sendBy =
    (callEndpoint: CallEndpoint, isBare = false) =>
    <Data>(endpoint: string, body: object, { idempotencyKey = crypto.randomUUID(), signal }: SendOptions = {}) =>
      callEndpoint<Data>(endpoint, { body, idempotencyKey, signal, isBare })
  const send = sendBy(call)
  const sendMail = sendBy(call, true)
  const sendCheckout = sendBy(createEndpointCaller({ ...settings, timeoutMs: settings.checkoutTimeoutMs }))

  const listObjects = <Fields extends object, Targets extends object>(
    collectionId: string,
    { signal, ...query }: ListOptions = {},
  ) =>
    callFor(query)<CollectionList<Fields, Targets>>('collectionObjects', { query: { ...query, collectionId }, signal })

  const listProducts = <Fields extends object, Targets extends object>({ signal, ...query }: ListProductsOptions) =>
    callFor(query)<IntegrationList<Fields, Targets>>('integrationObjects', { query, signal })

  return {
    site: {
      details: (siteId, { signal, preview } = {}) =>
        callFor({ preview })('siteDetails', { query: { siteId, preview }, signal }),
    },
    collections: {
      list: listObjects,
      all: <Fields extends object, Targets extends object>(
        collectionId: string,
        { pageSize: limit = defaultPageSize, ...criteria }: AllOptions = {},
      ) =>
        eachItem(firstPage(criteria.sort), (start) =>
          listObjects<Fields, Targets>(collectionId, { ...criteria, ...start, limit }),
        ),
    },
    products: {
      list: listProducts,
      all: <Fields extends object, Targets extends object>({
        pageSize: limit = defaultPageSize,
        ...criteria
      }: AllProductsOptions) =>
        eachItem(firstPage(criteria.sort), (start) => listProducts<Fields, Targets>({ ...criteria, ...start, limit })),
    },
    checkout: {
      create: (request, sending) => sendCheckout('createCheckoutSession', request, sending),
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
    preview: (token, { signal, expand } = {}) => callOnce('preview', { query: { token, expand }, signal }),
  }
}

function refuseBrowser() {
  if ('window' in globalThis && 'document' in globalThis) {
    throw new Error('@sluice/client runs on a server only: in a browser every visitor could read the API key')
  }
}
