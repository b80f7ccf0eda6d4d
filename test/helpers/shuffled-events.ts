/** A pseudo-random generator from 0 to 1, determined by its seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export interface EventStorm<Event> {
  /** How many changes are made at the provider. */
  events: number
  seed: number
  /** The share of events that are lost, and the share that are delivered twice. */
  dropped?: number
  repeated?: number
  /** Makes one change at the provider, and returns its event. */
  change(random: () => number): Event | Promise<Event>
  /** Delivers an event; called concurrently. */
  deliver(event: Event): Promise<unknown>
  /** Maximum concurrent deliveries. */
  atOnce?: number
}

/**
 * Changes a provider's catalogue repeatedly while events are delivered as by the worst network: in any order, some
 * twice, some never. Returns how many were delivered and how many were lost.
 */
export async function shuffledEvents<Event>({
  events,
  seed,
  dropped = 0.1,
  repeated = 0.2,
  change,
  deliver,
  atOnce = 4,
}: EventStorm<Event>): Promise<{ delivered: number; lost: number }> {
  const random = randomFrom(seed)
  const waiting: Event[] = []
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  const counted = { delivered: 0, lost: 0 }

  /** Starts to deliver one waiting event, without delaying the next change. */
  async function deliverOne(): Promise<void> {
    while (underWay.size >= atOnce) await Promise.race(underWay)
    for (const event of waiting.splice(Math.floor(random() * waiting.length), 1)) {
      counted.delivered += 1
      const delivery: Promise<void> = deliver(event)
        .then(
          () => {},
          (error) => void failures.push(error),
        )
        .finally(() => underWay.delete(delivery))
      underWay.add(delivery)
    }
  }

  for (let changes = 0; changes < events; changes += 1) {
    const event = await change(random)
    if (random() < dropped) counted.lost += 1
    else waiting.push(event, ...(random() < repeated ? [event] : []))
    if (random() < 0.8) await deliverOne()
  }
  while (waiting.length > 0) await deliverOne()
  await Promise.all(underWay)
  if (failures.length > 0) throw new AggregateError(failures, 'Events could not be delivered.')
  return counted
}
