import { type Authoring, type ContentWriter, writeContent } from '../../store/changes.ts'
import type { GroupStore } from '../../store/groups.ts'
import { insertJob } from '../../store/jobs.ts'
import {
  deleteSandboxObject,
  eachSandboxObject,
  findSandboxObject,
  putSandboxObject,
  type SandboxObject,
} from '../../store/sandbox.ts'
import { apiVersion, type Event, type Kind, type Kinds, newId } from './objects.ts'
import { noSuch, refuse } from './refusal.ts'
import { type EventWork, eventKind } from './work.ts'

/** What the sandbox knows of one account. */
export interface Books {
  integrationId: string
  nowMs: number
  find<K extends Kind>(kind: K, id: string): Promise<Kinds[K] | undefined>
  /** Whatever has this id. */
  findAny(id: string): Promise<object | undefined>
  /** Newest first. */
  each<K extends Kind>(kind: K): AsyncGenerator<Kinds[K]>
  /** A page of those that match, newest first. */
  page<K extends Kind>(kind: K, paging: Paging, matches: (item: Kinds[K]) => boolean): Promise<PageOf<Kinds[K]>>
}

/** The same while it is written. */
export interface OpenBooks extends Books {
  put<K extends Kind>(kind: K, id: string, value: Kinds[K]): Promise<void>
  remove(id: string): Promise<void>
  /** Notes that something happened, for all who want to hear of it. */
  tell(type: string, object: object, previous?: object): Promise<void>
  writer: ContentWriter
}

export interface Paging {
  limit?: number
  starting_after?: string
  ending_before?: string
}

export interface PageOf<Item> {
  items: Item[]
  hasMore: boolean
}

export const secondsOf = ({ nowMs }: Pick<Books, 'nowMs'>): number => Math.floor(nowMs / 1000)

const defaultLimit = 10
const mostPerPage = 100

export function limitOf({ limit = defaultLimit }: Paging): number {
  if (limit < 1 || limit > mostPerPage)
    throw refuse('limit', `Limit must be a whole number from 1 to ${mostPerPage}.`, 'parameter_invalid_integer')
  return limit
}

export function readBooks(group: GroupStore, integrationId: string, nowMs: number): Books {
  const value = <K extends Kind>({ data }: SandboxObject): Kinds[K] => JSON.parse(data)

  async function find<K extends Kind>(kind: K, id: string): Promise<Kinds[K] | undefined> {
    const found = await findSandboxObject(group, integrationId, id)
    return found?.kind === kind ? value<K>(found) : undefined
  }

  async function placeOf(kind: Kind, param: 'starting_after' | 'ending_before', id: string): Promise<number> {
    const found = await findSandboxObject(group, integrationId, id)
    if (found?.kind !== kind) throw noSuch(kind, id, param, 400)
    return found.seq
  }

  async function* each<K extends Kind>(kind: K): AsyncGenerator<Kinds[K]> {
    for await (const found of eachSandboxObject(group, integrationId, kind)) yield value<K>(found)
  }

  async function page<K extends Kind>(
    kind: K,
    paging: Paging,
    matches: (item: Kinds[K]) => boolean,
  ): Promise<PageOf<Kinds[K]>> {
    const limit = limitOf(paging)
    const { starting_after: after, ending_before: before } = paging
    const beyond =
      before !== undefined
        ? { newerThan: await placeOf(kind, 'ending_before', before) }
        : { olderThan: after === undefined ? undefined : await placeOf(kind, 'starting_after', after) }
    const items: Kinds[K][] = []
    for await (const found of eachSandboxObject(group, integrationId, kind, beyond)) {
      const item = value<K>(found)
      if (matches(item)) items.push(item)
      if (items.length > limit) break
    }
    const shown = items.slice(0, limit)
    return { items: before === undefined ? shown : shown.reverse(), hasMore: items.length > limit }
  }

  return {
    integrationId,
    nowMs,
    find,
    async findAny(id) {
      const found = await findSandboxObject(group, integrationId, id)
      return found && JSON.parse(found.data)
    },
    each,
    page,
  }
}

/** The books inside a transaction: either all of a call is written, with its events, or nothing. */
export function openBooks(writer: ContentWriter, integrationId: string): OpenBooks {
  const books = readBooks(writer.group, integrationId, writer.nowMs)
  const put: OpenBooks['put'] = (kind, id, value) =>
    putSandboxObject(writer, integrationId, { id, kind, data: JSON.stringify(value) })

  async function countListeners(type: string): Promise<number> {
    let listeners = 0
    for await (const { enabled_events } of books.each('webhook_endpoint'))
      if (wants(enabled_events, type)) listeners += 1
    return listeners
  }

  return {
    ...books,
    writer,
    put,
    remove: (id) => deleteSandboxObject(writer, integrationId, id),
    async tell(type, object, previous) {
      const listeners = await countListeners(type)
      const event: Event = {
        id: newId('evt_'),
        object: 'event',
        api_version: apiVersion,
        created: secondsOf(books),
        data: { object, ...(previous && { previous_attributes: previous }) },
        livemode: false,
        pending_webhooks: listeners,
        request: { id: null, idempotency_key: null },
        type,
      }
      await put('event', event.id, event)
      const payload: EventWork = { integrationId, eventId: event.id }
      if (listeners > 0) await insertJob(writer, { kind: eventKind, payload })
    },
  }
}

export const wants = (enabledEvents: readonly string[], type: string): boolean =>
  enabledEvents.includes('*') || enabledEvents.includes(type)

/** Nothing that is delivered changes, and nobody is told: no record is left. */
const authoringAt = (nowMs: number): Authoring => ({
  author: { id: null, name: 'sandbox', address: '' },
  verb: 'sandbox',
  nowMs,
  versionsKept: 0,
})

export function writeBooks<Result>(
  group: GroupStore,
  integrationId: string,
  nowMs: number,
  work: (books: OpenBooks) => Promise<Result>,
): Promise<Result> {
  return writeContent(group, authoringAt(nowMs), (writer) => work(openBooks(writer, integrationId)))
}
