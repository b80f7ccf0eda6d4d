import { memoizeByPair } from '../../cache/memo.ts'
import { readCursor } from '../../content/cursor.ts'
import type { VisibleObject } from '../../content/delivery-text.ts'
import { noConditions } from '../../content/filters.ts'
import type { ListQuery } from '../../content/list-query.ts'
import type { ListedObject } from '../../content/listed-object.ts'
import type { Container } from '../../content/model.ts'
import type { Candidate } from '../../content/relevance.ts'
import { type ContainerRef, readContainerAtRevision } from '../content/containers.ts'
import { type Revisions, revisionColumns } from '../content/revisions.ts'
import { createSqlBuilder, runStatement } from '../engine/statement.ts'
import type { ObjectRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import type { CachedContainer, ListEntry, Matches } from './content-cache.ts'
import { complete, type DeliveredPage, deliveredColumns, readEntries, toVisible } from './delivered-rows.ts'
import type { Listing } from './list-conditions.ts'
import { type Counts, countMatches, pageOf, readByCursor, readInOrder } from './list-objects.ts'
import { choosePlan, selectIds } from './list-plans.ts'
import { rankMatches } from './rank-matches.ts'
import type { Reading } from './reading.ts'
import { narrowTo, searchMatches } from './search-matches.ts'

/** Numbers of ids to cache. The largest one that can be read at `maxOrderCost` is used. */
const orderDepths = [2000, 500, 100]
const maxOrderCost = 5000

export const containerKeyOf = (ref: ContainerRef): string =>
  ref.kind === 'collection' ? `collection ${ref.id}` : `integration ${ref.name}`

/** A container with its current schema, if it exists. */
export async function findContainerToList(reading: Reading, ref: ContainerRef): Promise<CachedContainer | undefined> {
  const { group, cache, nowMs, confirm } = reading
  const { groupId } = group
  const key = containerKeyOf(ref)
  const cached = cache.containers.get(groupId, cache.revisionOf(groupId), key, nowMs)
  if (cached) {
    confirm(cached.revision)
    return cached
  }
  const { container, revision, ...next } = await readContainerAtRevision(group, ref, nowMs)
  confirm(revision)
  const nextPublishMs = Math.min(next.nextPublishMs, reading.untilDue(next.dueMs))
  if (!container) return undefined
  const found = { container, revision, nextPublishMs }
  cache.containers.set(groupId, revision, key, found, { fromMs: nowMs, untilMs: nextPublishMs })
  return found
}

/** One listing in one reading. */
interface Request extends CachedContainer {
  reading: Reading
  listing: Listing
  maxBytes: number
  /** Cache keys of the set of matches and of their order. */
  matchKey: string
  orderKey: string
}

const keysOf = memoizeByPair(({ id }: Container, query: ListQuery) => {
  const { ids, filters, ranges, exclusions, words, sort, byRelevance } = query
  const matchKey = `${id} ${JSON.stringify([ids, filters, ranges, exclusions, words])}`
  return { matchKey, orderKey: `${matchKey} ${JSON.stringify([sort, byRelevance])}` }
})

const scopeOf = ({ container }: Pick<Listing, 'container'>): readonly unknown[] => [container.id]

function requestOf(found: CachedContainer, reading: Reading, query: ListQuery, maxBytes: number): Request {
  const { group, nowMs } = reading
  const after = readCursor(scopeOf(found), query)
  const listing: Listing = { group, container: found.container, query, show: 'visible', nowMs, after }
  return { ...found, ...keysOf(found.container, query), reading, listing, maxBytes }
}

const spanOf = ({ reading, nextPublishMs }: Request) => ({ fromMs: reading.nowMs, untilMs: nextPublishMs })

async function totalOf(request: Request): Promise<number> {
  const { reading, listing, matchKey, revision } = request
  const { totals } = reading.cache
  const { groupId } = reading.group
  const cached = totals.get(groupId, revision, matchKey, reading.nowMs)
  if (cached !== undefined) return cached
  const counted = await countMatches(listing, () => totalOfAll(request))
  reading.confirm(counted.revision)
  totals.set(groupId, revision, matchKey, counted.total, spanOf(request))
  return counted.total
}

function totalOfAll({ reading, listing, maxBytes, ...found }: Request): Promise<number> {
  const everything = { ...listing.query, ...noConditions, words: [], after: undefined }
  return totalOf(requestOf(found, reading, everything, maxBytes))
}

async function matchesOf(request: Request): Promise<Matches> {
  const { reading, listing, matchKey, revision } = request
  const { matches } = reading.cache
  const { groupId } = reading.group
  const cached = matches.get(groupId, revision, matchKey, reading.nowMs)
  if (cached) return cached
  const found = await searchMatches(listing, reading.confirm)
  matches.set(groupId, revision, matchKey, found, spanOf(request))
  return found
}

interface Page extends DeliveredPage {
  /** To be cached when the revision of the page is confirmed. */
  order?: ListEntry[]
  nextCursor?: string | null
}

type PageRow = Pick<ObjectRow, (typeof deliveredColumns)[number]> & Revisions

const toPage = ({ listing, maxBytes }: Request, rows: PageRow[]): Promise<Page> => {
  const objects = rows.map((row) =>
    toVisible([row.id, row.value, row.publish_ms, row.created_ms, row.updated_ms, row.external_id, row.account_handle]),
  )
  return complete(listing.group, { objects, revisions: rows }, maxBytes)
}

async function readWithObjects(request: Request, counts: Counts): Promise<Page> {
  const { listing, maxBytes } = request
  const page = pageOf(listing, deliveredColumns, maxBytes)
  return toPage(request, await readInOrder<PageRow>(listing, counts, listing.query, page))
}

/** Depth costs nothing with a cursor, so no order is cached. */
async function readBehindCursor(request: Request, counts: Counts, requested: ListQuery): Promise<Page> {
  const { listing, maxBytes } = request
  const page = pageOf(listing, deliveredColumns, maxBytes)
  const { rows, nextCursor = null } = await readByCursor<PageRow>(listing, counts, page, scopeOf(listing), requested)
  return { ...(await toPage(request, rows)), nextCursor }
}

const toEntry = (id: string): ListEntry => ({ id, row: undefined })

/** As many ids as are worth caching; undefined if finding them would take too long. */
async function readOrder(listing: Listing, counts: Counts, wanted: number): Promise<ListEntry[] | undefined> {
  if (listing.query.words.length > 0) return undefined
  const isWorthIt = (depth: number): boolean =>
    choosePlan(listing, { ...counts, wanted: Math.min(depth, counts.matches) }).cost <= maxOrderCost
  const limit = orderDepths.find((depth) => depth >= wanted && isWorthIt(depth))
  if (limit === undefined) return undefined
  const rows = await readInOrder<{ page_id: string }>(listing, counts, { limit, skip: 0 }, selectIds)
  return rows.map((row) => toEntry(row.page_id))
}

async function countsOf(request: Request, matches: number): Promise<Counts> {
  const { ids, filters, ranges, exclusions, words } = request.listing.query
  const isAllKnown = ids !== undefined || filters.length + ranges.length + exclusions.length + words.length === 0
  return { matches, all: isAllKnown ? matches : await totalOfAll(request) }
}

/** Finds the order of all matches, for `sort=relevance`. */
type Rank = () => Promise<Candidate[]>

/**
 * A listing that is requested a second time is probably paged through, so its order is then read separately and cached:
 * each further page only looks up its objects.
 */
async function readPage(request: Request, matches: number, rank: Rank | undefined): Promise<Page> {
  const { reading, listing, maxBytes, orderKey, revision } = request
  const { query, group } = listing
  const end = Math.min(query.skip + query.limit, matches)
  const cached = reading.cache.orders.get(group.groupId, revision, orderKey, reading.nowMs)
  const source = { ...listing, maxBytes }
  if (cached && cached.length >= end) return readEntries(source, cached.slice(query.skip, end))

  if (rank) {
    const order = (await rank()).map(({ id }) => toEntry(id))
    return { ...(await readEntries(source, order.slice(query.skip, end))), order }
  }
  const counts = await countsOf(request, matches)
  const order = cached && (await readOrder(listing, counts, end))
  if (order) return { ...(await readEntries(source, order.slice(query.skip, end))), order }
  const page = await readWithObjects(request, counts)
  return { ...page, order: query.skip === 0 ? page.objects.map(({ id }) => toEntry(id)) : (cached ?? []) }
}

async function readPageOf(
  request: Request,
  matches: number,
  requested: ListQuery,
  rank: Rank | undefined,
): Promise<Page> {
  const hasCursor = requested.after !== undefined
  if (requested.skip >= matches) return { objects: [], revisions: [], ...(hasCursor && { nextCursor: null }) }
  if (!hasCursor) return readPage(request, matches, rank)
  return readBehindCursor(request, await countsOf(request, matches), requested)
}

async function readRevisions(group: GroupStore): Promise<Revisions> {
  const draft = createSqlBuilder(group.database)
  const [row] = await runStatement<Revisions>(group, `select ${revisionColumns(draft, group.groupId)}`, draft)
  return row ?? { revision: 0, media_revision: 0 }
}

/** The set of matches of a listing. */
export type Matching = Pick<Listing, 'container' | 'query' | 'show' | 'except' | 'nowMs'>

export const matchingOf = ({ group: _, ...matching }: Listing): Matching => matching

/** An object with its working copy as its value, in a preview. */
export interface EditedObject extends ListedObject {
  object: VisibleObject
}

/** A page of visible objects as of one revision. */
export interface VisibleList {
  container: Container
  objects: VisibleObject[]
  totalCount: number
  /** Of the next page, if the query has cursors; null at the end. */
  nextCursor: string | null | undefined
  /** Selects the same matches; after a search by their ids. */
  matching: Matching
  /** In a preview: further matches, which are not in the database. */
  edited: readonly EditedObject[]
  mediaRevision: number
  /** From this time on, the list may differ at the same revision. */
  untilMs: number
}

/**
 * A page of the visible objects of a container that match a query, and their total number. If everything is cached, this is
 * one statement, which also returns the revision.
 */
export async function listVisible(
  reading: Reading,
  found: CachedContainer,
  query: ListQuery,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<VisibleList> {
  const { group, cache } = reading
  const request = requestOf(found, reading, query, maxBytes)
  const searched = query.words.length > 0 ? await matchesOf(request) : undefined
  const listing = searched ? narrowTo(request.listing, searched) : request.listing
  const totalCount = searched?.total ?? (await totalOf(request))
  const known = query.byRelevance ? searched?.ids : undefined
  const rank = known && (() => rankMatches(request.listing, known, reading.confirm))
  const page = await readPageOf({ ...request, listing }, totalCount, query, rank)
  const revisions = page.revisions.length > 0 ? page.revisions : [await readRevisions(group)]
  for (const { revision } of revisions) reading.confirm(revision)
  if (page.order) cache.orders.set(group.groupId, found.revision, request.orderKey, page.order, spanOf(request))
  return {
    container: found.container,
    objects: page.objects,
    totalCount,
    matching: matchingOf(listing),
    edited: [],
    nextCursor: page.nextCursor,
    mediaRevision: revisions[0]?.media_revision ?? 0,
    untilMs: found.nextPublishMs,
  }
}
