import {
  connectAccount,
  disconnectAccount,
  keepWebhookSecret,
  registerWebhook,
  rotateSecretKey,
  syncNow,
  takeActive,
  takeIntegration,
} from '../payments/connect.ts'
import { providerTypes } from '../payments/payments.ts'
import { sampleProducts } from '../payments/sandbox/sample.ts'
import { seedSandbox } from '../payments/sandbox/seed.ts'
import { listIntegrations } from '../store/integrations.ts'
import { Type } from '../type.ts'
import { integrationShape, showIntegration } from './integration-shapes.ts'
import { done, doneShape, id, listOf, secret, wholeList } from './shapes.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

const integrationId = id('The account’s _id here.')
const type = Type.Enum([...providerTypes], { description: 'The provider.' })
const accountHandle = (fallback: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
      description: `What this account is called where a group has several: letters, digits, . _ -. Default: ${fallback}.`,
    }),
  )
const secretKey = secret(
  'The provider’s secret key, or a restricted one that may read products, prices, payment intents, subscriptions and the account, and write checkout sessions and webhook endpoints.',
  'STRIPE_SECRET_KEY',
)

async function show({ content }: GroupContext, shownId: string) {
  return showIntegration(content, await takeIntegration(content, shownId))
}

export const integrationVerbs = [
  defineGroupVerb({
    name: 'integration connect',
    isCreation: true,
    summary: 'Connect an account at a payment provider',
    description:
      'The key is tried before it is kept, is kept sealed, and is never shown again. The catalogue comes in afterwards. Where PUBLIC_URL is an https address, the provider is told to call us when something changes; webhookProblem says why it refused.',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/integrations',
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
    summary: 'Connect a stand-in for a payment provider, to try things without an account',
    description:
      'It behaves like the provider, has a few products to try things with, and a checkout page of its own, on which no money moves.',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/integrations/sandbox',
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
    summary: 'Show the accounts at payment providers that a group has',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/integrations',
    input: {},
    answer: listOf(integrationShape),
    columns: ['_id', 'type', 'accountHandle', 'status', 'sandbox', 'live', 'webhook', 'syncedAt'],
    async run({ ctx }) {
      const integrations = await listIntegrations(ctx.content)
      return wholeList(await Promise.all(integrations.map((one) => showIntegration(ctx.content, one))))
    },
  }),
  defineGroupVerb({
    name: 'integration show',
    summary: 'Show one account, and how its catalogue stands',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/integrations/:integrationId',
    input: { integrationId },
    answer: integrationShape,
    run: ({ ctx, input }) => show(ctx, input.integrationId),
  }),
  defineGroupVerb({
    name: 'integration sync',
    summary: 'Compare an account’s products with the provider’s whole catalogue',
    description:
      'Happens by itself once a day. It takes over what differs, and archives what the provider no longer has.',
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/integrations/:integrationId/sync',
    input: { integrationId },
    answer: integrationShape,
    async run({ ctx, input }) {
      await ctx.write(async (writer) => {
        const { id: foundId } = await takeIntegration(writer.group, input.integrationId)
        await syncNow(writer, foundId)
        writer.record({ type: 'account.updated', subjectId: foundId, note: 'sync asked for' })
      })
      return show(ctx, input.integrationId)
    },
  }),
  defineGroupVerb({
    name: 'integration rotate',
    summary: 'Replace the secret key of an account by another one of the same account',
    needs: 'owner',
    route: 'PUT /manage/groups/:groupId/integrations/:integrationId/secretKey',
    input: { integrationId, secretKey },
    answer: integrationShape,
    async run({ ctx, input }) {
      const before = await takeActive(ctx.content, input.integrationId)
      await rotateSecretKey(ctx, ctx.content, before, input.secretKey)
      return show(ctx, before.id)
    },
  }),
  defineGroupVerb({
    name: 'integration webhook',
    summary: 'Have the provider call us when something changes',
    description: 'Needs PUBLIC_URL to be an https address that the provider can reach.',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/integrations/:integrationId/webhook',
    input: { integrationId },
    answer: integrationShape,
    async run({ ctx, input }) {
      const before = await takeActive(ctx.content, input.integrationId)
      await registerWebhook(ctx, ctx.content, before)
      return show(ctx, before.id)
    },
  }),
  defineGroupVerb({
    name: 'integration secret',
    summary: 'Keep the signing secret of a webhook that was set up at the provider by hand',
    description: 'It is kept sealed, and never shown again. The address to call is /webhooks/<type>/<integration id>.',
    needs: 'owner',
    route: 'PUT /manage/groups/:groupId/integrations/:integrationId/webhookSecret',
    input: {
      integrationId,
      webhookSecret: secret('What the provider shows as the signing secret.', 'STRIPE_WEBHOOK_SECRET'),
    },
    answer: integrationShape,
    async run({ ctx, input }) {
      await keepWebhookSecret(ctx, ctx.content, input.integrationId, input.webhookSecret)
      return show(ctx, input.integrationId)
    },
  }),
  defineGroupVerb({
    name: 'integration disconnect',
    summary: 'Forget an account and its secrets; its products are archived, orders stay',
    needs: 'owner',
    route: 'DELETE /manage/groups/:groupId/integrations/:integrationId',
    input: { integrationId },
    answer: doneShape,
    async run({ ctx, input }) {
      await disconnectAccount(ctx, ctx.content, await takeIntegration(ctx.content, input.integrationId))
      return done
    },
  }),
]
