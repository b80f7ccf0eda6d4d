import { createBoundedMap } from '../bounded-map.ts'
import type { Container } from '../content/model.ts'
import { createHeaviestFirst } from '../heaviest-first.ts'
import type { Entry } from './delivered-rows.ts'
import type { Matches } from './search-matches.ts'

/**
 * What a process remembers of content, so that a listing does no work twice: containers, totals and the order of
 * listings; never what objects hold. It is true for one revision of a group, and for a span of time in which no object
 * falls due. Whoever uses it must have read that revision from the database at the same time.
 */
export interface ContentMemory {
  /** Says which revision a group has. With another one than before, up or down, all that was known of it is forgotten. */
  observe(groupId: string, revision: number): void
  /** The latest one that was observed. */
  revisionOf(groupId: string): number | undefined
  /** Another number whenever another revision was observed, even if that one was there before. */
  epochOf(groupId: string): number | undefined
  forget(groupId: string): void
  containers: Drawer<KnownContainer>
  totals: Drawer<number>
  /** What searches have found. */
  matches: Drawer<Matches>
  /** What a listing begins with. Empty where it was asked for once, and not from its start. */
  orders: Drawer<Entry[]>
}

export interface KnownContainer {
  /** Its settings and version may be others by now: they are not delivered, and no revision tells of them. */
  container: Container
  /** The revision that it was read at. */
  revision: number
  /** When the next of its objects falls due. */
  nextPublishMs: number
}

/** In which moments something is true: from the one at which it was read up to, but not including, another. */
export interface Span {
  fromMs: number
  untilMs: number
}

export interface Drawer<Value> {
  /** What is true at this revision and in this moment. */
  recall(groupId: string, revision: number | undefined, key: string, nowMs: number): Value | undefined
  keep(groupId: string, revision: number, key: string, value: Value, span: Span): void
}

const mostGroups = 10_000
/** About what is taken by each thing that is kept, besides its text. */
const bytesPerThing = 300
/** Whoever asks by texts as long as this is not served any faster, and fills the memory with them. */
const mostKeyCharacters = 1000
const bytesPerEntry = 88
const bytesPerId = 48
const bytesPerField = 300
/** A field may list thousands of values. */
const bytesOf = ({ schema }: Container): number => schema.size * bytesPerField + 2 * JSON.stringify([...schema]).length

interface Kept<Value> extends Span {
  value: Value
  bytes: number
}

/** What is known of one group in its latest epoch: as long as it is not seen at another revision. */
interface Shelf<Value> {
  epoch: Epoch
  /** The one that was used last at the end. */
  things: Map<string, Kept<Value>>
  bytes: number
}

interface Epoch {
  number: number
  revision: number
}

export function createContentMemory(mostBytes = 24 * 1024 * 1024): ContentMemory {
  const epochs = createBoundedMap<string, Epoch>(mostGroups)
  let lastEpoch = 0

  function epochAt(groupId: string, revision: number): Epoch {
    const known = epochs.get(groupId)
    if (known?.revision === revision) return known
    lastEpoch += 1
    const epoch = { number: lastEpoch, revision }
    epochs.set(groupId, epoch)
    return epoch
  }

  function createDrawer<Value>(share: number, weigh: (value: Value) => number): Drawer<Value> {
    const shelves = createBoundedMap<string, Shelf<Value>>(mostGroups, (forgotten) =>
      resize(forgotten, -forgotten.bytes),
    )
    const fullestFirst = createHeaviestFirst<Shelf<Value>>()
    let bytes = 0

    function resize(shelf: Shelf<Value>, by: number): void {
      shelf.bytes += by
      bytes += by
      fullestFirst.weigh(shelf, shelf.bytes)
    }

    function shelfAt(groupId: string, epoch: Epoch): Shelf<Value> {
      const known = shelves.get(groupId)
      if (known?.epoch === epoch) return known
      if (known) resize(known, -known.bytes)
      const shelf = { epoch, things: new Map(), bytes: 0 }
      shelves.set(groupId, shelf)
      return shelf
    }

    function remove(shelf: Shelf<Value>, key: string): Kept<Value> | undefined {
      const found = shelf.things.get(key)
      if (!found) return undefined
      shelf.things.delete(key)
      resize(shelf, -found.bytes)
      return found
    }

    function put(shelf: Shelf<Value>, key: string, thing: Kept<Value>): void {
      shelf.things.set(key, thing)
      resize(shelf, thing.bytes)
    }

    /** Who holds the most gives first, of what it has not used for longest. */
    function makeRoom(): void {
      while (bytes > mostBytes * share) {
        const shelf = fullestFirst.heaviest()
        const [oldest] = shelf?.things.keys() ?? []
        if (!shelf || oldest === undefined) return
        remove(shelf, oldest)
      }
    }

    return {
      recall(groupId, revision, key, nowMs) {
        const epoch = epochs.get(groupId)
        if (!epoch || epoch.revision !== revision) return undefined
        const { things } = shelfAt(groupId, epoch)
        const found = things.get(key)
        if (!found) return undefined
        things.delete(key) // and back in at the end
        things.set(key, found)
        return nowMs >= found.fromMs && nowMs < found.untilMs ? found.value : undefined
      },
      keep(groupId, revision, key, value, { fromMs, untilMs }) {
        if (key.length > mostKeyCharacters) return
        const shelf = shelfAt(groupId, epochAt(groupId, revision))
        remove(shelf, key)
        put(shelf, key, { value, fromMs, untilMs, bytes: bytesPerThing + 2 * key.length + weigh(value) })
        makeRoom()
      },
    }
  }

  return {
    observe: (groupId, revision) => void epochAt(groupId, revision),
    revisionOf: (groupId) => epochs.get(groupId)?.revision,
    epochOf: (groupId) => epochs.get(groupId)?.number,
    forget: (groupId) => epochs.delete(groupId),
    containers: createDrawer(0.2, ({ container }) => bytesOf(container)),
    totals: createDrawer(0.1, () => 0),
    matches: createDrawer(0.2, ({ ids }) => (ids?.length ?? 0) * bytesPerId),
    orders: createDrawer(0.5, (entries) => entries.length * bytesPerEntry),
  }
}
