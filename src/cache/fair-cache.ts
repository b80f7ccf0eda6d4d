import { createLruMap, type LruMap } from './lru-map.ts'
import { createMaxHeap } from './max-heap.ts'

export interface CacheEntry {
  readonly key: string
  /** Estimated size in memory. Changed by `resize` only. */
  bytes: number
}

export interface CacheCounts {
  bytes: number
  entries: number
  evictions: number
}

/** The entries of one group, least recently used first. */
export interface CachePartition<Entry extends CacheEntry> {
  /** Marks the entry as the most recently used one. */
  get(key: string): Entry | undefined
  /** Whether exactly this entry is in the cache. */
  has(entry: Entry): boolean
  set(entry: Entry): void
  resize(entry: Entry, addedBytes: number): void
  clear(): void
}

/**
 * A cache for all groups, bounded by bytes. When it is full, the group that holds the most evicts its least recently used
 * entry: a group that is crawled does not evict the entries of smaller ones.
 */
export interface FairCache<Entry extends CacheEntry> {
  readonly counts: Readonly<CacheCounts>
  /** `onRemove` receives evicted and replaced entries, and is not called for each one that `clear` removes. */
  openPartition(onRemove?: (entry: Entry) => void): CachePartition<Entry>
}

interface Partition<Entry> {
  entries: LruMap<string, Entry>
  bytes: number
  onRemove: (entry: Entry) => void
}

export function createFairCache<Entry extends CacheEntry>(
  maxBytes: number,
  maxEntryBytes = maxBytes,
): FairCache<Entry> {
  const counts: CacheCounts = { bytes: 0, entries: 0, evictions: 0 }
  const partitions = createMaxHeap<Partition<Entry>>()
  const newEntries = () => createLruMap<string, Entry>(Number.POSITIVE_INFINITY)

  function changeBytes(partition: Partition<Entry>, by: number): void {
    partition.bytes += by
    counts.bytes += by
    partitions.setWeight(partition, partition.bytes)
  }

  function remove(partition: Partition<Entry>, entry: Entry): void {
    partition.entries.delete(entry.key)
    counts.entries -= 1
    changeBytes(partition, -entry.bytes)
    partition.onRemove(entry)
  }

  function evict(): void {
    while (counts.bytes > maxBytes) {
      const partition = partitions.heaviest()
      const [oldest] = partition?.entries.values() ?? []
      if (!partition || !oldest) return
      remove(partition, oldest)
      counts.evictions += 1
    }
  }

  return {
    counts,
    openPartition(onRemove = () => {}) {
      const partition: Partition<Entry> = { entries: newEntries(), bytes: 0, onRemove }
      const has = (entry: Entry): boolean => partition.entries.peek(entry.key) === entry
      return {
        get: (key) => partition.entries.get(key),
        has,
        set(entry) {
          if (entry.bytes > maxEntryBytes) return
          const former = partition.entries.peek(entry.key)
          if (former) remove(partition, former)
          partition.entries.set(entry.key, entry)
          counts.entries += 1
          changeBytes(partition, entry.bytes)
          evict()
        },
        resize(entry, addedBytes) {
          if (!has(entry)) return
          entry.bytes += addedBytes
          changeBytes(partition, addedBytes)
          evict()
        },
        clear() {
          counts.entries -= partition.entries.size
          partition.entries = newEntries() // in constant time
          changeBytes(partition, -partition.bytes)
        },
      }
    },
  }
}
