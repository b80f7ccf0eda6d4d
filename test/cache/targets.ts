import { writeCursor } from '../../src/content/cursor.ts'
import { noConditions } from '../../src/content/filters.ts'
import { sortKeyOfText } from '../../src/content/index-keys.ts'

/** A request that can be spelled in several ways. */
export interface Target {
  path: string
  parameters: readonly (readonly [name: string, value: string])[]
}

/** The ids in the URLs of targets. */
export interface TargetIds {
  collectionId: string
  reviewsId: string
  heldId: string
  siteId: string
  /** Of the other group. */
  foreignId: string
}

const objects = '/tenant/collectionObjects'
const products = '/tenant/integrationObjects'
const stripe = ['type', 'stripe'] as const
const byType = ['groupBy[key]', 'productType'] as const

export const targetCount = 38

/** Of the list by descending rating, behind all items with the rating 4. */
function cursorAt4(collectionId: string): string {
  const sort = [{ by: { field: 'rating' }, descending: true }]
  const query = { ...noConditions, words: [], sort, byRelevance: false, limit: 2, skip: 0, after: '' }
  return writeCursor([collectionId], query, { keys: [sortKeyOfText('4')], id: '0' })
}

/** The first few are requested most. The URLs for products are identical in both groups. */
export function targetsOf({ collectionId, reviewsId, heldId, siteId, foreignId }: TargetIds): Target[] {
  const collection = ['collectionId', collectionId] as const
  const list = (...parameters: Target['parameters']): Target => ({
    path: objects,
    parameters: [collection, ...parameters],
  })
  const shop = (...parameters: Target['parameters']): Target => ({
    path: products,
    parameters: [stripe, ...parameters],
  })
  return [
    list(),
    { path: '/tenant/siteDetails', parameters: [['siteId', siteId]] },
    shop(),
    list(['limit', '2'], ['sort', 'rating:desc']),
    list(['limit', '2'], ['skip', '1']),
    list(['filters[title]', 'a'], ['filters[title]', 'Ärger']),
    list(['filters[rating]', '5'], ['sort', 'title:asc']),
    list(['filters[tags]', 'x']),
    list(['search', 'bread']),
    list(['sort', 'updatedAt:desc'], ['limit', '3']),
    { path: objects, parameters: [['collectionId', reviewsId]] },
    { path: objects, parameters: [['collectionId', heldId], ['filters[rating]', '5']] },
    shop(byType),
    shop(byType, ['groupBy[value]', 'Bread']),
    shop(['search', 'cake']),
    { path: objects, parameters: [['collectionId', foreignId]] },
    list(['limit', '0']),
    list(['expand', 'link,box.link']),
    list(['expand', 'link.link.link,link.box.link']),
    list(['expand', 'link'], ['filters[title]', 'a']),
    shop(['expand', 'link']),
    list(['filters[rating][gte]', '4.5'], ['filters[rating][lt]', '10'], ['sort', 'rating:asc'], ['limit', '2']),
    list(['filters[title][ne]', 'a'], ['filters[rating]', '5']),
    list(['filters[rating][exists]', 'false']),
    list(['filters[publishDate][gte]', '2026-03-01T11:30:00Z'], ['sort', 'publishDate:desc']),
    list(['fields', 'title,cover']),
    list(['after', ''], ['limit', '2'], ['sort', 'rating:desc']),
    list(['after', cursorAt4(collectionId)], ['limit', '2'], ['sort', 'rating:desc']),
    list(['after', ''], ['limit', '1'], ['sort', 'publishDate:desc'], ['fields', 'title']),
    shop(['after', ''], ['limit', '1'], ['filters[name][gte]', 'a']),
    list(['fields', 'rating'], ['sort', 'title:asc']),
    shop(['fields', 'name'], byType),
    list(['expand', 'rows.link,rows.box.link,parts.go.link']),
    list(['expand', 'parts.go.link.rows.link.box.link'], ['fields', 'parts']),
    list(['fields', 'box,rows'], ['expand', 'box.link']),
    list(['search', 'crust']),
    list(['search', 'crumb'], ['fields', 'parts'], ['expand', 'rows.link'], ['limit', '1']),
    shop(['filters[productType][ne]', 'Bread'], ['filters[updatedAt][exists]', 'true']),
  ] // biome-ignore format: a table
}

const plain = (text: string): string => encodeURIComponent(text).replaceAll('%5B', '[').replaceAll('%5D', ']')

/** Equivalent URLs: another order, an unknown parameter, brackets and colons encoded. */
export function spell({ path, parameters }: Target, spelling: number): string {
  const encode = spelling === 3 ? encodeURIComponent : plain
  const written = parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`)
  if (spelling === 1) written.reverse()
  if (spelling === 2) written.splice(1, 0, 'code=x')
  return `${path}?${written.join('&')}`
}
