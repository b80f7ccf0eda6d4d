/** The value below which this share of all values lies; 0.5 is the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const position = (sorted.length - 1) * share
  const [below = Number.NaN, above = below] = sorted.slice(Math.floor(position))
  return below + (above - below) * (position % 1)
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** The median, and between which values half of all lie. */
export function spread(values: readonly number[], write: (value: number) => string): string {
  return `${write(median(values))} (${write(quantile(values, 0.25))} to ${write(quantile(values, 0.75))})`
}

/** The same in a random order. */
export function shuffled<Value>(values: readonly Value[]): Value[] {
  const drawn = values.map((value) => ({ value, at: Math.random() }))
  return drawn.sort((a, b) => a.at - b.at).map(({ value }) => value)
}
