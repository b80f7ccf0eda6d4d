/** The value below which this share of all values lies; 0.5 is the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const position = (sorted.length - 1) * share
  const [below = Number.NaN, above = below] = sorted.slice(Math.floor(position))
  return below + (above - below) * (position % 1)
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** The median and the interquartile range. */
export function spread(values: readonly number[], write: (value: number) => string): string {
  return `${write(median(values))} (${write(quantile(values, 0.25))} to ${write(quantile(values, 0.75))})`
}

/** The median, the minimum and the maximum. */
export function range(values: readonly number[], write: (value: number) => string): string {
  return `${write(median(values))} (${write(Math.min(...values))} to ${write(Math.max(...values))})`
}

/** The slope of the least-squares line. */
export function slope(points: readonly { x: number; y: number }[]): number {
  const mean = (pick: (point: { x: number; y: number }) => number): number =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length
  const [meanX, meanY] = [mean(({ x }) => x), mean(({ y }) => y)]
  return mean(({ x, y }) => (x - meanX) * (y - meanY)) / mean(({ x }) => (x - meanX) ** 2)
}

/** A copy in random order. */
export function shuffled<Value>(values: readonly Value[]): Value[] {
  const drawn = values.map((value) => ({ value, at: Math.random() }))
  return drawn.sort((a, b) => a.at - b.at).map(({ value }) => value)
}
