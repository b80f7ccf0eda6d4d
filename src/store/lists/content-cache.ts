import { type CacheEntry, type CachePartition, createFairCache } from '../../cache/fair-cache.ts'
import { createLruMap } from '../../cache/lru-map.ts'
import type { Frame, FrameCache } from '../../content/delivery-text.ts'
import type { ExpandTree } from '../../content/expand.ts'
import type { Container } from '../../content/model.ts'

/**
 * Caches what listings need besides the objects themselves: containers, totals, search results and the order of listings.
 * An entry is valid for one revision of a group and for a span of time in which no object becomes due. It must be used
 * with a statement that reads the revision from the database.
 */
export interface ContentCache {
  /** Sets the revision of a group. A different one, higher or lower, clears the group's entries. */
  observe(groupId: string, revision: number): void
  /** The revision observed last. */
  revisionOf(groupId: string): number | undefined
  /** Changes with every new revision, even one observed earlier: a backup may have been restored. */
  epochOf(groupId: string): number | undefined
  forget(groupId: string): void
  containers: CacheSection<CachedContainer>
  totals: CacheSection<number>
  matches: CacheSection<Matches>
  /** The first ids of a listing. Empty after a single request for a later page. */
  orders: CacheSection<ListEntry[]>
  /** Of the whole group, under one key. */
  referring: CacheSection<ReferringContainer[]>
  /** Checked `expand` parameters. */
  expansions: CacheSection<ExpandTree>
  /** Valid for this `Container` object only, which is read again after any change of the group. */
  framesOf(container: Container): FrameCache
}

export interface CacheSection<Value> {
  /** The entry valid at this revision and time. */
  get(groupId: string, revision: number | undefined, key: string, nowMs: number): Value | undefined
  set(groupId: string, revision: number, key: string, value: Value, span: Span): void
}

export interface CachedContainer {
  /** Its settings and version may be outdated: changing them makes no new revision, since they are not delivered. */
  container: Container
  revision: number
  /** When its next object becomes due, or anything else in the group. */
  nextPublishMs: number
}

/** What `expand` needs of a container. */
export interface ReferringContainer extends Pick<Container, 'kind' | 'name'> {
  /** Only fields that are or hold references. */
  schema: Container['schema']
}

/** All matches of a search. */
export interface Matches {
  total: number
  /** In no particular order; undefined if there are too many. */
  ids: readonly string[] | undefined
}

/** One object of a listing. SQLite's row number is filled in when the object is read. */
export interface ListEntry {
  readonly id: string
  row: number | undefined
}

/** A half-open interval of validity that begins with the read. */
export interface Span {
  fromMs: number
  untilMs: number
}

interface Cached extends Span, CacheEntry {
  value: unknown
}

/** The entries of a group at its current revision. */
interface GroupCache {
  revision: number
  epoch: number
  entries: Record<Kind, CachePartition<Cached>>
}

/**
 * Lists of ids are large and mostly read once or twice, while most requests use facts (containers, totals), each of which
 * saves a statement. So facts have a separate share, from which lists of ids cannot evict them.
 */
type Kind = 'facts' | 'idLists'
const factsShare = 1 / 3

const maxGroups = 10_000
/** About 10 MB. They save 160 µs of about 500 µs for a page of 20 objects of 2 KB. */
const maxFrames = 20_000
/** Longer keys would fill the cache, and such requests rarely repeat. */
const maxKeyCharacters = 1000
const bytesPerEntry = 300
const bytesPerListEntry = 88
const bytesPerId = 48
const bytesPerField = 300
/** At most 20 paths. */
const bytesPerExpansion = 5000
/** Includes the text of the schema, because a field may list thousands of values. */
const sizeOf = ({ schema }: Pick<Container, 'schema'>): number =>
  schema.size * bytesPerField + 2 * JSON.stringify([...schema]).length

export function createContentCache(maxBytes = 12 * 1024 * 1024): ContentCache {
  const caches = {
    facts: createFairCache<Cached>(maxBytes * factsShare),
    idLists: createFairCache<Cached>(maxBytes * (1 - factsShare)),
  }
  const groups = createLruMap<string, GroupCache>(maxGroups, clear)
  const frames = createLruMap<string, { reading: number; frame: Frame }>(maxBytes === 0 ? 0 : maxFrames)
  /** Numbers the containers, so that frames do not keep outdated ones in memory. */
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
    referring: createSection('facts', 'referring', (containers) =>
      containers.reduce((sum, container) => sum + bytesPerEntry + sizeOf(container), 0),
    ),
    expansions: createSection('facts', 'expand', () => bytesPerExpansion),
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
