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
import { apiVersion } from '../stripe.ts'
import { type Event, type EventWork, eventKind, type Kind, type Kinds, newId } from './objects.ts'
import { noSuch, refuse } from './refusal.ts'

/** What the sandbox knows of one account. */
export interface Books {
  integrationId: string
  nowMs: number
  find<K extends Kind>(kind: K, id: string): Promise<Kinds[K] | undefined>
  /** Whether anything has this id. */
  has(id: string): Promise<boolean>
  /** Newest first. */
  each<K extends Kind>(kind: K): AsyncGenerator<Kinds[K]>
  /** A page of those that match, newest first. */
  page<K extends Kind>(kind: K, paging: Paging, matches?: (item: Kinds[K]) => boolean): Promise<PageOf<Kinds[K]>>
}

/** The same while it is written. */
export interface OpenBooks extends Books {
  put<K extends Kind>(kind: K, id: string, value: Kinds[K]): Promise<void>
  remove(id: string): Promise<void>
  /** Notes that something happened, for all who want to hear of it. */
  tell(type: string, object: object): Promise<void>
  writer: ContentWriter
}

export interface Paging {
  limit?: number
  starting_after?: string
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

  async function* each<K extends Kind>(kind: K): AsyncGenerator<Kinds[K]> {
    for await (const found of eachSandboxObject(group, integrationId, kind)) yield value<K>(found)
  }

  async function page<K extends Kind>(
    kind: K,
    paging: Paging,
    matches: (item: Kinds[K]) => boolean = () => true,
  ): Promise<PageOf<Kinds[K]>> {
    const limit = limitOf(paging)
    const { starting_after: after } = paging
    const last = after === undefined ? undefined : await findSandboxObject(group, integrationId, after)
    if (after !== undefined && last?.kind !== kind) throw noSuch(kind, after, 'starting_after', 400)
    const items: Kinds[K][] = []
    for await (const found of eachSandboxObject(group, integrationId, kind, last?.seq)) {
      const item = value<K>(found)
      if (matches(item)) items.push(item)
      if (items.length > limit) break
    }
    return { items: items.slice(0, limit), hasMore: items.length > limit }
  }

  const has = async (id: string): Promise<boolean> => (await findSandboxObject(group, integrationId, id)) !== undefined

  return { integrationId, nowMs, find, has, each, page }
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
    async tell(type, object) {
      const listeners = await countListeners(type)
      const event: Event = {
        id: newId('evt_'),
        object: 'event',
        api_version: apiVersion,
        created: secondsOf(books),
        data: { object },
        livemode: false,
        pending_webhooks: listeners,
        request: { id: null, idempotency_key: null },
        type,
      }
      await put('event', event.id, event)
      const about = 'id' in object ? { about: String(object.id) } : {}
      const payload: EventWork = { integrationId, eventId: event.id, type, ...about }
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
