/**
 * How well an item matches a search, by the text that searches match (see `searchTextOf`): the sum over all words, each of which
 * counts most as a whole word of the title, then as a part of one there, then the same in the other texts. Items of equal
 * relevance are ordered newest first.
 */
const points = { wholeInTitle: 8, partInTitle: 4, wholeElsewhere: 2, partElsewhere: 1 } as const

const isLetter = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}\p{M}]/u.test(character)

/** The character that ends before, or begins at, this position. */
function characterAt(text: string, at: number, isBefore: boolean): string | undefined {
  if (!isBefore) return at < text.length ? String.fromCodePoint(text.codePointAt(at) ?? 0) : undefined
  return [...text.slice(Math.max(0, at - 2), at)].at(-1)
}

/** Occurrences that are examined; a text may consist of nothing else. */
const maxOccurrences = 100

/** Whether the word occurs between characters that are no letters, only within others, or not at all. */
function findWord(text: string, word: string): 'whole' | 'part' | undefined {
  let at = text.indexOf(word)
  if (at < 0) return undefined
  for (let seen = 0; at >= 0 && seen < maxOccurrences; seen += 1, at = text.indexOf(word, at + 1))
    if (!isLetter(characterAt(text, at, true)) && !isLetter(characterAt(text, at + word.length, false))) return 'whole'
  return 'part'
}

function pointsOf(title: string, others: string, word: string): number {
  const inTitle = findWord(title, word)
  if (inTitle === 'whole') return points.wholeInTitle
  if (inTitle === 'part') return points.partInTitle
  return findWord(others, word) === 'whole' ? points.wholeElsewhere : points.partElsewhere
}

/** Of a text; a word further on counts as a part. */
export const maxRankedCharacters = 20_000

/** For a text that has all words, or the beginning of one. */
export function relevanceOf(searchText: string, words: readonly string[]): number {
  const end = searchText.indexOf('\n')
  const [title, others] = end < 0 ? [searchText, ''] : [searchText.slice(0, end), searchText.slice(end + 1)]
  return words.reduce((sum, word) => sum + pointsOf(title, others, word), 0)
}

/** An item to be ranked. */
export interface Candidate {
  readonly id: string
  readonly createdMs: number
  readonly relevance: number
}

/** The order of `sort=relevance`. */
export const compareRelevance = (a: Candidate, b: Candidate): number =>
  b.relevance - a.relevance || b.createdMs - a.createdMs || (a.id < b.id ? 1 : -1)
