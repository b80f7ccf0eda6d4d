import { memoizeByPair } from '../cache/memo.ts'
import { toDeliverable } from '../content/delivery-text.ts'
import { type GroupByParameters, groupItems, maxGroups, parseGroupBy } from '../content/grouping.ts'
import { type ListParameters, type ListQuery, parseListQuery } from '../content/list-query.ts'
import type { Container } from '../content/model.ts'
import { parseFields } from '../content/shown-fields.ts'
import { Type } from '../core/type.ts'
import { deliverPage, listPieces, totalAndNext } from '../delivery/make-content.ts'
import { integrationListAnswer } from '../http/answer-schemas.ts'
import { defineContentEndpoint } from '../http/endpoint.ts'
import {
  afterParameter,
  expandParameter,
  fieldsParameter,
  filtersParameter,
  limitParameter,
  previewParameter,
  searchParameter,
  skipParameter,
  sortParameter,
} from '../http/query.ts'
import { accountFilter } from '../store/content/objects.ts'
import { countByValue } from '../store/lists/count-by-value.ts'
import { listPreview } from '../store/lists/list-preview.ts'
import { findContainerToList, listVisible } from '../store/lists/list-visible.ts'
import { findExpansion } from '../store/lists/targets.ts'

const groupByParameter = Type.Optional(
  Type.Object(
    { key: Type.Optional(Type.String()), value: Type.Optional(Type.String()) },
    {
      description:
        '`groupBy[key]=<field>` adds `groups` to the page: each product appears once in `items`, and in `groups` once for each of its values, so one with several (a list, variants) is in several groups. With `groupBy[value]=<value>` there are no groups, and only items with that value are listed.',
    },
  ),
)

interface ProductParameters extends ListParameters {
  accountHandle?: string | undefined
  groupBy?: GroupByParameters | undefined
}

const readProductQuery = memoizeByPair(({ schema }: Container, parameters: ProductParameters): ListQuery => {
  const listQuery = parseListQuery(schema, parameters)
  const { filter } = parseGroupBy(schema, parameters.groupBy)
  const account = parameters.accountHandle === undefined ? undefined : accountFilter(parameters.accountHandle)
  const more = [filter, account].filter((each) => each !== undefined)
  return more.length === 0 ? listQuery : { ...listQuery, filters: [...listQuery.filters, ...more] }
})

const groupHead = ({ value, count }: { value: string | null; count: number }): string =>
  `{"value":${JSON.stringify(value)},"count":${count},"items":`

/** spec §4.3 */
export const integrationObjects = defineContentEndpoint({
  summary: 'Products of a payment integration, or objects of another integration type',
  description:
    'Published products, from the service’s own copy of the provider’s catalogue; or objects of a custom integration type, such as posts. The list of an unknown type is empty.',
  query: Type.Object({
    type: Type.String({ minLength: 1, maxLength: 100, description: 'The integration’s type.', examples: ['stripe'] }),
    accountHandle: Type.Optional(
      Type.String({ maxLength: 200, description: 'Only this account, if several are connected.' }),
    ),
    groupBy: groupByParameter,
    filters: filtersParameter({ productType: ['Bread'] }),
    search: searchParameter,
    limit: limitParameter,
    skip: skipParameter,
    after: afterParameter,
    sort: sortParameter,
    fields: fieldsParameter,
    expand: expandParameter,
    preview: previewParameter,
  }),
  answer: integrationListAnswer,
  failures: ['NotFound', 'PreviewExpired'],
  async read(call) {
    const { query, reading } = call
    const found = await findContainerToList(reading, { kind: 'integration', name: query.type })
    if (!found) {
      const nothing = { totalCount: 0, nextCursor: query.after === undefined ? undefined : null }
      return { json: ['{"items":[]', totalAndNext(nothing), '}'], untilMs: Number.POSITIVE_INFINITY }
    }
    const { container } = found
    const { schema } = container
    const listQuery = readProductQuery(container, query)
    const shown = parseFields(schema, query.fields)
    const { field } = parseGroupBy(schema, query.groupBy)
    const expand = await findExpansion(reading, found, query.expand)
    const meter = call.newMeter()
    const list = await (reading.isPreview ? listPreview : listVisible)(reading, found, listQuery, meter.maxBytes)
    const { objects, items, ...page } = await deliverPage(call, { ...list, meter, shown, expand })
    const json = ['{"items":', ...listPieces(items), totalAndNext(list)]
    const untilMs = Math.min(list.untilMs, page.untilMs)
    if (field === undefined) return { json: [...json, '}'], untilMs }
    const wanted = { field, limit: maxGroups + 1, matches: list.totalCount }
    const counts = await countByValue(reading, list, wanted)
    const grouped = objects.map((object, position) => ({
      item: items[position] ?? [],
      value: toDeliverable(object).value,
    }))
    const groups = groupItems(schema, field, counts, grouped).map((each) => {
      const pieces = [groupHead(each), ...listPieces(each.items), '}']
      meter.add(pieces)
      return pieces
    })
    return { json: [...json, ',"groups":', ...listPieces(groups), '}'], untilMs }
  },
})
