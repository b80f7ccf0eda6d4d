/** Of a long word, some of them exclude nearly as much as all. */
const maxTrigrams = 24
const trigramLength = 3

const trigramsIn = (word: string): string[] => {
  const characters = [...word]
  return characters.slice(trigramLength - 1).map((_, at) => characters.slice(at, at + trigramLength).join(''))
}

/** Some of the trigrams that each text with all of the words has; none for words of one or two characters only. */
export function trigramsOf(words: readonly string[]): string[] {
  const all = [...new Set(words.flatMap(trigramsIn))]
  const step = Math.ceil(all.length / maxTrigrams)
  return all.filter((_, position) => position % step === 0)
}

/** With more of them a search in the index would take longer, and hardly exclude more. */
const maxChosen = 6
/** A trigram that occurs so many times as often as the rarest one excludes hardly any of its texts. */
const maxTimesRarest = 8

/** What an index of trigrams can tell about a search. */
export interface TrigramSearch {
  /** Each text that has all words has these. */
  trigrams: string[]
  /** The words that a text with all these trigrams may still lack. */
  uncertain: string[]
}

/** Searches for the rarest trigrams. `counts` has the number of occurrences of each in a sample of the texts. */
export function searchByTrigrams(words: readonly string[], counts: ReadonlyMap<string, number>): TrigramSearch {
  const byCount = [...counts].toSorted(([, one], [, other]) => one - other)
  const most = ((byCount[0]?.[1] ?? 0) + 1) * maxTimesRarest
  const trigrams = byCount.filter(([, count]) => count <= most).map(([trigram]) => trigram).slice(0, maxChosen) // biome-ignore format: one line reads better
  return { trigrams, uncertain: words.filter((word) => !trigrams.includes(word)) }
}
