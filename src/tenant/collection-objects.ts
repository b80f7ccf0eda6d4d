import { memoizeByPair } from '../cache/memo.ts'
import { type ListParameters, parseListQuery } from '../content/list-query.ts'
import type { Container } from '../content/model.ts'
import { parseFields } from '../content/shown-fields.ts'
import { notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { deliverPage, listPieces, totalAndNext } from '../delivery/make-content.ts'
import { collectionListAnswer } from '../http/answer-schemas.ts'
import { defineContentEndpoint } from '../http/endpoint.ts'
import {
  afterParameter,
  expandParameter,
  fieldsParameter,
  filtersParameter,
  idParameter,
  limitParameter,
  previewParameter,
  searchParameter,
  skipParameter,
  sortParameter,
} from '../http/query.ts'
import { listPreview } from '../store/lists/list-preview.ts'
import { findContainerToList, listVisible } from '../store/lists/list-visible.ts'
import { findExpansion } from '../store/lists/targets.ts'

/** Equal queries share an object, see `createContentHandler`. */
const readListQuery = memoizeByPair(({ schema }: Container, query: ListParameters) => parseListQuery(schema, query))

/** spec §4.2 */
export const collectionObjects = defineContentEndpoint({
  summary: 'Published items of a collection',
  description: 'Items whose publish date is past or unset, and that are not archived.',
  query: Type.Object({
    collectionId: idParameter('The id of the collection.', '66f0c0ffee0123456789abce'),
    limit: limitParameter,
    skip: skipParameter,
    after: afterParameter,
    sort: sortParameter,
    filters: filtersParameter({ category: ['Recipes'] }),
    search: searchParameter,
    fields: fieldsParameter,
    expand: expandParameter,
    preview: previewParameter,
  }),
  answer: collectionListAnswer,
  failures: ['NotFound', 'PreviewExpired'],
  async read(call) {
    const { query, reading } = call
    const found = await findContainerToList(reading, { kind: 'collection', id: query.collectionId })
    if (!found) throw notFound('There is no collection with this collectionId.')
    const listQuery = readListQuery(found.container, query)
    const shown = parseFields(found.container.schema, query.fields)
    const expand = await findExpansion(reading, found, query.expand)
    const meter = call.newMeter()
    const list = await (reading.isPreview ? listPreview : listVisible)(reading, found, listQuery, meter.maxBytes)
    const { items, untilMs } = await deliverPage(call, { ...list, meter, shown, expand })
    const json = ['{"items":', ...listPieces(items), totalAndNext(list), '}']
    return { json, untilMs: Math.min(list.untilMs, untilMs) }
  },
})
