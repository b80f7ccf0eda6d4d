/** Things of different weight, of which the heaviest is always at hand. */
export interface HeaviestFirst<Item> {
  /** Says what an item weighs now; nothing at 0. */
  weigh(item: Item, weight: number): void
  heaviest(): Item | undefined
}

/** A binary heap that knows where each of its items is, so that a weight can change in a few steps. */
export function createHeaviestFirst<Item>(): HeaviestFirst<Item> {
  const heap: { item: Item; weight: number }[] = []
  const places = new Map<Item, number>()

  const weightAt = (place: number): number => heap[place]?.weight ?? -1

  function put(place: number, node: { item: Item; weight: number }): void {
    heap[place] = node
    places.set(node.item, place)
  }

  function swap(first: number, second: number): void {
    const [one, other] = [heap[first], heap[second]]
    if (!one || !other) return
    put(first, other)
    put(second, one)
  }

  function settle(start: number): void {
    let place = start
    for (let above = (place - 1) >> 1; place > 0 && weightAt(place) > weightAt(above); above = (place - 1) >> 1) {
      swap(place, above)
      place = above
    }
    for (;;) {
      const left = 2 * place + 1
      const child = weightAt(left + 1) > weightAt(left) ? left + 1 : left
      if (weightAt(child) <= weightAt(place)) return
      swap(place, child)
      place = child
    }
  }

  function remove(place: number): void {
    swap(place, heap.length - 1)
    const removed = heap.pop()
    if (removed) places.delete(removed.item)
    if (place < heap.length) settle(place)
  }

  return {
    weigh(item, weight) {
      const place = places.get(item)
      if (weight === 0) {
        if (place !== undefined) remove(place)
        return
      }
      put(place ?? heap.length, { item, weight })
      settle(place ?? heap.length - 1)
    },
    heaviest: () => heap[0]?.item,
  }
}
