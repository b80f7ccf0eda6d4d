import type { JobHandler } from '../../jobs/handler.ts'
import type { GroupStore } from '../../store/groups.ts'
import { openBooks, readBooks, wants } from './books.ts'
import { settleSession } from './completion.ts'
import { signatureOf, webhookSecretOf } from './keys.ts'
import { type Event, type EventWork, eventKind, type SettleWork, settleKind, type WebhookEndpoint } from './objects.ts'
import type { SandboxDeps } from './server.ts'

const retryAfterSeconds = [5, 30, 300, 3600]
/** Where this service is called; an endpoint may name any host and query, and they do not matter. */
const webhookPath = /^\/webhooks\/([^/]+)\/([^/]+)$/

/**
 * Tells of events, signed as the provider signs. Only this service is told, and without a call over the network: it need
 * not be able to reach itself under its public address.
 */
function eventHandler({ clock, signingKey, receive }: SandboxDeps): JobHandler {
  async function tell(event: Event, integrationId: string, endpoint: WebhookEndpoint): Promise<void> {
    const { pathname } = new URL(endpoint.url)
    const [, type, calledId] = webhookPath.exec(pathname) ?? []
    if (type === undefined || calledId === undefined) throw new Error('nobody listens there')
    const body = JSON.stringify(event, null, 2)
    const signature = signatureOf(webhookSecretOf(signingKey, integrationId, endpoint.id), body, clock())
    await receive({ type, integrationId: calledId, body: Buffer.from(body), signature, address: 'sandbox' })
  }

  async function deliver(group: GroupStore, { integrationId, eventId }: EventWork): Promise<void> {
    const books = readBooks(group, integrationId, clock())
    const event = await books.find('event', eventId)
    if (!event) return
    for await (const endpoint of books.each('webhook_endpoint')) {
      if (!wants(endpoint.enabled_events, event.type)) continue
      await tell(event, integrationId, endpoint).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        throw new Error(`${event.type} could not be told at ${endpoint.url}: ${reason}`, { cause: error })
      })
    }
  }

  return {
    kind: eventKind,
    retryAfterSeconds,
    limitSeconds: 60,
    run: ({ payload }, { group }) => deliver(group, payload as EventWork),
  }
}

/** Lets a payment that takes its time come in, or fail. */
const settleHandler: JobHandler = {
  kind: settleKind,
  retryAfterSeconds,
  limitSeconds: 60,
  run: async ({ payload }, { finish }) => {
    const work = payload as SettleWork
    await finish((writer) => settleSession(openBooks(writer, work.integrationId), work))
  },
}

export const sandboxHandlers = (deps: SandboxDeps): JobHandler[] => [eventHandler(deps), settleHandler]
