import type { Static } from 'typebox'
import { toIso } from '../content/moments.ts'
import { providerTypes } from '../content/product-edits.ts'
import { Type } from '../core/type.ts'
import {
  connectAccount,
  disconnectAccount,
  getActiveIntegration,
  getIntegration,
  registerWebhook,
  requestSync,
  rotateSecretKey,
  storeWebhookSecret,
} from '../payments/connect.ts'
import { findSyncJob } from '../payments/jobs.ts'
import { webhookSecretField } from '../payments/payments.ts'
import { seedSandbox } from '../payments/sandbox/catalogue.ts'
import { sampleProducts } from '../payments/sandbox/sample.ts'
import { findingsOf, type Integration, listIntegrations } from '../store/commerce/integrations.ts'
import { secretFields } from '../store/content/secrets.ts'
import type { GroupStore } from '../store/store.ts'
import { completeList, done, doneShape, id, isoOrNull, listOf, moment, orNull, ownId, secret } from './shapes.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

const syncCounts = {
  products: Type.Integer({ description: 'Products of the provider that were compared.' }),
  prices: Type.Integer(),
  added: Type.Integer({ description: 'Products that are new here.' }),
  changed: Type.Integer(),
  archived: Type.Integer({ description: 'Products that the provider no longer sells.' }),
  ordersFound: Type.Integer({ description: 'Completed checkouts of which no event had arrived.' }),
  problems: Type.Array(Type.String(), { description: 'What could not be imported, and why: the first problems.' }),
}

/** An account at a payment provider. Its secrets are never shown again. */
export const integrationShape = Type.Object({
  _id: ownId,
  type: Type.String(),
  accountHandle: Type.String(),
  status: Type.Enum(['active', 'disconnecting']),
  sandbox: Type.Boolean({ description: 'Whether the provider is our own sandbox.' }),
  live: Type.Boolean({ description: 'Whether real money moves.' }),
  account: Type.Object({ id: Type.String(), name: Type.String() }, { description: 'The account at the provider.' }),
  webhook: Type.Enum(['registered', 'by hand', 'none'], {
    description:
      'How the provider notifies us of changes: by a webhook that we registered, by one that was set up there by hand, or not at all.',
  }),
  webhookProblem: Type.Optional(
    Type.String({
      description: 'Why the provider refused the last registration of a webhook. Left out where it did not.',
    }),
  ),
  lastEventAt: orNull(moment),
  syncedAt: orNull(moment),
  progress: orNull(
    Type.Object(
      { phase: Type.String(), startedAt: moment, ...syncCounts },
      { description: 'The comparison with the provider’s whole catalogue that is running.' },
    ),
  ),
  problem: orNull(Type.String({ description: 'Why the running comparison has stopped; it is resumed automatically.' })),
  lastSync: orNull(
    Type.Object(
      { startedAt: moment, finishedAt: moment, ...syncCounts },
      { description: 'The result of the latest comparison.' },
    ),
  ),
  version: Type.Integer(),
  createdAt: moment,
  updatedAt: moment,
})

export async function showIntegration(
  group: GroupStore,
  integration: Integration,
): Promise<Static<typeof integrationShape>> {
  const { id, type, accountHandle, status, sandbox, live, webhookProblem, walk, lastSync } = integration
  const hasWebhookSecret = (await secretFields(group, id)).includes(webhookSecretField)
  const sync = await findSyncJob(group, id)
  return {
    _id: id,
    type,
    accountHandle,
    status,
    sandbox,
    live,
    account: { id: integration.accountId, name: integration.accountName },
    webhook: integration.webhookId !== null ? 'registered' : hasWebhookSecret ? 'by hand' : 'none',
    ...(webhookProblem !== null && { webhookProblem }),
    lastEventAt: isoOrNull(integration.lastEventMs),
    syncedAt: isoOrNull(integration.syncedMs),
    progress: walk ? { phase: walk.phase, startedAt: toIso(walk.startedMs), ...findingsOf(walk) } : null,
    problem: sync?.problem ?? null,
    lastSync: lastSync
      ? { startedAt: toIso(lastSync.startedMs), finishedAt: toIso(lastSync.finishedMs), ...findingsOf(lastSync) }
      : null,
    version: integration.version,
    createdAt: toIso(integration.createdMs),
    updatedAt: toIso(integration.updatedMs),
  }
}

const integrationId = id('The account’s _id here.')
const type = Type.Enum([...providerTypes], { description: 'The provider.' })
const accountHandle = (fallback: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
      description: `A handle for this account where a group has several: letters, digits, . _ -. Default: ${fallback}.`,
    }),
  )
const secretKey = secret(
  'The provider’s secret key, or a restricted one that may read products, prices, payment intents, subscriptions and the account, and write checkout sessions and webhook endpoints.',
  'STRIPE_SECRET_KEY',
)

async function show({ content }: GroupContext, shownId: string) {
  return showIntegration(content, await getIntegration(content, shownId))
}

export const integrationVerbs = [
  defineGroupVerb({
    name: 'integration connect',
    isCreation: true,
    summary: 'Connect an account at a payment provider',
    description:
      'The key is tested before it is stored, is stored sealed, and is never shown again. The catalogue is imported afterwards. If PUBLIC_URL is an https URL, a webhook is registered at the provider; webhookProblem is the reason of a refusal.',
    input: { type, accountHandle: accountHandle('main'), secretKey },
    args: ['type'],
    answer: integrationShape,
    async run({ ctx, input }) {
      const account = { ...input, accountHandle: input.accountHandle ?? 'main' }
      return showIntegration(ctx.content, await connectAccount(ctx, ctx.content, account))
    },
  }),
  defineGroupVerb({
    name: 'integration sandbox',
    isCreation: true,
    summary: 'Connect a sandbox instead of a payment provider, to try it without an account',
    description:
      'It behaves like the provider, has a few sample products, and its own checkout page, on which no money moves.',
    input: { type, accountHandle: accountHandle('sandbox') },
    args: ['type'],
    answer: integrationShape,
    async run({ ctx, input }) {
      const { content, nowMs } = ctx
      const { accountHandle: handle = 'sandbox' } = input
      const fill = (filledId: string) => seedSandbox(content, filledId, sampleProducts(handle), nowMs)
      const account = { type: input.type, accountHandle: handle, secretKey: undefined, fill }
      return showIntegration(content, await connectAccount(ctx, content, account))
    },
  }),
  defineGroupVerb({
    name: 'integration list',
    summary: 'Show the payment accounts of a group',
    input: {},
    answer: listOf(integrationShape),
    columns: ['_id', 'type', 'accountHandle', 'status', 'sandbox', 'live', 'webhook', 'syncedAt'],
    async run({ ctx }) {
      const integrations = await listIntegrations(ctx.content)
      return completeList(await Promise.all(integrations.map((one) => showIntegration(ctx.content, one))))
    },
  }),
  defineGroupVerb({
    name: 'integration show',
    summary: 'Show one account and the state of its catalogue',
    input: { integrationId },
    answer: integrationShape,
    run: ({ ctx, input }) => show(ctx, input.integrationId),
  }),
  defineGroupVerb({
    name: 'integration sync',
    summary: 'Compare an account’s products with the provider’s whole catalogue',
    description:
      'Runs automatically once a day. It imports what differs, and archives what the provider no longer has.',
    input: { integrationId },
    answer: integrationShape,
    async run({ ctx, input }) {
      await ctx.write(async (writer) => {
        const { id: foundId } = await getIntegration(writer.group, input.integrationId)
        await requestSync(writer, foundId)
        writer.record({ type: 'account.updated', subjectId: foundId, note: 'sync requested' })
      })
      return show(ctx, input.integrationId)
    },
  }),
  defineGroupVerb({
    name: 'integration rotate',
    summary: 'Replace the secret key of an account by another key of the same account',
    input: { integrationId, secretKey },
    answer: integrationShape,
    async run({ ctx, input }) {
      const before = await getActiveIntegration(ctx.content, input.integrationId)
      await rotateSecretKey(ctx, ctx.content, before, input.secretKey)
      return show(ctx, before.id)
    },
  }),
  defineGroupVerb({
    name: 'integration webhook',
    summary: 'Register a webhook at the provider',
    description: 'Requires PUBLIC_URL to be an https URL that the provider can reach.',
    input: { integrationId },
    answer: integrationShape,
    async run({ ctx, input }) {
      const before = await getActiveIntegration(ctx.content, input.integrationId)
      await registerWebhook(ctx, ctx.content, before)
      return show(ctx, before.id)
    },
  }),
  defineGroupVerb({
    name: 'integration secret',
    summary: 'Store the signing secret of a webhook that was set up at the provider by hand',
    description:
      'It is stored sealed, and never shown again. The path of the webhook is /webhooks/<type>/<integration id>.',
    input: {
      integrationId,
      webhookSecret: secret('The signing secret that the provider shows.', 'STRIPE_WEBHOOK_SECRET'),
    },
    answer: integrationShape,
    async run({ ctx, input }) {
      await storeWebhookSecret(ctx, ctx.content, input.integrationId, input.webhookSecret)
      return show(ctx, input.integrationId)
    },
  }),
  defineGroupVerb({
    name: 'integration disconnect',
    summary: 'Disconnect an account and delete its secrets; its products are archived, orders stay',
    input: { integrationId },
    answer: doneShape,
    async run({ ctx, input }) {
      await disconnectAccount(ctx, ctx.content, await getIntegration(ctx.content, input.integrationId))
      return done
    },
  }),
]
