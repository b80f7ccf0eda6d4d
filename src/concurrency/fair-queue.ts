/** A queue for each name. Names take turns, whoever has more to wait for; what has the same name keeps its order. */
export interface FairQueue<Item> {
  readonly size: number
  push(name: string, item: Item): void
  /** Puts it before the others of its name. */
  unshift(name: string, item: Item): void
  shift(): Item | undefined
}

/** Names that nothing waits for are forgotten when there are more. */
const maxNames = 1000

interface NamedQueue<Item> {
  items: Item[]
  isInTurn: boolean
}

export function createFairQueue<Item>(): FairQueue<Item> {
  const queues = new Map<string, NamedQueue<Item>>()
  /** Those that have items. The one whose turn it is comes first. */
  const turns: NamedQueue<Item>[] = []
  let size = 0

  /** A queue stays when it is empty: one that comes and goes with each item costs the garbage collector more than all else here. */
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
