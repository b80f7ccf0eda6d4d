/** Items by weight, with constant-time access to the heaviest. */
export interface MaxHeap<Item> {
  /** Sets the weight of an item, and adds or removes it as needed: an item of weight 0 is not in the heap. */
  setWeight(item: Item, weight: number): void
  heaviest(): Item | undefined
}

/** A binary heap with an index of its items, so that a weight changes in O(log n). */
export function createMaxHeap<Item>(): MaxHeap<Item> {
  const heap: { item: Item; weight: number }[] = []
  const positions = new Map<Item, number>()

  const weightAt = (position: number): number => heap[position]?.weight ?? -1

  function put(position: number, node: { item: Item; weight: number }): void {
    heap[position] = node
    positions.set(node.item, position)
  }

  function swap(first: number, second: number): void {
    const [one, other] = [heap[first], heap[second]]
    if (!one || !other) return
    put(first, other)
    put(second, one)
  }

  function siftUpThenDown(start: number): void {
    let position = start
    for (let parent = (position - 1) >> 1; position > 0 && weightAt(position) > weightAt(parent); ) {
      swap(position, parent)
      position = parent
      parent = (position - 1) >> 1
    }
    for (;;) {
      const left = 2 * position + 1
      const child = weightAt(left + 1) > weightAt(left) ? left + 1 : left
      if (weightAt(child) <= weightAt(position)) return
      swap(position, child)
      position = child
    }
  }

  function remove(position: number): void {
    swap(position, heap.length - 1)
    const removed = heap.pop()
    if (removed) positions.delete(removed.item)
    if (position < heap.length) siftUpThenDown(position)
  }

  return {
    setWeight(item, weight) {
      const position = positions.get(item)
      if (weight === 0) {
        if (position !== undefined) remove(position)
        return
      }
      put(position ?? heap.length, { item, weight })
      siftUpThenDown(position ?? heap.length - 1)
    },
    heaviest: () => heap[0]?.item,
  }
}
