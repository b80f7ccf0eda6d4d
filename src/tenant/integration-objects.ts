import { deliverIntegrationObject } from '../content/delivery.ts'
import { toDeliverable } from '../content/delivery-text.ts'
import { type GroupByParameters, groupItems, maxGroups, parseGroupBy } from '../content/grouping.ts'
import { type ListParameters, type ListQuery, parseListQuery } from '../content/list-query.ts'
import type { Container } from '../content/model.ts'
import type { Schema } from '../content/schema.ts'
import { integrationListAnswer } from '../http/answer-schemas.ts'
import { deliverPage, listPieces } from '../http/deliver-page.ts'
import { defineContentEndpoint } from '../http/endpoint.ts'
import { filtersParameter, limitParameter, searchParameter, skipParameter, sortParameter } from '../http/parameters.ts'
import { countByValue } from '../store/count-by-value.ts'
import { listVisible } from '../store/list-visible.ts'
import { accountFilter } from '../store/objects.ts'
import { readAtOneRevision, Superseded } from '../store/revisions.ts'
import { Type } from '../type.ts'

const groupByParameter = Type.Optional(
  Type.Object(
    { key: Type.Optional(Type.String()), value: Type.Optional(Type.String()) },
    {
      description:
        '`groupBy[key]=<field>` adds `groups` beside the page: in `items` each product stands once, in `groups` once for each of its values, so one with several (a list, variants) is in several groups. With `groupBy[value]=<value>` there are no groups, and only items with that value are listed.',
    },
  ),
)

/** What is asked of the products besides what all listings can be asked. */
interface ProductParameters extends ListParameters {
  accountHandle?: string | undefined
  groupBy?: GroupByParameters | undefined
}

function parseProductQuery(schema: Schema, parameters: ProductParameters): ListQuery {
  const listQuery = parseListQuery(schema, parameters)
  const { filter } = parseGroupBy(schema, parameters.groupBy)
  const account = parameters.accountHandle === undefined ? undefined : accountFilter(parameters.accountHandle)
  const more = [filter, account].filter((each) => each !== undefined)
  return more.length === 0 ? listQuery : { ...listQuery, filters: [...listQuery.filters, ...more] }
}

const groupHead = ({ value, count }: { value: string | null; count: number }): string =>
  `{"value":${JSON.stringify(value)},"count":${count},"items":`

/** spec §4.3 */
export const integrationObjects = defineContentEndpoint({
  summary: 'Products of a payment integration, or objects of another one',
  description:
    'Published products, from the service’s own copy of the provider’s catalogue; or what was filled into an integration type of the group’s own, such as posts. A type that the group does not have is an empty list.',
  query: Type.Object({
    type: Type.String({ minLength: 1, maxLength: 100, description: 'The integration’s type.', examples: ['stripe'] }),
    accountHandle: Type.Optional(
      Type.String({ maxLength: 200, description: 'One account, where several are connected.' }),
    ),
    groupBy: groupByParameter,
    filters: filtersParameter({ productType: ['Bread'] }),
    search: searchParameter,
    limit: limitParameter,
    skip: skipParameter,
    sort: sortParameter,
  }),
  answer: integrationListAnswer,
  failures: [],
  read: ({ query, nowMs, signing, ...call }) =>
    readAtOneRevision(call.group, call.memory, async (group, memory) => {
      const meter = call.newMeter()
      const place = { kind: 'integration', name: query.type } as const
      const readQuery = ({ schema }: Container) => parseProductQuery(schema, query)
      const list = await listVisible(group, memory, place, readQuery, nowMs, meter.maxBytes)
      const { container, totalCount, revision } = list
      if (!container) return { json: ['{"items":[],"totalCount":0}'], revision, untilMs: list.untilMs }
      const { schema } = container
      const { field } = parseGroupBy(schema, query.groupBy)
      // Groups look at every item as it is taken apart, also at one that the page passes on as it is.
      const toDeliver = { ...list, group, container, meter, showsAll: field !== undefined }
      const { objects, items, sign, untilMs } = await deliverPage(signing, toDeliver)
      const page = ['{"items":', ...listPieces(items), `,"totalCount":${totalCount}`]
      const content = { revision, untilMs: Math.min(list.untilMs, untilMs) }
      if (field === undefined) return { json: [...page, '}'], ...content }
      const asked = { field, limit: maxGroups + 1, matches: totalCount, nowMs }
      const counted = await countByValue(group, container, list.query ?? readQuery(container), asked)
      if (counted.revision !== revision) throw new Superseded()
      const shown = objects.map((object, position) => ({
        item: items[position] ?? [],
        ...deliverIntegrationObject(container, toDeliverable(object), sign),
      }))
      const groups = groupItems(schema, field, counted.counts, shown).map((each) => {
        const pieces = [groupHead(each), ...listPieces(each.items), '}']
        meter.add(pieces)
        return pieces
      })
      return { json: [...page, ',"groups":', ...listPieces(groups), '}'], ...content }
    }),
})
