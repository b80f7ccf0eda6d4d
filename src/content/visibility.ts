/** When an item has no publish date it has always been due: a moment before every date that can be written. */
export const unsetPublishMs = -8_640_000_000_000_000

export interface Publication {
  publishMs: number
  archived: boolean
}

/** spec §3, the whole of it. `store/` says the same in SQL: `archived = 0 and publish_ms <= now`. */
export function isVisible({ publishMs, archived }: Publication, nowMs: number): boolean {
  return !archived && publishMs <= nowMs
}
