import Type from 'typebox'
import { deliverCollectionObject } from '../content/delivery.ts'
import { parseListQuery } from '../content/list-query.ts'
import { notFound } from '../errors.ts'
import { sendContent } from '../http/answer.ts'
import { collectionListAnswer } from '../http/answer-schemas.ts'
import { defineEndpoint } from '../http/endpoint.ts'
import {
  filtersParameter,
  idParameter,
  limitParameter,
  searchParameter,
  skipParameter,
  sortParameter,
} from '../http/parameters.ts'
import { signFor } from '../media/signer.ts'
import { findCollection } from '../store/containers.ts'
import { openGroup } from '../store/groups.ts'
import { listVisibleObjects } from '../store/list-objects.ts'

/** spec §4.2 */
export const collectionObjects = defineEndpoint({
  summary: 'Published items of a collection',
  description: 'Items whose publish date has come, or is unset, and that are not archived.',
  query: Type.Object({
    collectionId: idParameter('The id of the collection.'),
    limit: limitParameter,
    skip: skipParameter,
    sort: sortParameter,
    filters: filtersParameter,
    search: searchParameter,
  }),
  answer: collectionListAnswer,
  failures: ['NotFound'],
  async handle({ store, signer, clock }, request, reply) {
    const group = await openGroup(store, request.tenant)
    const collection = await findCollection(group, request.query.collectionId)
    if (!collection) throw notFound('There is no collection with this collectionId.')
    const query = parseListQuery(collection.schema, request.query, request.query)
    const { objects, totalCount } = await listVisibleObjects(group, collection, query, clock())
    const sign = signFor(signer, request.tenant)
    const items = objects.map((object) => deliverCollectionObject(collection, object, sign))
    return sendContent(request, reply, { items, totalCount })
  },
})
