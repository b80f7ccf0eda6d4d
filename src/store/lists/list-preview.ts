import { splitIntoSlices, yieldForHeavyWork } from '../../concurrency/time-slicing.ts'
import { readCursor, writeCursor } from '../../content/cursor.ts'
import { searchTextOf } from '../../content/index-keys.ts'
import type { ListQuery } from '../../content/list-query.ts'
import { compareInOrder, matchesQuery, objectAt, positionIn, type SortableObject } from '../../content/listed-object.ts'
import type { Container, StoredObject } from '../../content/model.ts'
import { isMirrored } from '../../content/product-edits.ts'
import { compareRelevance, relevanceOf } from '../../content/relevance.ts'
import { fieldRowsOf } from '../content/objects.ts'
import { withEdit } from '../content/publish-working-copies.ts'
import { readCopiedValues } from '../content/working-copies.ts'
import { inBatches } from '../engine/database.ts'
import type { GroupStore } from '../store.ts'
import type { CachedContainer } from './content-cache.ts'
import { readEntries } from './delivered-rows.ts'
import type { Listing } from './list-conditions.ts'
import { type Counts, countMatches, countSome, readInOrder } from './list-objects.ts'
import { selectIds } from './list-plans.ts'
import { type EditedObject, matchingOf, type VisibleList } from './list-visible.ts'
import { rankMatches } from './rank-matches.ts'
import type { Reading } from './reading.ts'
import { narrowTo, searchMatches } from './search-matches.ts'

function toEdited(container: Container, { words }: ListQuery, object: StoredObject): EditedObject {
  const rows = fieldRowsOf(container, object).map(({ field, filter_key, sort_key }) => ({
    field,
    filterKey: filter_key,
    sortKey: sort_key,
  }))
  const { id, publishMs, createdMs, updatedMs, externalId, accountHandle, value } = object
  const valueText = JSON.stringify(value)
  return {
    id,
    publishMs,
    createdMs,
    updatedMs,
    rows,
    sortKeys: new Map(rows.flatMap(({ field, sortKey }) => (sortKey === null ? [] : [[field, sortKey]]))),
    searchText: words.length > 0 ? searchTextOf(container.schema, value) : '',
    object: { id, valueText, publishMs, createdMs, updatedMs, externalId, accountHandle },
  }
}

/** The live states of objects; their values only where a working copy is a part of it. */
async function* readStates({ groupId, database }: GroupStore, container: Container, ids: readonly string[]) {
  for (const batch of inBatches(ids)) {
    const rows = await database.read
      .selectFrom('objects')
      .select(['id', 'external_id', 'account_handle', 'publish_ms', 'archived', 'created_ms', 'updated_ms'])
      .$if(isMirrored(container), (query) => query.select('value'))
      .where('group_id', '=', groupId)
      .where('id', 'in', batch)
      .execute()
    for (const row of rows)
      yield {
        id: row.id,
        value: JSON.parse(row.value ?? '{}') as Record<string, unknown>,
        publishMs: row.publish_ms,
        archived: row.archived !== 0,
        archiveMs: null,
        createdMs: row.created_ms,
        updatedMs: row.updated_ms,
        externalId: row.external_id,
        accountHandle: row.account_handle,
        version: 0,
        review: null,
      }
  }
}

interface Edited {
  /** Of all objects with a working copy. */
  ids: string[]
  /** Those that match a query; archived ones never do. */
  matching: EditedObject[]
}

/** The objects of a container with a working copy. */
async function readEdited(group: GroupStore, container: Container, query: ListQuery): Promise<Edited> {
  const copies = await readCopiedValues(group, container.id)
  const states = new Map<string, StoredObject>()
  const ids = copies.map(({ id }) => id)
  for await (const state of readStates(group, container, ids)) states.set(state.id, state)
  const matching: EditedObject[] = []
  for (const { items, characters } of splitIntoSlices(copies, ({ value }) => value.length)) {
    await yieldForHeavyWork(characters)
    for (const { id, value } of items) {
      const state = states.get(id)
      if (!state || state.archived) continue
      const object = toEdited(container, query, { ...state, value: withEdit(container, state, JSON.parse(value)) })
      if (matchesQuery(query, object)) matching.push(object)
    }
  }
  return { ids, matching }
}

/** An object's value with a working copy, both as JSON. */
export const editedText = (container: Container, live: string, copy: string): string =>
  isMirrored(container) ? JSON.stringify(withEdit(container, { value: JSON.parse(live) }, JSON.parse(copy))) : copy

/** What decides the order of these objects, from the index. */
async function readSortable(
  { groupId, database }: GroupStore,
  { sort }: ListQuery,
  ids: readonly string[],
): Promise<Map<string, SortableObject>> {
  const fields = sort.flatMap(({ by }) => ('field' in by ? by.field : []))
  const found = new Map<string, SortableObject & { sortKeys: Map<string, string> }>()
  for (const batch of inBatches(ids)) {
    const rows = await database.read
      .selectFrom('objects')
      .select(['id', 'publish_ms', 'created_ms', 'updated_ms'])
      .where('group_id', '=', groupId)
      .where('id', 'in', batch)
      .execute()
    for (const { id, publish_ms: publishMs, created_ms: createdMs, updated_ms: updatedMs } of rows)
      found.set(id, { id, publishMs, createdMs, updatedMs, sortKeys: new Map() })
    if (fields.length === 0) continue
    const keys = await database.read
      .selectFrom('object_fields')
      .select(['object_id', 'field', 'sort_key'])
      .where('object_id', 'in', batch)
      .where('field', 'in', fields)
      .where('sort_key', 'is not', null)
      .execute()
    for (const { object_id, field, sort_key } of keys) found.get(object_id)?.sortKeys.set(field, sort_key ?? '')
  }
  return found
}

/** Merges two ordered lists. */
function merge<One extends SortableObject, Other extends SortableObject>(
  { sort }: ListQuery,
  ones: readonly One[],
  others: readonly Other[],
): (One | Other)[] {
  const merged: (One | Other)[] = []
  let next = 0
  for (const one of ones) {
    for (; next < others.length && compareInOrder(sort, others[next] as Other, one) < 0; next += 1)
      merged.push(others[next] as Other)
    merged.push(one)
  }
  return [...merged, ...others.slice(next)]
}

/** An object of the database by its id, or one with a working copy. */
type PageEntry = Pick<SortableObject, 'id'> | EditedObject

/** The page in the order of the query, and whether more follows. */
async function readMerged(
  listing: Listing,
  counts: Counts,
  { edited, behind }: { edited: number; behind: readonly EditedObject[] },
): Promise<{ page: (SortableObject | EditedObject)[]; hasMore: boolean }> {
  const { group, query } = listing
  // At most all edited objects come between the live ones before this one and the page.
  const first = Math.max(0, query.skip - edited)
  const range = { limit: query.skip + query.limit - first + (query.after === undefined ? 0 : 1), skip: first }
  const rows = first < counts.matches ? await readInOrder<{ page_id: string }>(listing, counts, range, selectIds) : []
  const ids = rows.map((row) => row.page_id)
  const sortable = await readSortable(group, query, ids)
  const live = ids.flatMap((id) => sortable.get(id) ?? [])
  const merged = merge(query, live, behind)
  const page = merged.slice(query.skip - first, query.skip - first + query.limit)
  return { page, hasMore: merged.length > page.length }
}

/** The page in the order of relevance. */
async function rankPage(
  requested: Listing,
  ids: readonly string[],
  edited: readonly EditedObject[],
  { confirm }: Reading,
): Promise<PageEntry[]> {
  const { words, skip, limit } = requested.query
  const byId = new Map(edited.map((object) => [object.id, object]))
  const candidates = [
    ...(await rankMatches(requested, ids, confirm)),
    ...edited.map(({ id, createdMs, searchText }) => ({ id, createdMs, relevance: relevanceOf(searchText, words) })),
  ].sort(compareRelevance)
  return candidates.slice(skip, skip + limit).map(({ id }) => byId.get(id) ?? { id })
}

/**
 * The list as it would be if everything were published now: all objects that are not archived, drafts and scheduled ones
 * included, with working copies as values. The database lists the objects without a working copy; those with one, which are
 * few, are matched and sorted here, and merged in.
 */
export async function listPreview(
  reading: Reading,
  { container }: CachedContainer,
  query: ListQuery,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<VisibleList> {
  const { group, nowMs } = reading
  const { ids: except, matching } = await readEdited(group, container, query)
  const edited = matching.sort((one, other) => compareInOrder(query.sort, one, other))
  const scope = [container.id]
  const after = readCursor(scope, query)
  const begin = after && objectAt(query, after)
  const behind = begin ? edited.filter((object) => compareInOrder(query.sort, begin, object) < 0) : edited
  const requested: Listing = { group, container, query, show: 'preview', except, nowMs, after }
  const searched = query.words.length > 0 ? await searchMatches(requested, reading.confirm) : undefined
  const listing = searched ? narrowTo(requested, searched) : requested
  const objects = await countSome(listing)
  const matches = searched?.total ?? (await countMatches(listing, async () => objects)).total
  const counts = { matches, all: Math.max(matches, objects) }
  const hasCursor = query.after !== undefined
  let page: readonly PageEntry[]
  let nextCursor: string | null = null
  if (query.byRelevance && searched?.ids) {
    page = await rankPage(requested, searched.ids, edited, reading)
  } else {
    const merged = await readMerged(listing, counts, { edited: edited.length, behind })
    const last = merged.hasMore ? merged.page.at(-1) : undefined
    if (last) nextCursor = writeCursor(scope, query, positionIn(query, last))
    page = merged.page
  }
  const isLive = (object: PageEntry): boolean => !('object' in object)
  const entries = page.filter(isLive).map(({ id }) => ({ id, row: undefined }))
  const delivered = await readEntries({ group, container, maxBytes }, entries)
  for (const { revision } of delivered.revisions) reading.confirm(revision)
  const byId = new Map(delivered.objects.map((object) => [object.id, object]))
  return {
    container,
    objects: page.flatMap((object) => ('object' in object ? object.object : (byId.get(object.id) ?? []))),
    totalCount: matches + edited.length,
    matching: matchingOf(listing),
    nextCursor: hasCursor ? nextCursor : undefined,
    edited,
    mediaRevision: delivered.revisions[0]?.media_revision ?? 0,
    untilMs: nowMs,
  }
}
