/** With more of them a search in the index would take longer, and hardly exclude more. */
const maxTrigrams = 24
const trigramLength = 3

const trigramsIn = (word: string): string[] => {
  const characters = [...word]
  return characters.slice(trigramLength - 1).map((_, at) => characters.slice(at, at + trigramLength).join(''))
}

/** What an index of trigrams can tell about a search. */
export interface TrigramSearch {
  /** Each text that has all words has these; none for words of one or two characters only. */
  trigrams: string[]
  /** The words that a text with all these trigrams may still lack. */
  uncertain: string[]
}

export function searchByTrigrams(words: readonly string[]): TrigramSearch {
  const all = [...new Set(words.flatMap(trigramsIn))]
  const step = Math.ceil(all.length / maxTrigrams)
  const trigrams = all.filter((_, position) => position % step === 0)
  const isCertain = (word: string): boolean => trigrams.includes(word)
  return { trigrams, uncertain: words.filter((word) => !isCertain(word)) }
}
