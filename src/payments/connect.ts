import { AppError, conflict, invalid } from '../core/errors.ts'
import { makeId } from '../core/ids.ts'
import {
  findIntegrationById,
  type Integration,
  insertIntegration,
  listIntegrations,
  registerIntegration,
  unregisterIntegration,
  updateIntegration,
} from '../store/commerce/integrations.ts'
import { type Authoring, type ContentWriter, writeContent } from '../store/content/changes.ts'
import { deleteSecrets } from '../store/content/secrets.ts'
import { insertJob, retryJob } from '../store/jobs/jobs.ts'
import type { GroupStore, Store } from '../store/store.ts'
import { syncJob } from './jobs.ts'
import { type Payments, secretKeyField, webhookSecretField } from './payments.ts'
import { type Provider, type ProviderAccount, ProviderFailure } from './provider.ts'

export interface ConnectDeps {
  store: Store
  payments: Payments
  authoring: Authoring
  /** Checks the caller's rights again after the slow calls to the provider. */
  confirm(): Promise<void>
}

export interface NewAccount {
  type: string
  accountHandle: string
  /** Undefined for the sandbox, which needs none. */
  secretKey: string | undefined
  /** Fills the sandbox before its catalogue is read. */
  fill?(integrationId: string): Promise<void>
}

/** Enqueues a sync of the catalogue to run at once, without the backoff of a failed one. */
export async function requestSync(writer: ContentWriter, integrationId: string): Promise<void> {
  await retryJob(writer, await insertJob(writer, syncJob(integrationId)))
}

/** The failure as an editor should see it. */
function explain(error: unknown): unknown {
  if (!(error instanceof ProviderFailure)) return error
  const { kind, message, retryAfterSeconds = 5 } = error
  if (kind === 'refused') return invalid(message)
  if (kind === 'unreachable' || kind === 'limited') return new AppError('Unavailable', message, { retryAfterSeconds })
  return new AppError('ProviderError', message)
}

async function verify(provider: Provider): Promise<ProviderAccount> {
  try {
    return await provider.verify()
  } catch (error) {
    throw explain(error)
  }
}

const maxAccounts = 100

/** The same account connected twice would show every product twice; two with one handle would be indistinguishable. */
async function refuseDuplicate(
  group: GroupStore,
  { type, accountHandle }: NewAccount,
  accountId: string,
): Promise<void> {
  const others = await listIntegrations(group, type)
  if (others.length >= maxAccounts) throw conflict(`A group has at most ${maxAccounts} accounts of one type.`)
  for (const other of others) {
    const isSame = accountId !== '' && accountId === other.accountId
    if (!isSame && other.accountHandle !== accountHandle) continue
    if (other.status === 'disconnecting')
      throw conflict(`"${other.accountHandle}" is still being disconnected. Try again in a moment.`)
    throw conflict(
      isSame
        ? `This account is already connected as "${other.accountHandle}".`
        : `There is already a ${type} account "${accountHandle}" in this group.`,
    )
  }
}

/** Verifies the key and connects the account; a job then imports its catalogue. */
export async function connectAccount(deps: ConnectDeps, group: GroupStore, input: NewAccount): Promise<Integration> {
  const { store, payments, authoring, confirm } = deps
  const { type, accountHandle } = input
  const id = makeId()
  const { secretKey } = input
  const sandbox = secretKey === undefined
  await registerIntegration(store, id, group.groupId)
  let connected: Integration
  try {
    const provider = sandbox ? payments.sandbox.open(group, id) : await payments.openWith({ type, secretKey })
    const account = await verify(provider)
    await confirm()
    await refuseDuplicate(group, input, account.id)
    await input.fill?.(id)
    connected = await writeContent(group, authoring, async (writer) => {
      const { id: accountId, name: accountName, live } = account
      await refuseDuplicate(writer.group, input, accountId)
      if (!sandbox) await payments.vault.put(writer, id, secretKeyField, secretKey)
      await requestSync(writer, id)
      return insertIntegration(writer, { id, type, accountHandle, sandbox, accountId, accountName, live })
    })
  } catch (error) {
    await unregisterIntegration(store, id)
    throw error
  }
  // Failure is logged and stored, but undoes nothing: without a webhook the catalogue is still synced, only later.
  if (payments.webhookUrl(connected) !== undefined) await registerWebhook(deps, group, connected).catch(() => {})
  return getIntegration(group, id)
}

export async function getIntegration(group: GroupStore, id: string): Promise<Integration> {
  const found = await findIntegrationById(group, id)
  if (!found) throw new AppError('NotFound', 'There is no such account in this group.')
  return found
}

/** An account being disconnected has lost its secrets and gets no new ones. */
export async function getActiveIntegration(group: GroupStore, id: string): Promise<Integration> {
  const found = await getIntegration(group, id)
  if (found.status !== 'active') throw conflict('This account is being disconnected.')
  return found
}

/** Registers a webhook for all changes, and removes the previous one. */
export async function registerWebhook(
  { payments, authoring }: ConnectDeps,
  group: GroupStore,
  integration: Integration,
): Promise<void> {
  const url = payments.webhookUrl(integration)
  if (url === undefined)
    throw invalid(
      `The provider can only call a public https URL: set PUBLIC_URL to one. Or forward its calls to /webhooks/${integration.type}/${integration.id}, and store the signing secret with "integration secret".`,
    )
  try {
    const provider = await payments.open(group, integration)
    const { id: webhookId, secret } = await provider.registerWebhook(url)
    let obsolete = integration.webhookId
    try {
      await writeContent(group, authoring, async (writer) => {
        const before = await getActiveIntegration(writer.group, integration.id)
        await payments.vault.put(writer, integration.id, webhookSecretField, secret)
        await updateIntegration(writer, before, { webhookId, webhookProblem: null }, 'webhook')
      })
    } catch (error) {
      obsolete = webhookId
      throw error
    } finally {
      // If the removal fails, we refuse its calls, since they are signed with another secret.
      if (obsolete !== null) await provider.removeWebhook(obsolete).catch(() => {})
    }
  } catch (error) {
    payments.onWebhookProblem(integration, error)
    if (error instanceof ProviderFailure)
      await writeContent(group, authoring, async (writer) => {
        const before = await getActiveIntegration(writer.group, integration.id)
        await updateIntegration(writer, before, { webhookProblem: error.message }, 'webhook refused')
      })
    throw explain(error)
  }
}

/** For a webhook that was set up at the provider by hand. */
export async function storeWebhookSecret(
  { payments, authoring }: ConnectDeps,
  group: GroupStore,
  integrationId: string,
  secret: string,
): Promise<void> {
  await writeContent(group, authoring, async (writer) => {
    const before = await getActiveIntegration(writer.group, integrationId)
    await payments.vault.put(writer, integrationId, webhookSecretField, secret)
    await updateIntegration(writer, before, { webhookId: null, webhookProblem: null }, 'webhookSecret')
  })
}

export async function rotateSecretKey(
  { payments, authoring, confirm }: ConnectDeps,
  group: GroupStore,
  { id, type, sandbox, accountId }: Integration,
  secretKey: string,
): Promise<void> {
  if (sandbox) throw invalid('The sandbox has no key to replace.')
  const account = await verify(await payments.openWith({ type, secretKey }))
  if (account.id !== '' && accountId !== '' && account.id !== accountId)
    throw invalid(`This key belongs to another account (${account.id}). Connect that one under a handle of its own.`)
  await confirm()
  await writeContent(group, authoring, async (writer) => {
    const before = await getActiveIntegration(writer.group, id)
    await payments.vault.put(writer, id, secretKeyField, secretKey)
    const change = { accountId: account.id || accountId, accountName: account.name, live: account.live }
    await updateIntegration(writer, before, change, 'secretKey')
    await requestSync(writer, id)
  })
}

/** Before a group is deleted. A provider that cannot be reached does not prevent the deletion. */
export async function removeWebhooks(payments: Payments, group: GroupStore): Promise<void> {
  for (const integration of await listIntegrations(group)) {
    const { webhookId } = integration
    if (webhookId === null || integration.sandbox) continue
    const provider = await payments.open(group, integration).catch(() => undefined)
    await provider?.removeWebhook(webhookId).catch(() => {})
  }
}

/** Deletes the secrets at once; a job then archives the products. Orders stay. */
export async function disconnectAccount(
  { payments, authoring }: ConnectDeps,
  group: GroupStore,
  integration: Integration,
): Promise<void> {
  const { id, webhookId } = integration
  const provider = webhookId === null ? undefined : await payments.open(group, integration).catch(() => undefined)
  await writeContent(group, authoring, async (writer) => {
    const before = await getIntegration(writer.group, id)
    await updateIntegration(writer, before, { status: 'disconnecting', webhookId: null }, 'disconnecting')
    await deleteSecrets(writer, id)
    await requestSync(writer, id)
  })
  // A revoked key or an unreachable provider does not prevent the disconnection.
  if (webhookId !== null) await provider?.removeWebhook(webhookId).catch(() => {})
}
