import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { invalid } from '../errors.ts'
import type { JobHandler } from '../jobs/handler.ts'
import { deriveKey } from '../master-key.ts'
import type { GroupStore } from '../store/groups.ts'
import type { Integration } from '../store/integrations.ts'
import type { Store } from '../store/open.ts'
import type { Vault } from '../vault.ts'
import { type Provider, type ProviderEvent, ProviderFailure } from './provider.ts'
import { openPublic } from './public-fetch.ts'
import { receiveEvent } from './receive-event.ts'
import { createSandbox } from './sandbox/sandbox.ts'
import { openStripe, readStripeEvent } from './stripe.ts'

/** The stand-in for a payment provider, for those who have no account. It listens from the first call on, on loopback. */
export interface Sandbox {
  /** With which an integration proves to the stand-in who it is. */
  secretKeyOf(integrationId: string): string
  /** The address of its API. */
  url(): Promise<string>
  /** Adds the pages on which customers pay. Anybody may come there, so who does is limited. */
  registerPages(app: FastifyInstance, limit: (request: FastifyRequest, reply: FastifyReply) => void): void
  /** Tells us of events, as the provider's webhooks do. */
  handlers: JobHandler[]
  close(): Promise<void>
}

/** Who wants to speak to a provider, and how. */
export interface Credentials {
  type: string
  secretKey: string
  sandbox: boolean
}

/** Everything about payment providers. */
export interface Payments {
  vault: Vault
  sandbox: Sandbox
  /** The provider's side of an account, with the key that we keep for it. */
  open(group: GroupStore, integration: Integration): Promise<Provider>
  /** The same with a key that is not kept (yet). */
  openWith(credentials: Credentials): Promise<Provider>
  /** Reads what a provider sends us; throws a `ValidationError` where it was not signed with the secret, or too long ago. */
  readEvent(
    type: string,
    call: { body: Buffer; signature: string; secret: string; nowMs: number },
  ): Promise<ProviderEvent>
  /** Where the provider calls us about an account; undefined where it could not reach us. */
  webhookUrl(integration: Pick<Integration, 'id' | 'type' | 'sandbox'>): string | undefined
  /** Logs that the provider was not made to call us, and why. */
  onWebhookProblem(integration: Pick<Integration, 'id' | 'type'>, error: unknown): void
  /** Opens a picture at an address that somebody else chose: only on the public Internet, and nowhere else. */
  openPicture(url: string, signal: AbortSignal): Promise<Readable>
  close(): Promise<void>
}

/** Where a secret of an integration is kept in the vault. */
export const secretKeyField = 'secretKey'
export const webhookSecretField = 'webhookSecret'

export const providerTypes = ['stripe'] as const

interface PaymentsDeps {
  config: Config
  masterKey: Buffer
  vault: Vault
  store: Store
  clock: Clock
  /** Where this service is reached. */
  baseUrl(): string
  logger?: Logger
}

export function createPayments({ config, masterKey, vault, store, clock, baseUrl, logger }: PaymentsDeps): Payments {
  const sandbox = createSandbox({
    store,
    clock,
    baseUrl,
    receive: (call) => receiveEvent({ store, payments, clock }, call),
    signingKey: deriveKey(masterKey, 'sandbox'),
    onError: (error) => logger?.error({ err: error }, 'the sandbox failed'),
  })

  async function openWith({ type, secretKey, sandbox: isSandbox }: Credentials): Promise<Provider> {
    if (type !== 'stripe') throw invalid(`type must be one of ${providerTypes.join(', ')}.`)
    return openStripe({ secretKey, url: isSandbox ? await sandbox.url() : config.stripeUrl })
  }

  const payments: Payments = {
    vault,
    sandbox,
    openWith,
    async open(group, { id, type, sandbox: isSandbox }) {
      const secretKey = await vault.read(group, id, secretKeyField)
      if (secretKey === undefined) throw new ProviderFailure('refused', 'No key is kept for this account.')
      return openWith({ type, secretKey, sandbox: isSandbox })
    },
    readEvent: (_type, call) => readStripeEvent(call), // there is one type so far
    webhookUrl({ id, type, sandbox: isSandbox }) {
      // A provider out there calls an address of the public Internet only, and only by https.
      const base = isSandbox ? baseUrl() : config.publicUrl
      return base?.startsWith('https:') || isSandbox ? `${base}/webhooks/${type}/${id}` : undefined
    },
    onWebhookProblem: ({ id, type }, error) =>
      logger?.warn(
        { err: error, integrationId: id, type },
        'a webhook was not registered; changes are seen at the next comparison only',
      ),
    openPicture: (url, signal) => openPublic(url, { signal }),
    close: () => sandbox.close(),
  }
  return payments
}
