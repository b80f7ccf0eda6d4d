/** A source of numbers from 0 to 1 that is the same for the same seed. */
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
  /** Which part of the events nobody is told of, and which part is told twice. */
  dropped?: number
  repeated?: number
  /** Makes one change at the provider, and gives what the provider would tell of it. */
  change(random: () => number): Event | Promise<Event>
  /** Tells of it. Several may be told at once. */
  deliver(event: Event): Promise<unknown>
  /** How many are told at once at most. */
  atOnce?: number
}

/**
 * Changes a provider's catalogue again and again, and tells of it meanwhile as the worst network would: in any order, some
 * twice, some never. Answers how many events were told and how many were not.
 */
export async function shuffledEvents<Event>({
  events,
  seed,
  dropped = 0.1,
  repeated = 0.2,
  change,
  deliver,
  atOnce = 4,
}: EventStorm<Event>): Promise<{ told: number; lost: number }> {
  const random = randomFrom(seed)
  const waiting: Event[] = []
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  const counted = { told: 0, lost: 0 }

  /** One of those that wait. The next change does not wait for it. */
  async function tellOne(): Promise<void> {
    while (underWay.size >= atOnce) await Promise.race(underWay)
    for (const event of waiting.splice(Math.floor(random() * waiting.length), 1)) {
      counted.told += 1
      const telling: Promise<void> = deliver(event)
        .then(
          () => {},
          (error) => void failures.push(error),
        )
        .finally(() => underWay.delete(telling))
      underWay.add(telling)
    }
  }

  for (let made = 0; made < events; made += 1) {
    const event = await change(random)
    if (random() < dropped) counted.lost += 1
    else waiting.push(event, ...(random() < repeated ? [event] : []))
    if (random() < 0.8) await tellOne()
  }
  while (waiting.length > 0) await tellOne()
  await Promise.all(underWay)
  if (failures.length > 0) throw new AggregateError(failures, 'Events could not be told.')
  return counted
}
