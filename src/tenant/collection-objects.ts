import Type from 'typebox'
import type { CollectionList } from '../../client/src/wire.ts'
import { deliverCollectionObject } from '../content/delivery.ts'
import { parseListQuery } from '../content/list-query.ts'
import { mediaKeysOfAll } from '../content/media-uses.ts'
import { notFound } from '../errors.ts'
import { collectionListAnswer } from '../http/answer-schemas.ts'
import { defineContentEndpoint } from '../http/endpoint.ts'
import {
  filtersParameter,
  idParameter,
  limitParameter,
  searchParameter,
  skipParameter,
  sortParameter,
} from '../http/parameters.ts'
import { findCollection, readByContainer } from '../store/containers.ts'
import { listVisibleObjects } from '../store/list-objects.ts'
import { readRevision } from '../store/revisions.ts'

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
  async read({ group, signing, query, nowMs }) {
    const revision = await readRevision(group)
    const list = await readByContainer(
      group,
      () => findCollection(group, query.collectionId),
      async (collection) => {
        const listQuery = parseListQuery(collection.schema, query)
        const { objects, totalCount } = await listVisibleObjects(group, collection, listQuery, nowMs)
        const sign = await signing(mediaKeysOfAll(collection.schema, objects))
        return { items: objects.map((object) => deliverCollectionObject(collection, object, sign)), totalCount }
      },
    )
    if (!list) throw notFound('There is no collection with this collectionId.')
    return { json: JSON.stringify(list satisfies CollectionList), revision, untilMs: nowMs }
  },
})
