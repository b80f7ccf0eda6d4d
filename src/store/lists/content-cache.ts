import { type CacheEntry, type CachePartition, createFairCache } from '../../cache/fair-cache.ts'
import { createLruMap } from '../../cache/lru-map.ts'
import type { Frame, FrameCache } from '../../content/delivery-text.ts'
import type { Container } from '../../content/model.ts'

/**
 * What listings need besides the objects themselves, so that no work is done twice: containers, totals, search results and
 * the order of listings. It is valid for one revision of a group and for a span of time in which no object becomes due,
 * and must be used together with a statement that reads this revision from the database.
 */
export interface ContentCache {
  /** Notes the revision of a group. Another one than before, higher or lower, clears all that was cached of the group. */
  observe(groupId: string, revision: number): void
  /** The latest one that was observed. */
  revisionOf(groupId: string): number | undefined
  /** Changes whenever another revision is observed, even if it was observed before: a backup may have been restored. */
  epochOf(groupId: string): number | undefined
  forget(groupId: string): void
  containers: CacheSection<CachedContainer>
  totals: CacheSection<number>
  matches: CacheSection<Matches>
  /** The first ids of a listing. Empty where it was requested once, and not from its start. */
  orders: CacheSection<ListEntry[]>
  /** Valid for objects of the very container that was read: it is read again when anything of the group has changed. */
  framesOf(container: Container): FrameCache
}

export interface CacheSection<Value> {
  /** What is valid at this revision and at this moment. */
  get(groupId: string, revision: number | undefined, key: string, nowMs: number): Value | undefined
  set(groupId: string, revision: number, key: string, value: Value, span: Span): void
}

export interface CachedContainer {
  /** Its settings and version may be outdated: they are not delivered, and a change of them makes no new revision. */
  container: Container
  /** The revision that it was read at. */
  revision: number
  /** When the next of its objects becomes due. */
  nextPublishMs: number
}

/** All matches of a search. */
export interface Matches {
  total: number
  /** In no particular order; undefined where there are too many. */
  ids: readonly string[] | undefined
}

/** One object of a listing. SQLite's row number is filled in when the object is read. */
export interface ListEntry {
  readonly id: string
  row: number | undefined
}

/** The moments at which something is valid: from the one at which it was read, up to but not including the other. */
export interface Span {
  fromMs: number
  untilMs: number
}

interface Cached extends Span, CacheEntry {
  value: unknown
}

/** What is cached of one group since it was first seen at its current revision. */
interface GroupCache {
  revision: number
  epoch: number
  entries: Record<Kind, CachePartition<Cached>>
}

/**
 * Lists of ids are large and mostly read once or twice; each fact (a container, a total) saves a statement and is used by
 * most requests. So facts have a share of their own, from which lists of ids cannot evict them.
 */
type Kind = 'facts' | 'idLists'
const factsShare = 1 / 3

const maxGroups = 10_000
/** In some 10 MB. Without them a page of 20 takes 160 µs more of about 500 µs (20 objects of 2 KB). */
const maxFrames = 20_000
/** Requests with longer texts gain nothing, and would fill the cache with them. */
const maxKeyCharacters = 1000
const bytesPerEntry = 300
const bytesPerListEntry = 88
const bytesPerId = 48
const bytesPerField = 300
/** A field may list thousands of values. */
const sizeOf = ({ schema }: Container): number => schema.size * bytesPerField + 2 * JSON.stringify([...schema]).length

export function createContentCache(maxBytes = 12 * 1024 * 1024): ContentCache {
  const caches = {
    facts: createFairCache<Cached>(maxBytes * factsShare),
    idLists: createFairCache<Cached>(maxBytes * (1 - factsShare)),
  }
  const groups = createLruMap<string, GroupCache>(maxGroups, clear)
  const frames = createLruMap<string, { reading: number; frame: Frame }>(maxBytes === 0 ? 0 : maxFrames)
  /** A number for each container that was read: frames do not keep outdated containers in memory. */
  const readings = new WeakMap<Container, number>()
  let lastEpoch = 0
  let lastReading = 0

  function clear({ entries }: Pick<GroupCache, 'entries'>): void {
    entries.facts.clear()
    entries.idLists.clear()
  }

  function readingOf(container: Container): number {
    const known = readings.get(container)
    if (known !== undefined) return known
    lastReading += 1
    readings.set(container, lastReading)
    return lastReading
  }

  function groupAt(groupId: string, revision: number): GroupCache {
    const known = groups.get(groupId)
    if (known?.revision === revision) return known
    lastEpoch += 1
    const entries = known?.entries ?? {
      facts: caches.facts.openPartition(),
      idLists: caches.idLists.openPartition(),
    }
    const group = { revision, epoch: lastEpoch, entries }
    clear(group)
    groups.set(groupId, group)
    return group
  }

  function createSection<Value>(kind: Kind, name: string, weigh: (value: Value) => number): CacheSection<Value> {
    return {
      get(groupId, revision, key, nowMs) {
        const group = groups.get(groupId)
        if (!group || group.revision !== revision) return undefined
        const found = group.entries[kind].get(`${name} ${key}`)
        return found && nowMs >= found.fromMs && nowMs < found.untilMs ? (found.value as Value) : undefined
      },
      set(groupId, revision, key, value, { fromMs, untilMs }) {
        if (key.length > maxKeyCharacters) return
        const bytes = bytesPerEntry + 2 * key.length + weigh(value)
        groupAt(groupId, revision).entries[kind].set({ key: `${name} ${key}`, bytes, value, fromMs, untilMs })
      },
    }
  }

  return {
    observe: (groupId, revision) => void groupAt(groupId, revision),
    revisionOf: (groupId) => groups.get(groupId)?.revision,
    epochOf: (groupId) => groups.get(groupId)?.epoch,
    forget(groupId) {
      const group = groups.peek(groupId)
      if (group) clear(group)
      groups.delete(groupId)
    },
    containers: createSection('facts', 'container', ({ container }) => sizeOf(container)),
    totals: createSection('facts', 'total', () => 0),
    matches: createSection('idLists', 'matches', ({ ids }) => (ids?.length ?? 0) * bytesPerId),
    orders: createSection('idLists', 'order', (entries) => entries.length * bytesPerListEntry),
    framesOf(container) {
      const reading = readingOf(container)
      return {
        get(objectId) {
          const cached = frames.peek(objectId)
          return cached?.reading === reading ? cached.frame : undefined
        },
        set: (objectId, frame) => frames.set(objectId, { reading, frame }),
      }
    },
  }
}
