import { objectKeyOf } from '../content/catalogue.ts'
import { invalid } from '../errors.ts'
import { takeActive } from '../payments/connect.ts'
import { refreshProduct } from '../payments/mirror.ts'
import { addProduct, editProduct } from '../payments/sandbox/edit-products.ts'
import { findMirrored } from '../store/catalogue-objects.ts'
import type { ContentWriter } from '../store/changes.ts'
import { findIntegration } from '../store/containers.ts'
import { createTurns } from '../store/turns.ts'
import { Type } from '../type.ts'
import { productShape, showProduct } from './content-shapes.ts'
import { id } from './shapes.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

const integrationId = id('The account of the stand-in, by its _id here.')
const parts = {
  name: Type.String({ minLength: 1, maxLength: 250 }),
  price: Type.String({
    pattern: '^\\d{1,8}(\\.\\d{1,3})?$',
    description: 'In the main unit of its currency.',
    examples: ['5.50'],
  }),
  currency: Type.String({ pattern: '^[a-zA-Z]{3}$', description: 'An ISO code.', examples: ['cad'] }),
  interval: Type.Enum(['day', 'week', 'month', 'year'], { description: 'How often it is paid, where it recurs.' }),
  description: Type.String({ maxLength: 5000 }),
  imageKey: Type.String({ maxLength: 1024, description: 'The key of a picture in the library; empty for none.' }),
  metadata: Type.Record(Type.String(), Type.String(), {
    maxProperties: 50, // as at the provider
    description:
      'Name → text, such as {"productType": "Bread", "quantityOptions": "1,6,12"}; an empty text takes it away.',
  }),
}
const optional = Type.Partial(Type.Object(parts)).properties

/** Each change refreshes the mirror: those of one account that come together would overtake each other's refresh. */
const inTurn = createTurns()

/** Changes the stand-in's books, takes over what has become of the product, and shows it. */
const change: typeof changeNow = (ctx, accountId, work) =>
  inTurn(`${ctx.content.groupId} ${accountId}`, () => changeNow(ctx, accountId, work))

async function changeNow(
  ctx: GroupContext,
  accountId: string,
  work: (writer: ContentWriter) => Promise<string>,
): Promise<unknown> {
  const { content, payments, group, nowMs } = ctx
  const integration = await takeActive(content, accountId)
  if (!integration.sandbox) throw invalid('This account is a real one: change its products at the provider.')
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
  const place = { containerId: container?.id ?? '', accountHandle: integration.accountHandle }
  const mirrored = key === undefined ? undefined : (await findMirrored(content, place, [key])).get(key)
  if (!container || !mirrored) throw invalid('Nothing of this product can be bought: it was not taken over.')
  return showProduct(container, mirrored.object, nowMs)
}

const path = '/manage/groups/:groupId/integrations/:integrationId/sandbox/products'

export const sandboxProductVerbs = [
  defineGroupVerb({
    name: 'sandbox create-product',
    args: ['name'],
    isCreation: true,
    summary: 'Make a product in the stand-in for a payment provider',
    description: 'It is on sale at once. Products with variants are made one by one, with metadata as at the provider.',
    needs: 'editor',
    route: `POST ${path}`,
    input: { integrationId, ...optional, name: parts.name, price: parts.price, currency: parts.currency },
    answer: productShape,
    run: ({ ctx, input: { integrationId: accountId, ...given } }) =>
      change(ctx, accountId, (writer) => addProduct(writer, accountId, given)),
  }),
  defineGroupVerb({
    name: 'sandbox update-product',
    summary: 'Change a product of the stand-in for a payment provider',
    description: 'What is left out stays. Of metadata, each name that is given takes the place of what was there.',
    needs: 'editor',
    route: `PATCH ${path}/:providerId`,
    input: {
      integrationId,
      providerId: Type.String({ minLength: 1, maxLength: 255, description: 'The product’s id at the stand-in.' }),
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
