/** Computes a result once for each pair of objects, and keeps it as long as both exist. */
export function memoizeByPair<First extends object, Second extends object, Result>(
  compute: (first: First, second: Second) => Result,
): (first: First, second: Second) => Result {
  const results = new WeakMap<First, WeakMap<Second, { result: Result }>>()

  function resultsFor(first: First): WeakMap<Second, { result: Result }> {
    const known = results.get(first)
    if (known) return known
    const empty = new WeakMap<Second, { result: Result }>()
    results.set(first, empty)
    return empty
  }

  return (first, second) => {
    const ofFirst = resultsFor(first)
    const known = ofFirst.get(second)
    if (known) return known.result
    const result = compute(first, second)
    ofFirst.set(second, { result })
    return result
  }
}
