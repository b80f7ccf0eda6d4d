import type { VisibleObject } from '../content/delivery-text.ts'
import type { ListQuery } from '../content/list-query.ts'
import type { Container } from '../content/model.ts'
import { type ContainerPlace, readContainerAt } from './containers.ts'
import type { ContentMemory, KnownContainer, Span } from './content-memory.ts'
import { complete, type DeliveredPage, deliveredColumns, type Entry, readEntries, toVisible } from './delivered-rows.ts'
import type { GroupStore } from './groups.ts'
import type { Listing } from './list-conditions.ts'
import { type Counts, countMatches, pageOf, readInOrder } from './list-objects.ts'
import { chooseWay, selectIds } from './list-plans.ts'
import { type Revisions, revisionColumns, Superseded } from './revisions.ts'
import { type Matches, narrowTo, searchMatches } from './search-matches.ts'
import { beginStatement, runStatement } from './statement.ts'
import type { ObjectRow } from './tables.ts'

/** How many ids of a listing are remembered, the most that can be had at the cost of so many entries of an index. */
const orderDepths = [2000, 500, 100]
const mostOrderEntries = 5000

/** A page of what everybody may see, all of it as of one revision. */
export interface VisibleList {
  /** Undefined where there is none in this place. */
  container: Container | undefined
  objects: VisibleObject[]
  totalCount: number
  /** What the matches can be asked for by: where something was searched for, by what was found. */
  query: ListQuery | undefined
  revision: number
  mediaRevision: number
  /** From this moment on the same revision may give another list. */
  untilMs: number
}

/** Of what a listing is read: all parts of it are to be of the revision that its container was read at. */
interface Source {
  group: GroupStore
  memory: ContentMemory
  revision: number
  span: Span
}

interface Reading extends Source {
  maxBytes: number
  listing: Listing
  /** By what it was asked for, which may be narrowed since. */
  keys: Keys
}

function checkRevision({ group, memory, revision }: Source, found: number): void {
  if (found === revision) return
  memory.observe(group.groupId, found)
  throw new Superseded()
}

async function readRevisions(group: GroupStore): Promise<Revisions> {
  const draft = beginStatement(group.database)
  const [row] = await runStatement<Revisions>(group, `select ${revisionColumns(draft, group.groupId)}`, draft)
  return row ?? { revision: 0, media_revision: 0 }
}

/** Only the schema as it is now can refuse a query, not the one that is remembered. */
async function readQuery(source: Source, read: () => ListQuery): Promise<ListQuery> {
  try {
    return read()
  } catch (error) {
    checkRevision(source, (await readRevisions(source.group)).revision)
    throw error
  }
}

async function knowContainer(
  group: GroupStore,
  memory: ContentMemory,
  place: ContainerPlace,
  nowMs: number,
): Promise<KnownContainer | { container: undefined; revision: number }> {
  const { groupId } = group
  const key = placeKey(place)
  const known = memory.containers.recall(groupId, memory.revisionOf(groupId), key, nowMs)
  if (known) return known
  const { container, revision, nextPublishMs } = await readContainerAt(group, place, nowMs)
  if (!container) return { container, revision }
  const found = { container, revision, nextPublishMs }
  memory.containers.keep(groupId, revision, key, found, { fromMs: nowMs, untilMs: nextPublishMs })
  return found
}

const placeKey = (place: ContainerPlace): string =>
  place.kind === 'collection' ? `collection ${place.id}` : `integration ${place.name}`

const everythingOf = (query: ListQuery): ListQuery => ({ ...query, ids: undefined, filters: [], words: [] })
const isEverything = ({ ids, filters, words }: ListQuery): boolean => !ids && filters.length === 0 && words.length === 0

/** What is remembered of a listing is found by these: which objects it has, and in which order. */
interface Keys {
  match: string
  order: string
}

/** A query belongs to one container, because each container that is read has a schema of its own, by which the query was read. */
const knownKeys = new WeakMap<ListQuery, Keys>()

function keysOf({ container, query }: Listing): Keys {
  const known = knownKeys.get(query)
  if (known) return known
  const { ids, filters, words, sort } = query
  const match = `${container.id} ${JSON.stringify([ids, filters, words])}`
  const keys = { match, order: `${match} ${JSON.stringify(sort)}` }
  knownKeys.set(query, keys)
  return keys
}

async function totalOf(reading: Reading): Promise<number> {
  const { memory, listing, revision, span } = reading
  const { groupId } = listing.group
  const { match: key } = reading.keys
  const known = memory.totals.recall(groupId, revision, key, listing.nowMs)
  if (known !== undefined) return known
  const counted = await countMatches(listing, () => totalOfAll(reading))
  checkRevision(reading, counted.revision)
  memory.totals.keep(groupId, revision, key, counted.total, span)
  return counted.total
}

function totalOfAll(reading: Reading): Promise<number> {
  const listing = { ...reading.listing, query: everythingOf(reading.listing.query) }
  return totalOf({ ...reading, listing, keys: keysOf(listing) })
}

/** What a search has found, as of the revision that is read. */
async function matchesOf(reading: Reading): Promise<Matches> {
  const { memory, group, listing, keys, revision, span } = reading
  const known = memory.matches.recall(group.groupId, revision, keys.match, listing.nowMs)
  if (known) return known
  const found = await searchMatches(listing, (at) => checkRevision(reading, at))
  memory.matches.keep(group.groupId, revision, keys.match, found, span)
  return found
}

interface Page extends DeliveredPage {
  /** What can be remembered of the order once the page is known to be of the right revision. */
  order?: Entry[]
}

type PageRow = Pick<ObjectRow, (typeof deliveredColumns)[number]> & Revisions

async function readAtOnce({ listing, maxBytes }: Reading, counts: Counts): Promise<Page> {
  const page = pageOf(listing, deliveredColumns, maxBytes)
  const rows = await readInOrder<PageRow>(listing, counts, listing.query, page)
  const objects = rows.map((row) =>
    toVisible([row.id, row.value, row.publish_ms, row.created_ms, row.updated_ms, row.external_id, row.account_handle]),
  )
  return complete(listing.group, { objects, revisions: rows }, maxBytes)
}

/** As many ids as are worth to be remembered, or undefined where it would take too long to find them. */
async function readOrder(listing: Listing, counts: Counts, wanted: number): Promise<Entry[] | undefined> {
  if (listing.query.words.length > 0) return undefined
  const isWorthIt = (depth: number): boolean =>
    chooseWay(listing, { ...counts, wanted: Math.min(depth, counts.matches) }).cost <= mostOrderEntries
  const limit = orderDepths.find((depth) => depth >= wanted && isWorthIt(depth))
  if (limit === undefined) return undefined
  const rows = await readInOrder<{ page_id: string }>(listing, counts, { limit, skip: 0 }, selectIds)
  return rows.map((row) => toEntry(row.page_id))
}

const toEntry = (id: string): Entry => ({ id, row: undefined })

/**
 * Who asks for a listing a second time leafs through it: then its order is read apart from its objects and remembered, so
 * that each further page is a look-up of its objects and nothing else.
 */
async function readPage(reading: Reading, matches: number): Promise<Page> {
  const { memory, listing, keys, revision } = reading
  const { group, query, nowMs } = listing
  const end = Math.min(query.skip + query.limit, matches)
  const known = memory.orders.recall(group.groupId, revision, keys.order, nowMs)
  const source = { ...listing, maxBytes: reading.maxBytes }
  if (known && known.length >= end) return readEntries(source, known.slice(query.skip, end))

  const counts = { matches, all: isEverything(query) || query.ids ? matches : await totalOfAll(reading) }
  const order = known && (await readOrder(listing, counts, end))
  if (order) return { ...(await readEntries(source, order.slice(query.skip, end))), order }
  const page = await readAtOnce(reading, counts)
  return { ...page, order: query.skip === 0 ? page.objects.map(({ id }) => toEntry(id)) : (known ?? []) }
}

/**
 * The visible objects of a container that match, one page of them, and how many there are in all. `queryOf` reads by the
 * container's schema what is asked for. With everything remembered it is one statement, which also says of which revision
 * it is. Throws `Superseded` when that is another one than that of what is remembered: see `readAtOneRevision`.
 */
export async function listVisible(
  group: GroupStore,
  memory: ContentMemory,
  place: ContainerPlace,
  queryOf: (container: Container) => ListQuery,
  nowMs: number,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<VisibleList> {
  const known = await knowContainer(group, memory, place, nowMs)
  const { container, revision } = known
  if (!container)
    return {
      container,
      objects: [],
      totalCount: 0,
      query: undefined,
      revision,
      mediaRevision: 0,
      untilMs: Number.POSITIVE_INFINITY,
    }
  const untilMs = known.nextPublishMs
  const source: Source = { group, memory, revision, span: { fromMs: nowMs, untilMs } }
  const query = await readQuery(source, () => queryOf(container))
  const listing: Listing = { group, container, query, show: 'visible', nowMs }
  const asked: Reading = { ...source, listing, keys: keysOf(listing), maxBytes }
  const searched = query.words.length > 0 ? await matchesOf(asked) : undefined
  const narrowed = searched ? { ...asked, listing: narrowTo(listing, searched) } : asked
  const totalCount = searched?.total ?? (await totalOf(asked))
  const nothing: Page = { objects: [], revisions: [] }
  const { objects, order, ...page } = query.skip < totalCount ? await readPage(narrowed, totalCount) : nothing
  const revisions = page.revisions.length > 0 ? page.revisions : [await readRevisions(group)]
  for (const found of revisions) checkRevision(source, found.revision)
  // It has not changed since the container was read: so the order is of this revision, too.
  if (order) memory.orders.keep(group.groupId, revision, asked.keys.order, order, source.span)
  return {
    container,
    objects,
    totalCount,
    query: narrowed.listing.query,
    revision,
    mediaRevision: revisions[0]?.media_revision ?? 0,
    untilMs,
  }
}
