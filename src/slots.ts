/** A number of places; who finds none free waits, and is served in the order of coming. */
export interface Slots {
  take(): Promise<void>
  release(): void
  /** Works with a place, and gives it back. */
  use<Result>(work: () => Promise<Result>): Promise<Result>
}

export function createSlots(count: number): Slots {
  let free = count
  const waiting: (() => void)[] = []
  async function take(): Promise<void> {
    if (free === 0) return new Promise((resolve) => void waiting.push(resolve))
    free -= 1
  }

  function release(): void {
    const next = waiting.shift()
    if (next) next()
    else free += 1
  }

  return {
    take,
    release,
    async use(work) {
      await take()
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}
