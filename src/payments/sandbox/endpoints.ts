import type { Group } from '../../store/groups.ts'
import type { Books, OpenBooks, PageOf } from './books.ts'
import type { Form } from './form.ts'
import { type ParameterTypes, readParameters } from './parameters.ts'
import { createPrice, findPrice, listPrices, updatePrice } from './prices.ts'
import { createProduct, deleteProduct, findProduct, updateProduct } from './products.ts'
import { asList, createSession, expanded, findSession, listLines, listSessions, sessionsPath } from './sessions.ts'
import { createWebhookEndpoint, deleteWebhookEndpoint } from './webhook-endpoints.ts'

/** What a call is about. */
export interface Call {
  /** Of what the address names. */
  id: string
  path: string
  owner: Group
  /** Where a customer pays. */
  pageOf(sessionId: string): string
  webhookSecretOf(endpointId: string): string
}

/** One call of the provider's API. Its parameters are read before anything is done. */
export interface Endpoint<Access extends Books> {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  prepare(form: Form): (books: Access, call: Call) => Promise<object>
  /** What is said once and kept nowhere. */
  addSecret?(answer: object, call: Call): object
}

function endpoint<Access extends Books, Name extends keyof ParameterTypes>(
  method: Endpoint<Access>['method'],
  path: string,
  name: Name,
  run: (books: Access, given: ParameterTypes[Name], call: Call) => Promise<object>,
): Endpoint<Access> {
  return {
    method,
    path,
    prepare(form) {
      const given = readParameters(name, form)
      return (books, call) => run(books, given, call)
    },
  }
}

const read = <Name extends keyof ParameterTypes>(
  path: string,
  name: Name,
  run: (books: Books, given: ParameterTypes[Name], call: Call) => Promise<object>,
) => endpoint<Books, Name>('GET', path, name, run)

const list = <Name extends keyof ParameterTypes>(
  path: string,
  name: Name,
  run: (books: Books, given: ParameterTypes[Name], call: Call) => Promise<PageOf<object>>,
) => read(path, name, async (books, given, call) => asList(await run(books, given, call), call.path))

const post = <Name extends keyof ParameterTypes>(
  path: string,
  name: Name,
  run: (books: OpenBooks, given: ParameterTypes[Name], call: Call) => Promise<object>,
) => endpoint<OpenBooks, Name>('POST', path, name, run)

const remove = <Name extends keyof ParameterTypes>(
  path: string,
  name: Name,
  run: (books: OpenBooks, given: ParameterTypes[Name], call: Call) => Promise<object>,
) => endpoint<OpenBooks, Name>('DELETE', path, name, run)

export const readingEndpoints: Endpoint<Books>[] = [
  read('/v1/account', 'AccountRetrieveParams', async (books, _given, { owner }) => accountOf(books, owner)),
  list('/v1/products', 'ProductListParams', (books, given) => books.page('product', given)),
  read('/v1/products/:id', 'ProductRetrieveParams', (books, _given, { id }) => findProduct(books, id)),
  list('/v1/prices', 'PriceListParams', listPrices),
  read('/v1/prices/:id', 'PriceRetrieveParams', (books, _given, { id }) => findPrice(books, id)),
  list(sessionsPath, 'SessionListParams', listSessions),
  read(`${sessionsPath}/:id`, 'SessionRetrieveParams', async (books, given, { id }) =>
    expanded(await findSession(books, id), given.expand),
  ),
  list(`${sessionsPath}/:id/line_items`, 'SessionListLineItemsParams', (books, given, { id }) =>
    listLines(books, id, given),
  ),
  list('/v1/events', 'EventListParams', (books, given) => books.page('event', given)),
]

export const writingEndpoints: Endpoint<OpenBooks>[] = [
  post('/v1/products', 'ProductCreateParams', createProduct),
  post('/v1/products/:id', 'ProductUpdateParams', (books, given, { id }) => updateProduct(books, id, given)),
  remove('/v1/products/:id', 'ProductDeleteParams', (books, _given, { id }) => deleteProduct(books, id)),
  post('/v1/prices', 'PriceCreateParams', createPrice),
  post('/v1/prices/:id', 'PriceUpdateParams', (books, given, { id }) => updatePrice(books, id, given)),
  post(sessionsPath, 'SessionCreateParams', createSession),
  {
    ...post('/v1/webhook_endpoints', 'WebhookEndpointCreateParams', createWebhookEndpoint),
    addSecret: (answer, { webhookSecretOf }) =>
      'id' in answer ? { ...answer, secret: webhookSecretOf(String(answer.id)) } : answer,
  },
  remove('/v1/webhook_endpoints/:id', 'WebhookEndpointDeleteParams', (books, _given, { id }) =>
    deleteWebhookEndpoint(books, id),
  ),
]

function accountOf({ integrationId }: Books, { name }: Group): object {
  return {
    id: `acct_${integrationId}`,
    object: 'account',
    business_profile: { name },
    charges_enabled: true,
    country: 'US',
    default_currency: 'usd',
    details_submitted: true,
    email: null,
    payouts_enabled: true,
    settings: { dashboard: { display_name: `${name} (sandbox)`, timezone: 'Etc/UTC' } },
    type: 'standard',
  }
}
