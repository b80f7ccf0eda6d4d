import type { Sort } from './query.ts'

interface ItemPage<Item> {
  items: Item[]
  totalCount: number
  /** Missing in the answers of services older than 0.8, and of lists that begin with `skip`. */
  nextCursor?: string | null
}

/** Where a page begins. */
export type PageStart = { after: string } | { skip: number }

/** A list by relevance has no cursors. */
export const firstPage = (sort: Sort | undefined): PageStart =>
  sort?.toString() === 'relevance' ? { skip: 0 } : { after: '' }

/** Every item once; each page is requested only when it is needed. */
export async function* eachItem<Item extends { _id: string }>(
  first: PageStart,
  readPage: (start: PageStart) => Promise<ItemPage<Item>>,
): AsyncGenerator<Item, void, undefined> {
  // An item that is changed meanwhile may move behind the cursor, and without cursors any item to the next page.
  const seen = new Set<string>()
  let read = 0
  for (let start: PageStart | undefined = first; start; ) {
    const { items, totalCount, nextCursor } = await readPage(start)
    for (const item of items) {
      if (seen.has(item._id)) continue
      seen.add(item._id)
      yield item
    }
    read += items.length
    if (nextCursor === undefined) start = items.length > 0 && read < totalCount ? { skip: read } : undefined
    else start = nextCursor === null ? undefined : { after: nextCursor }
  }
}
