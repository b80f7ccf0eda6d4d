/** How many bytes of files are coming in for each group at this moment: several uploads share what room there is. */
export interface ArrivingBytes {
  of(groupId: string): number
  /** Counts what comes in while something is done. */
  count<Result>(groupId: string, work: (add: (bytes: number) => void) => Promise<Result>): Promise<Result>
}

export function createArrivingBytes(): ArrivingBytes {
  const arriving = new Map<string, number>()
  const of = (groupId: string): number => arriving.get(groupId) ?? 0

  function change(groupId: string, by: number): void {
    const bytes = of(groupId) + by
    if (bytes > 0) arriving.set(groupId, bytes)
    else arriving.delete(groupId)
  }

  return {
    of,
    async count(groupId, work) {
      let own = 0
      try {
        return await work((bytes) => {
          own += bytes
          change(groupId, bytes)
        })
      } finally {
        change(groupId, -own)
      }
    },
  }
}
