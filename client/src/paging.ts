interface ItemPage<Item> {
  items: Item[]
  totalCount: number
}

/** Every item once; each page is requested only when it is needed. */
export async function* eachItem<Item extends { _id: string }>(
  readPage: (skip: number) => Promise<ItemPage<Item>>,
): AsyncGenerator<Item, void, undefined> {
  // Content published meanwhile moves items to the next page, where they would appear again.
  const seen = new Set<string>()
  let skip = 0
  while (true) {
    const { items, totalCount } = await readPage(skip)
    for (const item of items) {
      if (seen.has(item._id)) continue
      seen.add(item._id)
      yield item
    }
    skip += items.length
    if (items.length === 0 || skip >= totalCount) return
  }
}
