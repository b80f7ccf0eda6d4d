import { isUtf8 } from 'node:buffer'
import type { Clock } from '../clock.ts'
import { invalid, notFound } from '../errors.ts'
import { idPattern } from '../ids.ts'
import { type ContentWriter, writeContent } from '../store/changes.ts'
import type { GroupStore } from '../store/groups.ts'
import { findPlacedIntegration, noteSync } from '../store/integrations.ts'
import { insertJob } from '../store/jobs.ts'
import type { Store } from '../store/open.ts'
import { noteEvent } from '../store/provider-events.ts'
import { orderJob, refreshJob } from './jobs.ts'
import { type Payments, webhookSecretField } from './payments.ts'
import type { ProviderEvent } from './provider.ts'

export interface ReceiveDeps {
  store: Store
  payments: Pick<Payments, 'vault' | 'readEvent'>
  clock: Clock
}

/** What a provider calls us with, and from where. */
export interface ProviderCall {
  type: string
  integrationId: string
  /** The very bytes that were signed. */
  body: Buffer
  signature: string
  address: string
}

/** One that is not there, is of another type, or whose group is about to go: the same answer. */
async function findCalled(store: Store, { type, integrationId }: ProviderCall) {
  const found = idPattern.test(integrationId) ? await findPlacedIntegration(store, integrationId) : undefined
  if (found?.integration.type !== type || found.owner.deletingMs !== null)
    throw notFound('There is no such integration. Does the address have the id that it was connected under?')
  return found
}

/** Each event is taken once. What it is about is looked up later, so neither order nor duplicates matter. */
async function take(writer: ContentWriter, integrationId: string, event: ProviderEvent): Promise<void> {
  const { concerns } = event
  if (!concerns || !(await noteEvent(writer, integrationId, event))) return
  await noteSync(writer, integrationId, { lastEventMs: writer.nowMs })
  const jobFor = concerns.kind === 'product' ? refreshJob : orderJob
  await insertJob(writer, jobFor(integrationId, concerns.id))
}

/** A vault that does not open is none of the caller's business. */
async function readSecret({ vault }: ReceiveDeps['payments'], group: GroupStore, id: string) {
  try {
    return await vault.read(group, id, webhookSecretField)
  } catch (error) {
    throw new Error('A webhook secret cannot be read.', { cause: error })
  }
}

/** Takes a call of a provider, or throws why not. Nothing is asked of the provider here: it waits for the answer. */
export async function receiveEvent({ store, payments, clock }: ReceiveDeps, call: ProviderCall): Promise<void> {
  const { owner, group, integration } = await findCalled(store, call)
  const { id, type, live } = integration
  const secret = await readSecret(payments, group, id)
  if (secret === undefined) throw invalid('No webhook secret is configured for this integration, so calls are refused.')
  const { body, signature, address } = call
  if (!isUtf8(body)) throw invalid('The body is not text.') // to check that by its signature would take much longer
  const nowMs = clock()
  const event = await payments.readEvent(type, { body, signature, secret, nowMs })
  if (event.live !== live || !event.concerns) return // not about what we keep
  const author = { id: null, name: type, address }
  const { versionsKept } = owner
  await writeContent(group, { author, verb: 'webhook', nowMs, versionsKept }, (writer) => take(writer, id, event))
}
