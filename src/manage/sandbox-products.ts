import { createKeyedMutex } from '../concurrency/semaphore.ts'
import { objectKeyOf } from '../content/catalogue.ts'
import { invalid } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { getActiveIntegration } from '../payments/connect.ts'
import { refreshProduct } from '../payments/mirror/mirror.ts'
import { addProduct, editProduct } from '../payments/sandbox/catalogue.ts'
import { findMirroredObjects } from '../store/commerce/mirror.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import { findIntegration } from '../store/content/containers.ts'
import { productShape, showProduct } from './object-shapes.ts'
import { id } from './shapes.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

const integrationId = id('The _id of the sandbox account.')
const parts = {
  name: Type.String({ minLength: 1, maxLength: 250 }),
  price: Type.String({
    pattern: '^\\d{1,8}(\\.\\d{1,3})?$',
    description: 'In the main unit of its currency.',
    examples: ['5.50'],
  }),
  currency: Type.String({ pattern: '^[a-zA-Z]{3}$', description: 'An ISO code.', examples: ['cad'] }),
  interval: Type.Enum(['day', 'week', 'month', 'year'], { description: 'The billing interval of a recurring price.' }),
  description: Type.String({ maxLength: 5000 }),
  imageKey: Type.String({ maxLength: 1024, description: 'The key of a picture in the library; empty for none.' }),
  metadata: Type.Record(Type.String(), Type.String(), {
    maxProperties: 50, // the provider's limit
    description:
      'Name → text, such as {"productType": "Bread", "quantityOptions": "1,6,12"}; an empty text removes it.',
  }),
}
const optional = Type.Partial(Type.Object(parts)).properties

/** Serialises changes of an account, since each refreshes the mirror, and concurrent refreshes would conflict. */
const accountMutex = createKeyedMutex()

/** Changes a product in the sandbox, mirrors it, and shows the result. */
const change: typeof changeNow = (ctx, accountId, work) =>
  accountMutex.run(`${ctx.content.groupId} ${accountId}`, () => changeNow(ctx, accountId, work))

async function changeNow(
  ctx: GroupContext,
  accountId: string,
  work: (writer: ContentWriter) => Promise<string>,
): Promise<unknown> {
  const { content, payments, group, nowMs } = ctx
  const integration = await getActiveIntegration(content, accountId)
  if (!integration.sandbox) throw invalid('This is a real account: change its products at the provider.')
  const productId = await ctx.write(async (writer) => {
    const changedId = await work(writer)
    writer.record({ type: 'account.updated', subjectId: accountId, note: `product ${changedId}` })
    return changedId
  })
  const provider = await payments.open(content, integration)
  const deps = { clock: () => nowMs, versionsKept: group.versionsKept }
  await refreshProduct(deps, content, integration, provider, productId)
  const fetched = await provider.fetchProduct(productId)
  const container = await findIntegration(content, integration.type)
  const key = fetched && objectKeyOf(fetched.product)
  const mirror = { containerId: container?.id ?? '', accountHandle: integration.accountHandle }
  const mirrored = key === undefined ? undefined : (await findMirroredObjects(content, mirror, [key])).get(key)
  if (!container || !mirrored) throw invalid('The product was not imported, because it has no price that can be used.')
  return showProduct(container, mirrored.object, nowMs)
}

export const sandboxProductVerbs = [
  defineGroupVerb({
    name: 'sandbox create-product',
    args: ['name'],
    isCreation: true,
    summary: 'Create a product in the sandbox',
    description: 'It is on sale at once. Create variants one by one, with the same metadata as at the provider.',
    input: { integrationId, ...optional, name: parts.name, price: parts.price, currency: parts.currency },
    answer: productShape,
    run: ({ ctx, input: { integrationId: accountId, ...given } }) =>
      change(ctx, accountId, (writer) => addProduct(writer, accountId, given)),
  }),
  defineGroupVerb({
    name: 'sandbox update-product',
    summary: 'Change a product of the sandbox',
    description: 'Values that are left out stay. In metadata, each given name replaces its old value.',
    input: {
      integrationId,
      providerId: Type.String({ minLength: 1, maxLength: 255, description: 'The product’s id in the sandbox.' }),
      ...optional,
      active: Type.Optional(Type.Boolean({ description: 'Whether it is on sale.' })),
    },
    answer: productShape,
    run: ({ ctx, input: { integrationId: accountId, providerId, ...given } }) =>
      change(ctx, accountId, async (writer) => {
        await editProduct(writer, accountId, providerId, given)
        return providerId
      }),
  }),
]
