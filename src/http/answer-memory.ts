import { createHeaviestFirst } from '../heaviest-first.ts'
import type { Answer, Form } from './answer.ts'

/** An answer larger than this part of the memory is not kept: it would cost too many others. */
const largestShare = 1 / 8
const mostUrls = 8
const longestUrl = 2000
/** About what an answer takes besides its bytes: objects, headers and places in maps. */
const bytesPerAnswer = 1500
export const bytesPerText = 60

export interface KeptAnswer extends Answer {
  readonly groupId: string
  readonly scope: string
  readonly route: string
  readonly key: string
  /** As it was asked for: by these it is found again without reading them. */
  readonly urls: string[]
  /** Compressed forms in the making. */
  readonly compressing: Map<string, Promise<Form>>
  bytes: number
  /** Asked for more than once: worth to be compressed. */
  isWanted: boolean
}

/** The answers of one group. */
export interface Shelf {
  /** The one that was used last at the end. */
  answers: Map<string, KeptAnswer>
  newest: KeptAnswer | undefined
  byUrl: Map<string, KeptAnswer>
  bytes: number
}

export const sizeOf = ({ forms }: Answer, key: string): number =>
  forms.identity.body.length + key.length + bytesPerText + bytesPerAnswer

export interface MemoryCounts {
  bytes: number
  entries: number
  evictions: number
}

/** Holds the answers of all groups in a bounded number of bytes. */
export interface AnswerMemory {
  readonly counts: MemoryCounts
  openShelf(): Shelf
  empty(shelf: Shelf): void
  put(shelf: Shelf, answer: KeptAnswer): void
  /** Says that it was used; one that is not there any more cannot be. */
  touch(shelf: Shelf, answer: KeptAnswer): void
  holds(shelf: Shelf, answer: KeptAnswer): boolean
  grow(shelf: Shelf, answer: KeptAnswer, bytes: number): void
  noteUrl(shelf: Shelf, answer: KeptAnswer, url: string): void
}

export function createAnswerMemory(mostBytes: number): AnswerMemory {
  const counts = { bytes: 0, entries: 0, evictions: 0 }
  const fullestFirst = createHeaviestFirst<Shelf>()
  const holds = (shelf: Shelf, answer: KeptAnswer): boolean => shelf.answers.get(answer.key) === answer

  function resize(shelf: Shelf, bytes: number): void {
    shelf.bytes += bytes
    counts.bytes += bytes
    fullestFirst.weigh(shelf, shelf.bytes)
  }

  function drop(shelf: Shelf, answer: KeptAnswer): void {
    shelf.answers.delete(answer.key)
    for (const url of answer.urls) if (shelf.byUrl.get(url) === answer) shelf.byUrl.delete(url)
    if (shelf.newest === answer) shelf.newest = undefined
    counts.entries -= 1
    resize(shelf, -answer.bytes)
  }

  /** Who holds the most gives first, of what it has not used for longest: nobody is driven out by one who holds more. */
  function makeRoom(): void {
    while (counts.bytes > mostBytes) {
      const shelf = fullestFirst.heaviest()
      const [oldest] = shelf?.answers.values() ?? []
      if (!shelf || !oldest) return
      drop(shelf, oldest)
      counts.evictions += 1
    }
  }

  function grow(shelf: Shelf, answer: KeptAnswer, bytes: number): void {
    if (!holds(shelf, answer)) return
    answer.bytes += bytes
    resize(shelf, bytes)
    makeRoom()
  }

  return {
    counts,
    openShelf: () => ({ answers: new Map(), newest: undefined, byUrl: new Map(), bytes: 0 }),
    empty(shelf) {
      counts.entries -= shelf.answers.size
      resize(shelf, -shelf.bytes)
      shelf.answers = new Map() // and not `clear`, which takes as long as there are answers
      shelf.byUrl = new Map()
      shelf.newest = undefined
    },
    put(shelf, answer) {
      if (answer.bytes > mostBytes * largestShare) return
      const former = shelf.answers.get(answer.key)
      if (former) drop(shelf, former)
      shelf.answers.set(answer.key, answer)
      shelf.newest = answer
      counts.entries += 1
      resize(shelf, answer.bytes)
      makeRoom()
    },
    touch(shelf, answer) {
      if (shelf.newest === answer || !holds(shelf, answer)) return
      shelf.answers.delete(answer.key)
      shelf.answers.set(answer.key, answer)
      shelf.newest = answer
    },
    holds,
    grow,
    noteUrl(shelf, answer, url) {
      if (url.length > longestUrl || shelf.byUrl.get(url) === answer || !holds(shelf, answer)) return
      const oldest = answer.urls.length >= mostUrls ? answer.urls.shift() : undefined
      if (oldest !== undefined) {
        shelf.byUrl.delete(oldest)
        grow(shelf, answer, -(oldest.length + bytesPerText))
      }
      answer.urls.push(url)
      shelf.byUrl.set(url, answer)
      grow(shelf, answer, url.length + bytesPerText)
    },
  }
}
