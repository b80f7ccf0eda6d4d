import { parseListQuery } from '../content/list-query.ts'
import { mergeParts } from '../content/merge.ts'
import { objectStatuses } from '../content/model.ts'
import { onlyFields, parseFields } from '../content/shown-fields.ts'
import { notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import {
  afterParameter,
  fieldsParameter,
  filtersParameter,
  limitParameter,
  searchParameter,
  skipParameter,
  sortParameter,
} from '../http/query.ts'
import { changeObject } from '../store/content/change-objects.ts'
import { findContainerById, findIntegration, readByContainer } from '../store/content/containers.ts'
import { accountFilter, findObject } from '../store/content/objects.ts'
import { refuseContradictions } from '../store/content/publish-working-copies.ts'
import { listObjectsInState } from '../store/lists/list-objects.ts'
import type { GroupStore } from '../store/store.ts'
import { stateOf } from './object-actions.ts'
import { productShape, showProduct, storedProductShape } from './object-shapes.ts'
import { state } from './objects.ts'
import { cursorListOf, id, refuseStale } from './shapes.ts'
import { defineGroupVerb } from './verb.ts'
import { withWorkingCopies, withWorkingCopy } from './working-copy-states.ts'

const type = Type.String({ minLength: 1, maxLength: 100, description: 'The integration’s type.', examples: ['stripe'] })

async function requireProduct(group: GroupStore, productId: string) {
  const found = await findObject(group, productId)
  const integration = found && (await findContainerById(group, found.containerId))
  if (!found || integration?.kind !== 'integration') throw notFound('There is no such product in this group.')
  return { integration, product: found.object }
}

export const productVerbs = [
  defineGroupVerb({
    name: 'product list',
    summary: 'Show the products of an integration, in every state',
    input: {
      type,
      accountHandle: Type.Optional(
        Type.String({ maxLength: 200, description: 'Only products of this account, where several are connected.' }),
      ),
      status: Type.Optional(Type.Enum([...objectStatuses], { description: 'Only products in this state.' })),
      limit: limitParameter,
      skip: skipParameter,
      after: afterParameter,
      sort: sortParameter,
      filters: filtersParameter({ productType: ['Bread'] }),
      search: searchParameter,
      fields: fieldsParameter,
    },
    answer: cursorListOf(storedProductShape),
    columns: ['_id', 'id', 'status', 'version', 'objectValue'],
    async run({ ctx, input }) {
      const { content, nowMs } = ctx
      const answer = await readByContainer(
        content,
        () => findIntegration(content, input.type),
        async (integration) => {
          const parsed = parseListQuery(integration.schema, input)
          const shown = parseFields(integration.schema, input.fields, () => true)
          const account = input.accountHandle === undefined ? [] : [accountFilter(input.accountHandle)]
          const query = { ...parsed, filters: [...parsed.filters, ...account] }
          const view = { status: input.status }
          const { objects, ...total } = await listObjectsInState(
            content,
            integration,
            query,
            view,
            nowMs,
            ctx.maxAnswerBytes,
          )
          const items = objects.map((product) => showProduct(integration, onlyFields(product, shown), nowMs))
          return { items: await withWorkingCopies(content, items), ...total }
        },
      )
      if (!answer) throw notFound('There is no such integration in this group.')
      return answer
    },
  }),
  defineGroupVerb({
    name: 'product show',
    summary: 'Show one product',
    input: { productId: id('The product’s id here, not the provider’s.') },
    answer: storedProductShape,
    async run({ ctx, input }) {
      const { integration, product } = await requireProduct(ctx.content, input.productId)
      return withWorkingCopy(ctx.content, showProduct(integration, product, ctx.nowMs))
    },
  }),
  defineGroupVerb({
    name: 'product update',
    summary: 'Change the fields of a product that are edited here',
    description:
      'Name, description and prices come from the provider. Fields that are left out stay; null removes productType or productImage.',
    input: {
      productId: id('The product’s id here, not the provider’s.'),
      version: Type.Integer({ description: 'The version you started from.' }),
      publishDate: state.publishDate,
      archived: state.archived,
      archiveDate: state.archiveDate,
      productType: Type.Optional(
        Type.Union([Type.String({ maxLength: 200 }), Type.Null()], {
          description: 'The value for filters[productType].',
        }),
      ),
      productImage: Type.Optional(Type.Unknown({ description: 'A media value, or null.' })),
    },
    answer: productShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { productId, version, publishDate, archived, archiveDate, ...fields } = input
        const { integration, product } = await requireProduct(writer.group, productId)
        refuseStale('product', product.version, version, () => ({
          current: showProduct(integration, product, ctx.nowMs),
          yours: { publishDate, archived, archiveDate, ...fields },
        }))
        const wanted = {
          ...stateOf({ publishDate, archived, archiveDate }, ctx.nowMs),
          value: mergeParts(product.value, fields),
        }
        await refuseContradictions(writer, integration, [{ before: product, wanted }])
        return showProduct(integration, await changeObject(writer, integration, product, wanted, 'updated'), ctx.nowMs)
      }),
  }),
]
