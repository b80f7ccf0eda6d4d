import { setImmediate as nextTurn } from 'node:timers/promises'

/** About how many characters are taken apart or put together in 10 ms. */
export const pieceCharacters = 500_000

let last: Promise<unknown> = Promise.resolve()

/**
 * Comes before each piece of work that takes some 10 ms. In each turn of the event loop one such piece is done, however many
 * wait for theirs: everything else goes on in between.
 */
export function takePiece(): Promise<unknown> {
  last = last.then(() => nextTurn())
  return last
}

/** Lists of things that are as long as a piece of work is, or a little longer. */
export function inPieces<Item>(items: readonly Item[], lengthOf: (item: Item) => number): Item[][] {
  const pieces: Item[][] = []
  let length = Number.POSITIVE_INFINITY
  for (const item of items) {
    if (length >= pieceCharacters) {
      pieces.push([])
      length = 0
    }
    pieces.at(-1)?.push(item)
    length += lengthOf(item)
  }
  return pieces
}
