/** Round robin over one FIFO queue per name, regardless of their lengths. */
export interface FairQueue<Item> {
  readonly size: number
  push(name: string, item: Item): void
  /** Adds an item at the front of its name's queue. */
  unshift(name: string, item: Item): void
  shift(): Item | undefined
}

/** With more names than this, empty queues are removed. */
const maxNames = 1000

interface NamedQueue<Item> {
  items: Item[]
  isInTurn: boolean
}

export function createFairQueue<Item>(): FairQueue<Item> {
  const queues = new Map<string, NamedQueue<Item>>()
  /** Queues with items; the next one comes first. */
  const turns: NamedQueue<Item>[] = []
  let size = 0

  /** Empty queues are reused: allocating one for each item would cost more in garbage collection than everything else here. */
  function open(name: string): NamedQueue<Item> {
    const known = queues.get(name)
    if (known) return known
    if (queues.size >= maxNames) for (const [each, { isInTurn }] of queues) if (!isInTurn) queues.delete(each)
    const queue = { items: [], isInTurn: false }
    queues.set(name, queue)
    return queue
  }

  function queueFor(name: string): Item[] {
    const queue = open(name)
    if (!queue.isInTurn) turns.push(queue)
    queue.isInTurn = true
    size += 1
    return queue.items
  }

  return {
    get size() {
      return size
    },
    push: (name, item) => void queueFor(name).push(item),
    unshift: (name, item) => void queueFor(name).unshift(item),
    shift() {
      const queue = turns.shift()
      if (!queue) return undefined
      const item = queue.items.shift()
      size -= 1
      queue.isInTurn = queue.items.length > 0
      if (queue.isInTurn) turns.push(queue) // behind the others
      return item
    },
  }
}
