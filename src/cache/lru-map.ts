/** An LRU map: when it is full, the entry that was used least recently is evicted. */
export interface LruMap<Key, Value> {
  readonly size: number
  get(key: Key): Value | undefined
  /** Does not count as a use. */
  peek(key: Key): Value | undefined
  set(key: Key, value: Value): void
  delete(key: Key): void
  /** The least recently used first. */
  values(): Iterable<Value>
}

export function createLruMap<Key, Value>(
  maxEntries: number,
  onEvict: (value: Value) => void = () => {},
): LruMap<Key, Value> {
  const entries = new Map<Key, Value>()
  let newestKey: Key | undefined
  let newestValue: Value | undefined

  function put(key: Key, value: Value): void {
    // Delete and insert: a Map iterates in the order of insertion.
    if (key !== newestKey) entries.delete(key)
    entries.set(key, value)
    newestKey = key
    newestValue = value
  }

  function remove(key: Key): void {
    entries.delete(key)
    if (key !== newestKey) return
    newestKey = undefined
    newestValue = undefined
  }

  return {
    get size() {
      return entries.size
    },
    peek: (key) => entries.get(key),
    get(key) {
      if (key === newestKey) return newestValue // comparing two strings is cheaper than a lookup
      const value = entries.get(key)
      if (value !== undefined) put(key, value)
      return value
    },
    set(key, value) {
      put(key, value)
      if (entries.size <= maxEntries) return
      const [oldest] = entries
      if (oldest === undefined) return
      remove(oldest[0])
      onEvict(oldest[1])
    },
    delete: remove,
    values: () => entries.values(),
  }
}
