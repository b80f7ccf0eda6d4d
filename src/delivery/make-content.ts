import { createAnswerSemaphore } from '../concurrency/semaphore.ts'
import { splitIntoSlices, yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import type { Config } from '../config/config.ts'
import { type AnswerMeter, checkFiles, createAnswerMeter } from '../content/answer-limit.ts'
import { itemPieces, type OutgoingObject, parsedItems, prepareItems } from '../content/delivery-text.ts'
import type { ExpandTree } from '../content/expand.ts'
import { mediaKeysOfAll } from '../content/media-uses.ts'
import type { Schema } from '../content/schema.ts'
import type { Timing } from '../http/timing.ts'
import type { CurrentFiles, Signing } from '../media/current-files.ts'
import { type ContentCache, createContentCache } from '../store/lists/content-cache.ts'
import type { VisibleList } from '../store/lists/list-visible.ts'
import { type Reading, readSettled } from '../store/lists/reading.ts'
import { type GroupStore, openGroup, type Store, type Tenant } from '../store/store.ts'
import { type Content, type EncodedContent, encodeContent } from './answer.ts'
import { readExpansion } from './expand.ts'

/** What every endpoint reads with: the caller, the query as its schema has parsed it, the group's content and signatures. */
export interface ReadCall<Query> {
  tenant: Tenant
  group: GroupStore
  /** Signs delivered files; `mediaRevision` is the one at which their keys were read. */
  signing(keys: readonly string[], mediaRevision?: number): Promise<Signing>
  /** Counts the length of an answer. */
  newMeter(): AnswerMeter
  query: Query
  nowMs: number
}

/** The same for content, which may take several statements: one attempt to read it at one revision. */
export interface ContentCall<Query> extends ReadCall<Query> {
  reading: Reading
}

/**
 * Reads content. It depends on nothing but the tenant, the query, the group's revision and the time. Throws `Superseded` when its
 * parts are not of one revision; then it is called again.
 */
export type ReadContent<Query> = (call: ContentCall<Query>) => Promise<Pick<Content, 'json' | 'untilMs'>>

export interface ReadDeps {
  store: Pick<Store, 'content'>
  contentCache: ContentCache
  currentFiles: CurrentFiles
  config: Pick<Config, 'maxAnswerBytes'>
}

/** A query to a content endpoint: all that an answer is made from, except the time. */
export interface ContentRequest {
  /** The endpoint's path. */
  route: string
  tenant: Tenant
  /** As the endpoint's schema has parsed it. */
  query: object
  /** After the token has been checked. */
  isPreview?: boolean
}

interface ReadRequest<Query> {
  tenant: Tenant
  query: Query
  timing?: Timing | undefined
}

export function createReadCall<Query>(
  { currentFiles, config }: ReadDeps,
  { tenant, query, timing }: ReadRequest<Query>,
  group: GroupStore,
  nowMs: number,
): ReadCall<Query> {
  return {
    tenant,
    group,
    async signing(keys, mediaRevision) {
      timing?.begin('sign')
      const moment = mediaRevision === undefined ? undefined : { mediaRevision, nowMs }
      const signing = await currentFiles.prepare(group, tenant.bucketName, keys, moment)
      timing?.begin('read')
      return signing
    },
    newMeter: () => createAnswerMeter(config.maxAnswerBytes),
    query,
    nowMs,
  }
}

export type MakeContent = (request: ContentRequest, nowMs: number, timing?: Timing) => Promise<EncodedContent>

/** By path. Each is given only what its own schema has parsed. */
export type ContentReads = Readonly<Record<string, ReadContent<never>>>

/** Makes content in the calling thread. */
export function createContentMaker(reads: ContentReads, deps: ReadDeps): MakeContent {
  return async ({ route, ...request }, nowMs, timing) => {
    const read = reads[route] as ReadContent<object> | undefined
    if (!read) throw new Error(`${route} is not a content endpoint.`)
    const group = await openGroup(deps.store, request.tenant)
    const { isPreview = false } = request
    // The shared cache has live values.
    const cache = isPreview ? createContentCache(0) : deps.contentCache
    const readAll = async (reading: Reading) => {
      const found = await read({ ...createReadCall(deps, { ...request, timing }, reading.group, nowMs), reading })
      return { ...found, revision: reading.revision }
    }
    const content = await readSettled(group, cache, nowMs, readAll, isPreview)
    timing?.begin('serialise')
    return encodeContent(content, deps.config.maxAnswerBytes)
  }
}

/** Previews read all working copies of a list, and are not cached. */
export const maxPreviewsPerGroup = 2
/** Answers of one group built at once: fewer than PostgreSQL's ten connections, so that some remain for other groups. */
const maxPerGroup = 8

/** A search waits for other long reads of its group, and must not delay its plain pages. */
const isSearch = ({ query }: ContentRequest): boolean => 'search' in query && query.search !== undefined

/** The requests of one group do not wait behind all the requests of another. */
export function createFairMaker(make: MakeContent, maxAtOnce = maxPerGroup): MakeContent {
  const reads = createAnswerSemaphore(maxAtOnce)
  return (request, nowMs, timing) =>
    reads.run(isSearch(request) ? undefined : request.tenant.groupID, () => make(request, nowMs, timing))
}

/** The items of a page as JSON. */
export interface DeliveredItems {
  objects: OutgoingObject[]
  /** Each item's JSON, in pieces. */
  items: string[][]
  untilMs: number
}

interface PageToDeliver extends Pick<VisibleList, 'container' | 'objects' | 'mediaRevision'> {
  meter: AnswerMeter
  /** The fields to deliver; by default all public ones. */
  shown?: Schema | undefined
  /** The references to expand. */
  expand?: ExpandTree | undefined
}

/** Makes a page's items. Yields to other work where they are long, and throws once the answer becomes too long. */
export async function deliverPage(
  { group, reading, signing }: ContentCall<unknown>,
  { container, meter, shown, mediaRevision, expand, ...page }: PageToDeliver,
): Promise<DeliveredItems> {
  const parts = splitIntoSlices(page.objects, ({ valueText }) => valueText.length)
  const frames = reading.cache.framesOf(container)
  const objects: OutgoingObject[] = []
  for (const { items, characters } of parts) {
    await yieldForHeavyWork(characters)
    objects.push(...prepareItems(container, group.groupId, items, frames, shown))
  }
  const { maxBytes } = meter
  const expansion = expand && (await readExpansion(reading, { container, items: objects, tree: expand, maxBytes }))
  const ofPage = mediaKeysOfAll(shown ?? container.schema, parsedItems(objects))
  const keys = expansion ? [...new Set([...ofPage, ...expansion.mediaKeys])] : ofPage
  checkFiles(keys)
  const { sign, untilMs } = await signing(keys, mediaRevision)
  const measured = meter.measured(sign)
  await expansion?.prepare(measured)
  const items: string[][] = []
  for (const piece of splitIntoSlices(objects, ({ object }) => object.valueText.length)) {
    await yieldForHeavyWork(piece.characters)
    for (const each of piece.items) {
      const item = itemPieces(container, each, measured, shown)
      const pieces = expansion ? expansion.addTo(item, items.length) : item
      meter.add(pieces)
      items.push(pieces)
    }
  }
  return { objects, items, untilMs: Math.min(untilMs, expansion?.untilMs ?? untilMs) }
}

/** A list as JSON, in pieces: joining them at once takes a fraction of the time of concatenation. */
export function listPieces(items: readonly (readonly string[])[]): string[] {
  const all = ['[']
  for (const pieces of items) {
    if (all.length > 1) all.push(',')
    for (const piece of pieces) all.push(piece)
  }
  all.push(']')
  return all
}

/** What follows the items in a list's JSON. */
export const totalAndNext = ({ totalCount, nextCursor }: Pick<VisibleList, 'totalCount' | 'nextCursor'>): string =>
  `,"totalCount":${totalCount}${nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(nextCursor)}`}`
