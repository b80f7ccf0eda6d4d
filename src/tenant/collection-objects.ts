import { parseListQuery } from '../content/list-query.ts'
import type { Container } from '../content/model.ts'
import { notFound } from '../errors.ts'
import { collectionListAnswer } from '../http/answer-schemas.ts'
import { deliverPage, listPieces } from '../http/deliver-page.ts'
import { defineContentEndpoint } from '../http/endpoint.ts'
import {
  filtersParameter,
  idParameter,
  limitParameter,
  searchParameter,
  skipParameter,
  sortParameter,
} from '../http/parameters.ts'
import { listVisible } from '../store/list-visible.ts'
import { readAtOneRevision } from '../store/revisions.ts'
import { Type } from '../type.ts'

/** spec §4.2 */
export const collectionObjects = defineContentEndpoint({
  summary: 'Published items of a collection',
  description: 'Items whose publish date has come, or is unset, and that are not archived.',
  query: Type.Object({
    collectionId: idParameter('The id of the collection.', '66f0c0ffee0123456789abce'),
    limit: limitParameter,
    skip: skipParameter,
    sort: sortParameter,
    filters: filtersParameter({ category: ['Recipes'] }),
    search: searchParameter,
  }),
  answer: collectionListAnswer,
  failures: ['NotFound'],
  read: ({ query, nowMs, signing, ...call }) =>
    readAtOneRevision(call.group, call.memory, async (group, memory) => {
      const meter = call.newMeter()
      const place = { kind: 'collection', id: query.collectionId } as const
      const readQuery = ({ schema }: Container) => parseListQuery(schema, query)
      const list = await listVisible(group, memory, place, readQuery, nowMs, meter.maxBytes)
      const { container, totalCount, revision } = list
      if (!container) throw notFound('There is no collection with this collectionId.')
      const { items, untilMs } = await deliverPage(signing, { ...list, group, container, meter, showsAll: false })
      const json = ['{"items":', ...listPieces(items), `,"totalCount":${totalCount}}`]
      return { json, revision, untilMs: Math.min(list.untilMs, untilMs) }
    }),
})
