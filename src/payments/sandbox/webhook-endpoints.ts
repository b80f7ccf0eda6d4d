import { type OpenBooks, secondsOf } from './books.ts'
import { checkUrl } from './checks.ts'
import { newId, type WebhookEndpoint } from './objects.ts'
import type { ParameterTypes } from './parameters.ts'
import { noSuch, Refusal, refuse } from './refusal.ts'

const mostEndpoints = 16

export async function createWebhookEndpoint(
  books: OpenBooks,
  given: ParameterTypes['WebhookEndpointCreateParams'],
): Promise<WebhookEndpoint> {
  const { url, enabled_events: events } = given
  checkUrl('url', url)
  if (events.length === 0) throw refuse('enabled_events', 'Name at least one event.', 'parameter_invalid_empty')
  const { items } = await books.page('webhook_endpoint', { limit: mostEndpoints })
  if (items.length === mostEndpoints)
    throw new Refusal(400, `You have reached the maximum of ${mostEndpoints} webhook endpoints.`)
  const endpoint: WebhookEndpoint = {
    id: newId('we_'),
    object: 'webhook_endpoint',
    api_version: given.api_version ?? null,
    application: null,
    created: secondsOf(books),
    description: given.description || null,
    enabled_events: events,
    livemode: false,
    metadata: {},
    status: 'enabled',
    url,
  }
  await books.put('webhook_endpoint', endpoint.id, endpoint)
  return endpoint
}

export async function deleteWebhookEndpoint(books: OpenBooks, id: string) {
  if (!(await books.find('webhook_endpoint', id))) throw noSuch('webhook endpoint', id)
  await books.remove(id)
  return { id, object: 'webhook_endpoint', deleted: true }
}
