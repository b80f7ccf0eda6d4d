interface ItemPage<Item> {
  items: Item[]
  totalCount: number
  /** Missing in the answers of services older than 0.7. */
  nextCursor?: string | null
}

/** Where a page begins. */
export type PageStart = { after: string } | { skip: number }

/** Every item once; each page is requested only when it is needed. */
export async function* eachItem<Item extends { _id: string }>(
  readPage: (start: PageStart) => Promise<ItemPage<Item>>,
): AsyncGenerator<Item, void, undefined> {
  // An item that is changed meanwhile may move behind the cursor, and without cursors any item to the next page.
  const seen = new Set<string>()
  let read = 0
  for (let start: PageStart | undefined = { after: '' }; start; ) {
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
