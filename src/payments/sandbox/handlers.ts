import type { JobHandler } from '../../jobs/handler.ts'
import type { GroupStore } from '../../store/groups.ts'
import { openBooks, readBooks, wants } from './books.ts'
import { settleSession } from './completion.ts'
import { signatureOf, webhookSecretOf } from './keys.ts'
import { type EventWork, eventKind, type SettleWork, settleKind } from './objects.ts'
import type { SandboxDeps } from './server.ts'

const retryAfterSeconds = [5, 30, 300, 3600]
const answerWithinMs = 10_000

/** Tells of events by HTTP, signed as the provider signs. Whatever host an endpoint names, only this service is called. */
function eventHandler({ clock, signingKey, baseUrl }: SandboxDeps): JobHandler {
  async function deliver(group: GroupStore, { integrationId, eventId }: EventWork, signal: AbortSignal): Promise<void> {
    const books = readBooks(group, integrationId, clock())
    const event = await books.find('event', eventId)
    if (!event) return
    const body = JSON.stringify(event, null, 2)
    for await (const { id, url, enabled_events: events } of books.each('webhook_endpoint')) {
      if (!wants(events, event.type)) continue
      const { pathname, search } = new URL(url)
      const answer = await fetch(`${baseUrl()}${pathname}${search}`, {
        method: 'POST',
        body,
        headers: {
          'Content-Type': 'application/json; charset=utf-8',
          'Stripe-Signature': signatureOf(webhookSecretOf(signingKey, integrationId, id), body, clock()),
        },
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(answerWithinMs)]),
      })
      await answer.body?.cancel()
      if (!answer.ok) throw new Error(`The webhook at ${pathname} answered ${answer.status}.`)
    }
  }

  return {
    kind: eventKind,
    retryAfterSeconds,
    limitSeconds: 60,
    run: ({ payload }, { group, signal }) => deliver(group, payload as EventWork, signal),
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
