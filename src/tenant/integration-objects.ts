import Type from 'typebox'
import type { IntegrationList } from '../../client/src/wire.ts'
import { deliverIntegrationObject } from '../content/delivery.ts'
import { groupItems, maxGroups, parseGroupBy } from '../content/grouping.ts'
import { parseListQuery } from '../content/list-query.ts'
import { mediaKeysOfAll } from '../content/media-uses.ts'
import { integrationListAnswer } from '../http/answer-schemas.ts'
import { defineContentEndpoint } from '../http/endpoint.ts'
import { filtersParameter, limitParameter, searchParameter, skipParameter, sortParameter } from '../http/parameters.ts'
import { findIntegration, readByContainer } from '../store/containers.ts'
import { countByValue } from '../store/count-by-value.ts'
import { listVisibleObjects } from '../store/list-objects.ts'
import { accountFilter } from '../store/objects.ts'
import { readRevision } from '../store/revisions.ts'

const groupByParameter = Type.Optional(
  Type.Object(
    { key: Type.Optional(Type.String()), value: Type.Optional(Type.String()) },
    {
      description:
        '`groupBy[key]=<field>` adds groups; with `groupBy[value]=<value>` only items with that value are listed.',
    },
  ),
)

/** spec §4.3 */
export const integrationObjects = defineContentEndpoint({
  summary: 'Products of a payment integration',
  description: 'Published products, from the service’s own copy of the provider’s catalogue.',
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
  async read({ group, signing, query, nowMs }) {
    const revision = await readRevision(group)
    const list = await readByContainer(
      group,
      () => findIntegration(group, query.type),
      async (integration): Promise<IntegrationList> => {
        const listQuery = parseListQuery(integration.schema, query)
        const groupBy = parseGroupBy(integration.schema, query.groupBy)
        if (groupBy.filter) listQuery.filters.push(groupBy.filter)
        if (query.accountHandle !== undefined) listQuery.filters.push(accountFilter(query.accountHandle))
        const { objects, totalCount } = await listVisibleObjects(group, integration, listQuery, nowMs)
        const sign = await signing(mediaKeysOfAll(integration.schema, objects))
        const items = objects.map((object) => deliverIntegrationObject(integration, object, sign))
        if (groupBy.field === undefined) return { items, totalCount }
        const counts = await countByValue(group, integration, listQuery, groupBy.field, maxGroups + 1, nowMs)
        return { items, totalCount, groups: groupItems(integration.schema, groupBy.field, counts, items) }
      },
    )
    return { json: JSON.stringify(list ?? { items: [], totalCount: 0 }), revision, untilMs: nowMs }
  },
})
