import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
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

/** Everything about payment providers. */
export interface Payments {
  vault: Vault
  sandbox: Sandbox
  /** The provider's side of an account, with the stored key. */
  open(group: GroupStore, integration: Integration): Promise<Provider>
  /** The same with a key that is not stored (yet). */
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
}

/** Where a secret of an integration is kept in the vault. */
export const secretKeyField = 'secretKey'
export const webhookSecretField = 'webhookSecret'

export const providerTypes = ['stripe'] as const

interface PaymentsDeps {
  config: Config
  vault: Vault
  store: Store
  clock: Clock
  /** Where this service is reached. */
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
    async openPicture(url, signal) {
      const { openPublic } = await import('./public-fetch.ts') // with a TLS client
      return openPublic(url, { signal })
    },
  }
}
