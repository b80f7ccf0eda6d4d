import Type from 'typebox'
import type { IntegrationList } from '../../client/src/wire.ts'
import { deliverIntegrationObject } from '../content/delivery.ts'
import { groupItems, maxGroups, parseGroupBy } from '../content/grouping.ts'
import { parseListQuery } from '../content/list-query.ts'
import { sendContent } from '../http/answer.ts'
import { integrationListAnswer } from '../http/answer-schemas.ts'
import { defineEndpoint } from '../http/endpoint.ts'
import { filtersParameter, limitParameter, searchParameter, skipParameter, sortParameter } from '../http/parameters.ts'
import { signFor } from '../media/signer.ts'
import { findIntegration } from '../store/containers.ts'
import { countByValue } from '../store/group-objects.ts'
import { openGroup } from '../store/groups.ts'
import { listVisibleObjects } from '../store/list-objects.ts'
import { accountFilter } from '../store/objects.ts'

/** spec §4.3 */
export const integrationObjects = defineEndpoint({
  summary: 'Products of a payment integration',
  description: 'Published products, from the service’s own copy of the provider’s catalogue.',
  query: Type.Object({
    type: Type.String({ minLength: 1, maxLength: 100, description: 'The integration’s type.', examples: ['stripe'] }),
    accountHandle: Type.Optional(
      Type.String({ maxLength: 200, description: 'One account, where several are connected.' }),
    ),
    groupBy: Type.Optional(
      Type.Object(
        { key: Type.String(), value: Type.Optional(Type.String()) },
        {
          description:
            '`groupBy[key]=<field>` adds groups; with `groupBy[value]=<value>` only items with that value are listed.',
        },
      ),
    ),
    filters: filtersParameter,
    search: searchParameter,
    limit: limitParameter,
    skip: skipParameter,
    sort: sortParameter,
  }),
  answer: integrationListAnswer,
  failures: [],
  async handle({ store, signer, clock }, request, reply) {
    const group = await openGroup(store, request.tenant)
    const integration = await findIntegration(group, request.query.type)
    if (!integration) return sendContent(request, reply, { items: [], totalCount: 0 })
    const { accountHandle } = request.query
    const listQuery = parseListQuery(integration.schema, request.query, request.query)
    const groupBy = parseGroupBy(integration.schema, request.query)
    const filters = [
      ...listQuery.filters,
      ...(groupBy.filter ? [groupBy.filter] : []),
      ...(accountHandle === undefined ? [] : [accountFilter(accountHandle)]),
    ]
    const query = { ...listQuery, filters }
    const nowMs = clock()
    const { objects, totalCount } = await listVisibleObjects(group, integration, query, nowMs)
    const sign = signFor(signer, request.tenant)
    const page = objects.map((object) => ({
      item: deliverIntegrationObject(integration, object, sign),
      value: object.value,
    }))
    const data: IntegrationList = { items: page.map(({ item }) => item), totalCount }
    if (groupBy.field !== undefined) {
      const counts = await countByValue(group, integration, query, groupBy.field, maxGroups + 1, nowMs)
      data.groups = groupItems(integration.schema, groupBy.field, counts, page)
    }
    return sendContent(request, reply, data)
  },
})
