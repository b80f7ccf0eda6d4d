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

/** How accounts of a group come, change and go. */
export interface ConnectDeps {
  store: Store
  payments: Payments
  authoring: Authoring
  /** Asks once more whether this may be done: to speak with the provider takes a while. */
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

/** Asks for a walk through the catalogue, at once: one that has failed does not wait for its next attempt. */
export async function requestSync(writer: ContentWriter, integrationId: string): Promise<void> {
  await retryJob(writer, await insertJob(writer, syncJob(integrationId)))
}

/** What a provider does not do, in words for who manages. */
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

const mostAccounts = 100

/** Two accounts that are one would show every product twice; two of one handle could not be told apart. */
async function refuseTwice(group: GroupStore, { type, accountHandle }: NewAccount, accountId: string): Promise<void> {
  const others = await listIntegrations(group, type)
  if (others.length >= mostAccounts) throw conflict(`A group has at most ${mostAccounts} accounts of one type.`)
  for (const other of others) {
    const isSame = accountId !== '' && accountId === other.accountId
    if (!isSame && other.accountHandle !== accountHandle) continue
    if (other.status === 'disconnecting')
      throw conflict(`"${other.accountHandle}" is still being disconnected. Try again in a moment.`)
    throw conflict(
      isSame
        ? `This account is connected already, as "${other.accountHandle}".`
        : `There is already a ${type} account "${accountHandle}" in this group.`,
    )
  }
}

/** Connects an account once its key is known to be good; its catalogue comes in afterwards, as a job. */
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
    await refuseTwice(group, input, account.id)
    await input.fill?.(id)
    connected = await writeContent(group, authoring, async (writer) => {
      const { id: accountId, name: accountName, live } = account
      await refuseTwice(writer.group, input, accountId)
      if (!sandbox) await payments.vault.put(writer, id, secretKeyField, secretKey)
      await requestSync(writer, id)
      return insertIntegration(writer, { id, type, accountHandle, sandbox, accountId, accountName, live })
    })
  } catch (error) {
    await unregisterIntegration(store, id)
    throw error
  }
  // Without it the catalogue still comes, only later: this must not undo what is done. What went wrong is logged and kept.
  if (payments.webhookUrl(connected) !== undefined) await registerWebhook(deps, group, connected).catch(() => {})
  return getIntegration(group, id)
}

export async function getIntegration(group: GroupStore, id: string): Promise<Integration> {
  const found = await findIntegrationById(group, id)
  if (!found) throw new AppError('NotFound', 'There is no such account in this group.')
  return found
}

/** One that is being disconnected has given up its secrets, and gets none again. */
export async function getActiveIntegration(group: GroupStore, id: string): Promise<Integration> {
  const found = await getIntegration(group, id)
  if (found.status !== 'active') throw conflict('This account is being disconnected.')
  return found
}

/** Makes the provider tell us of every change, in place of what it was told before. */
export async function registerWebhook(
  { payments, authoring }: ConnectDeps,
  group: GroupStore,
  integration: Integration,
): Promise<void> {
  const url = payments.webhookUrl(integration)
  if (url === undefined)
    throw invalid(
      `The provider can call public https addresses only: set PUBLIC_URL to one. Or have the calls forwarded to /webhooks/${integration.type}/${integration.id} and give us the secret of that with "integration secret".`,
    )
  try {
    const provider = await payments.open(group, integration)
    const { id: webhookId, secret } = await provider.registerWebhook(url)
    let useless = integration.webhookId
    try {
      await writeContent(group, authoring, async (writer) => {
        const before = await getActiveIntegration(writer.group, integration.id)
        await payments.vault.put(writer, integration.id, webhookSecretField, secret)
        await updateIntegration(writer, before, { webhookId, webhookProblem: null }, 'webhook')
      })
    } catch (error) {
      useless = webhookId
      throw error
    } finally {
      // Where it stays there, we refuse its calls: they are not signed with what we keep.
      if (useless !== null) await provider.removeWebhook(useless).catch(() => {})
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

/** The secret of a webhook that somebody has set up at the provider. */
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

/** Another key for the same account. */
export async function rotateSecretKey(
  { payments, authoring, confirm }: ConnectDeps,
  group: GroupStore,
  { id, type, sandbox, accountId }: Integration,
  secretKey: string,
): Promise<void> {
  if (sandbox) throw invalid('The sandbox has no key to replace.')
  const account = await verify(await payments.openWith({ type, secretKey }))
  if (account.id !== '' && accountId !== '' && account.id !== accountId)
    throw invalid(`This key is of another account (${account.id}). Connect that one under a handle of its own.`)
  await confirm()
  await writeContent(group, authoring, async (writer) => {
    const before = await getActiveIntegration(writer.group, id)
    await payments.vault.put(writer, id, secretKeyField, secretKey)
    const change = { accountId: account.id || accountId, accountName: account.name, live: account.live }
    await updateIntegration(writer, before, change, 'secretKey')
    await requestSync(writer, id)
  })
}

/** Before a group goes: what was set up at providers for it. Who is away there does not keep it from going. */
export async function removeWebhooks(payments: Payments, group: GroupStore): Promise<void> {
  for (const integration of await listIntegrations(group)) {
    const { webhookId } = integration
    if (webhookId === null || integration.sandbox) continue
    const provider = await payments.open(group, integration).catch(() => undefined)
    await provider?.removeWebhook(webhookId).catch(() => {})
  }
}

/** Its products are archived afterwards, as a job. Its secrets are gone at once; orders stay. */
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
  // Whoever took the key back there, or is away, does not keep us from forgetting it.
  if (webhookId !== null) await provider?.removeWebhook(webhookId).catch(() => {})
}
