/** A map that keeps what was used last: when it is full, whatever was untouched longest is forgotten. */
export interface BoundedMap<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): void
  delete(key: Key): void
  values(): Iterable<Value>
}

export function createBoundedMap<Key, Value>(
  most: number,
  onForgotten: (value: Value) => void = () => {},
): BoundedMap<Key, Value> {
  const entries = new Map<Key, Value>()
  let newest: Key | undefined
  let newestValue: Value | undefined

  function put(key: Key, value: Value): void {
    // Out, and back in at the end: the order of a Map is the order of insertion.
    if (key !== newest) entries.delete(key)
    entries.set(key, value)
    newest = key
    newestValue = value
  }

  return {
    get(key) {
      if (key === newest) return newestValue // to compare two texts is quicker than to look one up
      const value = entries.get(key)
      if (value !== undefined) put(key, value)
      return value
    },
    set(key, value) {
      put(key, value)
      const [oldest] = entries
      if (entries.size <= most || oldest === undefined) return
      entries.delete(oldest[0])
      onForgotten(oldest[1])
    },
    delete(key) {
      entries.delete(key)
      if (key !== newest) return
      newest = undefined
      newestValue = undefined
    },
    values: () => entries.values(),
  }
}
