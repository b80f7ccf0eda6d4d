/** A queue for each name. Names take turns, whoever has more to wait for; what has the same name keeps its order. */
export interface FairQueue<Item> {
  readonly size: number
  push(name: string, item: Item): void
  /** Puts it before the others of its name. */
  unshift(name: string, item: Item): void
  shift(): Item | undefined
}

export function createFairQueue<Item>(): FairQueue<Item> {
  /** The name whose turn it is comes first. */
  const queues = new Map<string, Item[]>()
  let size = 0
  const queueOf = (name: string): Item[] => {
    const known = queues.get(name) ?? []
    queues.set(name, known)
    size += 1
    return known
  }
  return {
    get size() {
      return size
    },
    push: (name, item) => void queueOf(name).push(item),
    unshift: (name, item) => void queueOf(name).unshift(item),
    shift() {
      const [first] = queues
      if (!first) return undefined
      const [name, queue] = first
      const item = queue.shift()
      size -= 1
      queues.delete(name)
      if (queue.length > 0) queues.set(name, queue) // behind the others
      return item
    },
  }
}
