/** Parsed or serialised in about 10 ms. The budget of all requests together in one turn of the event loop. */
export const charactersPerSlice = 500_000
/** Less than this takes a millisecond, and is not queued. */
const minSlicedCharacters = 50_000

interface Waiting {
  characters: number
  begin(): void
}

/** A longer turn is followed by a rest of the same length, up to a limit, because other work takes several turns. */
const maxUnrestedMs = 10
const maxRestMs = 100

let spentCharacters = 0
let turnBeganMs = 0
let isTurnPlanned = false
const waiting: Waiting[] = []

/** A piece larger than the budget gets a turn of its own. */
const fits = (characters: number): boolean =>
  spentCharacters === 0 || spentCharacters + characters <= charactersPerSlice

function spend(characters: number): void {
  spentCharacters += characters
  if (isTurnPlanned) return
  isTurnPlanned = true
  turnBeganMs = performance.now()
  setImmediate(endTurn)
}

function endTurn(): void {
  const tookMs = performance.now() - turnBeganMs
  if (waiting.length > 0 && tookMs > maxUnrestedMs) setTimeout(beginTurn, Math.min(tookMs, maxRestMs))
  else beginTurn()
}

function beginTurn(): void {
  isTurnPlanned = false
  spentCharacters = 0
  for (let next = waiting[0]; next && fits(next.characters); next = waiting[0]) {
    waiting.shift()
    spend(next.characters)
    next.begin()
  }
}

/**
 * Must be awaited before each piece of work on large values. The pieces of all requests share the budget of a turn, first
 * come, first served, and leave half of the time to all other work.
 */
export async function yieldForHeavyWork(characters = charactersPerSlice): Promise<void> {
  if (characters < minSlicedCharacters) return
  if (waiting.length === 0 && fits(characters)) {
    spend(characters)
    return
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  waiting.push({ characters, begin: resolve })
  await promise
}

/** A part of a list, with its number of characters. */
export interface Piece<Item> {
  items: Item[]
  characters: number
}

/** Splits a list into parts of about one piece of work. */
export function splitIntoSlices<Item>(items: readonly Item[], lengthOf: (item: Item) => number): Piece<Item>[] {
  const pieces: Piece<Item>[] = []
  let last: Piece<Item> | undefined
  for (const item of items) {
    if (!last || last.characters >= charactersPerSlice) {
      last = { items: [], characters: 0 }
      pieces.push(last)
    }
    last.items.push(item)
    last.characters += lengthOf(item)
  }
  return pieces
}
