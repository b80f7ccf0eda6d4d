import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { providerTypes } from '../content/product-edits.ts'
import type { Clock } from '../core/clock.ts'
import { invalid } from '../core/errors.ts'
import type { Vault } from '../security/vault.ts'
import type { Integration } from '../store/commerce/integrations.ts'
import type { GroupStore, Store } from '../store/store.ts'
import { type Provider, type ProviderEvent, ProviderFailure } from './provider.ts'
import { createSandbox, type Sandbox } from './sandbox/sandbox.ts'
import { openStripe, readStripeEvent } from './stripe/stripe.ts'

export interface Credentials {
  type: string
  secretKey: string
}

export interface Payments {
  vault: Vault
  sandbox: Sandbox
  /** Opens an account with its stored key. */
  open(group: GroupStore, integration: Integration): Promise<Provider>
  /** Opens an account with a key that is not stored (yet). */
  openWith(credentials: Credentials): Promise<Provider>
  /** Reads a webhook call; throws a `ValidationError` unless it was recently signed with the secret. */
  readEvent(
    type: string,
    call: { body: Buffer; signature: string; secret: string; nowMs: number },
  ): Promise<ProviderEvent>
  /** The webhook URL of an account; undefined if the provider could not reach it. */
  webhookUrl(integration: Pick<Integration, 'id' | 'type' | 'sandbox'>): string | undefined
  /** Logs why a webhook was not registered. */
  onWebhookProblem(integration: Pick<Integration, 'id' | 'type'>, error: unknown): void
  /** Opens a picture at an untrusted URL, on the public Internet only. */
  openPicture(url: string, signal: AbortSignal): Promise<Readable>
}

/** The vault's fields for an integration's secrets. */
export const secretKeyField = 'secretKey'
export const webhookSecretField = 'webhookSecret'

interface PaymentsDeps {
  config: Config
  vault: Vault
  store: Store
  clock: Clock
  baseUrl(): string
  logger?: Logger
}

export function createPayments({ config, vault, store, clock, baseUrl, logger }: PaymentsDeps): Payments {
  const sandbox = createSandbox({ store, clock, baseUrl })

  async function openWith({ type, secretKey }: Credentials): Promise<Provider> {
    if (type !== 'stripe') throw invalid(`type must be one of ${providerTypes.join(', ')}.`)
    return openStripe({ secretKey, url: config.stripeUrl })
  }

  return {
    vault,
    sandbox,
    openWith,
    async open(group, { id, type, sandbox: isSandbox }) {
      if (isSandbox) return sandbox.open(group, id)
      const secretKey = await vault.read(group, id, secretKeyField)
      if (secretKey === undefined) throw new ProviderFailure('refused', 'No key is stored for this account.')
      return openWith({ type, secretKey })
    },
    readEvent: (_type, call) => readStripeEvent(call), // the only type so far
    webhookUrl({ id, type, sandbox: isSandbox }) {
      // An external provider calls only public https URLs.
      const base = isSandbox ? baseUrl() : config.publicUrl
      return base?.startsWith('https:') || isSandbox ? `${base}/webhooks/${type}/${id}` : undefined
    },
    onWebhookProblem: ({ id, type }, error) =>
      logger?.warn(
        { err: error, integrationId: id, type },
        'a webhook was not registered; changes arrive only with the next sync',
      ),
    async openPicture(url, signal) {
      const { openPublic } = await import('./public-fetch.ts') // loads a TLS client
      return openPublic(url, { signal })
    },
  }
}
