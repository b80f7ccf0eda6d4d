import { createBoundedMap } from '../bounded-map.ts'
import type { Container } from '../content/model.ts'

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
  containers: Drawer<KnownContainer>
  totals: Drawer<number>
  orders: Drawer<KnownOrder>
}

export interface KnownContainer {
  /** Its settings and version may be others by now: they are not delivered, and no revision tells of them. */
  container: Container
  /** The revision that it was read at. */
  revision: number
  /** When the next of its objects falls due. */
  nextPublishMs: number
}

/** The ids that a listing begins with. Empty where it was asked for once, and not from its start. */
export interface KnownOrder {
  ids: string[]
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
const bytesPerId = 48
const bytesPerField = 300
/** A field may list thousands of values. */
const bytesOf = ({ schema }: Container): number => schema.size * bytesPerField + 2 * JSON.stringify([...schema]).length

interface Epoch {
  revision: number
}

interface Kept<Value> extends Span {
  epoch: Epoch
  value: Value
  bytes: number
}

export function createContentMemory(mostBytes = 24 * 1024 * 1024): ContentMemory {
  /** What is known of a group is known in its latest epoch. */
  const epochs = createBoundedMap<string, Epoch>(mostGroups)

  function epochAt(groupId: string, revision: number): Epoch {
    const known = epochs.get(groupId)
    if (known?.revision === revision) return known
    const epoch = { revision }
    epochs.set(groupId, epoch)
    return epoch
  }

  function createDrawer<Value>(share: number, weigh: (value: Value) => number): Drawer<Value> {
    const kept = new Map<string, Kept<Value>>() // the one that was used last at the end
    let bytes = 0

    function remove(place: string): Kept<Value> | undefined {
      const found = kept.get(place)
      if (!found) return undefined
      kept.delete(place)
      bytes -= found.bytes
      return found
    }

    function put(place: string, entry: Kept<Value>): void {
      kept.set(place, entry)
      bytes += entry.bytes
    }

    return {
      recall(groupId, revision, key, nowMs) {
        const place = `${groupId} ${key}`
        const found = remove(place)
        const epoch = epochs.get(groupId)
        if (!found || found.epoch !== epoch || epoch.revision !== revision) return undefined
        put(place, found)
        return nowMs >= found.fromMs && nowMs < found.untilMs ? found.value : undefined
      },
      keep(groupId, revision, key, value, { fromMs, untilMs }) {
        if (key.length > mostKeyCharacters) return
        const place = `${groupId} ${key}`
        remove(place)
        const entryBytes = bytesPerThing + 2 * place.length + weigh(value)
        put(place, { epoch: epochAt(groupId, revision), value, fromMs, untilMs, bytes: entryBytes })
        for (const oldest of kept.keys()) {
          if (bytes <= mostBytes * share) break
          remove(oldest)
        }
      },
    }
  }

  return {
    observe: (groupId, revision) => void epochAt(groupId, revision),
    revisionOf: (groupId) => epochs.get(groupId)?.revision,
    containers: createDrawer(0.2, ({ container }) => bytesOf(container)),
    totals: createDrawer(0.2, () => 0),
    orders: createDrawer(0.6, ({ ids }) => ids.length * bytesPerId),
  }
}
